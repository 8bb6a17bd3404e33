// abort_turn: stops what a session's agent is doing, and drops what waits.
import type { Command } from "./command.ts";

export const abortTurn: Command<"abort_turn"> = {
  repeatable: true,
  endsHost: false,
  run: ({ sessionId }, { sessions }) => sessions.abort(sessionId),
};
