// The processor time that processes have used, read from /proc.
import { readFileSync } from "node:fs";
import { childrenOf } from "./processes.ts";

const ticksPerSecond = 100;

/** Processor seconds of a process so far, including its threads. */
export function processorSeconds(pid: number): number {
  return readTimes(pid).own;
}

/**
 * Processor seconds of a process and its children so far, including children that have ended. Use it for
 * PostgreSQL, which has a process for each connection.
 */
export function familyProcessorSeconds(pid: number): number {
  const { own, endedChildren } = readTimes(pid);
  return childrenOf(pid).reduce((sum, child) => {
    try {
      return sum + readTimes(child).own;
    } catch {
      // The child has just ended.
      return sum;
    }
  }, own + endedChildren);
}

function readTimes(pid: number): { own: number; endedChildren: number } {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field is the command in brackets and may contain blanks.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const seconds = (first: number) =>
    (Number(fields[first]) + Number(fields[first + 1])) / ticksPerSecond;
  return { own: seconds(11), endedChildren: seconds(13) };
}
