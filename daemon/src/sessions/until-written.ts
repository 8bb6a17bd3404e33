// Writing what must get into the journal, however long a disk is full.
import { pause } from "../pause.ts";
import type { Session } from "./session.ts";

const againMs = 5_000;

/** Repeats the write until it succeeds or the daemon stops. Each failure is logged as `event`. */
export async function untilWritten(
  session: Session,
  event: string,
  fields: Record<string, string>,
  write: () => void,
): Promise<void> {
  const { closed } = session.host;
  while (!closed.aborted) {
    try {
      return write();
    } catch (error) {
      session.warn(event, error, fields);
      await pause(againMs, closed);
    }
  }
}
