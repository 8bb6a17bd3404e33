// Loaded into a process before its program (--import): shifts its wall clock by SHIFTED_CLOCK_MS
// milliseconds. Monotonic clocks are unchanged.
const shiftMs = Number(process.env["SHIFTED_CLOCK_MS"]);
const RealDate = Date;

class ShiftedDate extends RealDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [RealDate.now() + shiftMs] : given) as [number]));
  }
  static override now(): number {
    return RealDate.now() + shiftMs;
  }
}

globalThis.Date = ShiftedDate as DateConstructor;
