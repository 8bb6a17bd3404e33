// start_session: makes the place to work in, and the agent's own session in it.
import type { Command } from "./command.ts";

export const startSession: Command<"start_session"> = {
  // What a crash cut is undone when the daemon comes back.
  repeatable: false,
  endsHost: false,
  run: (wanted, { sessions, signal }) => sessions.start(wanted, signal),
};
