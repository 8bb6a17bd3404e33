// start_session_in_clone: a clone of the session's own, and the agent's own session in it.
import type { Command } from "./command.ts";

export const startSessionInClone: Command<"start_session_in_clone"> = {
  // What a crash cut is undone when the daemon comes back.
  repeatable: false,
  endsHost: false,
  run: (wanted, { sessions, signal }) => sessions.start(wanted, signal),
};
