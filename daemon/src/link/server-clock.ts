// The time by the control plane's clock. A host's own clock may be days off or jump. The server's time is
// read from the Date header of its answers and continued by the machine's uptime, which neither jumps nor
// stops while the machine sleeps.
import { uptime } from "node:os";

export interface OwnClock {
  /** The machine's own time, in milliseconds. */
  wall: () => number;
  /** Milliseconds since some moment; they never jump. */
  steady: () => number;
}

export interface ServerClock {
  /** In milliseconds; the machine's own time before the first header. Ahead of the server by drift at most. */
  now: () => number;
  /** Sets the clock by a Date header; returns by how much the clock moved. */
  learn: (date: string | null | undefined) => number;
  isKnown: () => boolean;
}

export const systemClock: OwnClock = { wall: Date.now, steady: () => uptime() * 1000 };

/** A Date header has whole seconds. */
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
      // Each header proves that it is at least that time; if two agree, the later one is nearer.
      if (!known || moved > 0 || moved < -2 * headerMs) known = { time, at: steady() };
      return moved;
    },
    isKnown: () => known !== undefined,
  };
}
