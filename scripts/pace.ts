// How many test files run at once: one more begins whenever the processors had time to spare. Files that wait
// much then run beside files that compute much, and fewer run at once on a machine that is slow or busy.
import { cpus } from "node:os";
import { setTimeout as wait } from "node:timers/promises";

export interface TestFiles {
  together: readonly string[];
  /** These compare times with goals, so no other file runs at the same time. */
  alone: readonly string[];
}

export interface Pace {
  /** So many run at once, however busy the machine is. */
  least: number;
  most: number;
  /** Resolves after a moment: whether the processors had time to spare in it. */
  hasTimeToSpare: () => Promise<boolean>;
}

// Many files take a second: with longer moments a quarter of the processor time was idle.
const momentMs = 500;
/** With less, files would wait for the processors, and miss deadlines. */
const leastIdleShare = 0.25;

/** The pace of this machine. */
export const machinePace: Pace = {
  least: 2,
  most: 7,
  async hasTimeToSpare() {
    const before = processorTimes();
    await wait(momentMs);
    const after = processorTimes();
    return (after.idle - before.idle) / (after.all - before.all) >= leastIdleShare;
  },
};

/** Calls `work` for each file in order, for several at once, and last for those that run alone. */
export async function runPaced(
  files: TestFiles,
  pace: Pace,
  work: (file: string) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  for (const file of files.together) {
    while (running.size >= pace.least) {
      const hasEnded = Promise.race(running).then(() => false);
      if (running.size >= pace.most) await hasEnded;
      else if (await Promise.race([pace.hasTimeToSpare(), hasEnded])) break;
    }
    const run = work(file).finally(() => running.delete(run));
    running.add(run);
  }
  await Promise.all(running);
  for (const file of files.alone) await work(file);
}

/** In milliseconds, of all processors together. */
function processorTimes(): { idle: number; all: number } {
  const sum = { idle: 0, all: 0 };
  for (const { times } of cpus()) {
    sum.idle += times.idle;
    sum.all += times.idle + times.user + times.nice + times.sys + times.irq;
  }
  return sum;
}
