// Writing what must get into the journal, however long a disk is full.
import { describe } from "../log.ts";
import { pause } from "../pause.ts";
import type { Core } from "./core.ts";

const againMs = 5_000;

/** Tried until it does not throw, or the daemon stops; `otherwise` is logged each time it does. */
export async function untilWritten(
  core: Core,
  otherwise: string,
  about: Record<string, string>,
  write: () => void,
): Promise<void> {
  while (!core.closed.aborted) {
    try {
      return write();
    } catch (error) {
      core.log.warn(otherwise, { ...about, error: describe(error) });
      await pause(againMs, core.closed);
    }
  }
}
