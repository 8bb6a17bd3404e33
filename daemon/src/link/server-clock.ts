// The time by the control plane's clock. A host's own clock may be days off or jump; the server's is
// learnt from the Date header of its answers, and carried on by the machine's uptime, which neither
// jumps nor stops while the machine sleeps.
import { uptime } from "node:os";

export interface OwnClock {
  /** What the machine thinks the time is, in milliseconds. */
  wall: () => number;
  /** Milliseconds that only ever grow, at the pace of time. */
  steady: () => number;
}

export interface ServerClock {
  /** In milliseconds; the machine's own time until something was learnt. Never ahead of the server by more than the two drift apart. */
  now: () => number;
  /** Takes a Date header; how far the clock moved by it. */
  learn: (date: string | null | undefined) => number;
  isKnown: () => boolean;
}

export const systemClock: OwnClock = { wall: Date.now, steady: () => uptime() * 1000 };

/** A Date header is cut to the second. */
const headerMs = 1_000;

export function createServerClock({ wall, steady }: OwnClock = systemClock): ServerClock {
  let known: { time: number; at: number } | undefined;
  const now = () => (known ? known.time + steady() - known.at : wall());
  return {
    now,
    learn(date) {
      const time = Date.parse(date ?? "");
      if (Number.isNaN(time)) return 0;
      const moved = time - now();
      // Each header says that it is at least that time; of two that agree, the later is nearer.
      if (!known || moved > 0 || moved < -2 * headerMs) known = { time, at: steady() };
      return moved;
    },
    isKnown: () => known !== undefined,
  };
}
