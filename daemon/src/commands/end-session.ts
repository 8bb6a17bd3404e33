// end_session: ends the agent's session and puts its worktree aside.
import type { Command } from "./command.ts";

export const endSession: Command<"end_session"> = {
  repeatable: true,
  endsHost: false,
  async run({ sessionId }, { sessions }) {
    await sessions.end(sessionId);
    return {};
  },
};
