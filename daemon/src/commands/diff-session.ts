// diff_session: the files that a session has changed.
import type { Command } from "./command.ts";

export const diffSession: Command<"diff_session"> = {
  repeatable: true,
  endsHost: false,
  run: ({ sessionId }, { sessions, signal }) => sessions.diff(sessionId, signal),
};
