// revert_session: takes a session back to before one of its messages.
import type { Command } from "./command.ts";

export const revertSession: Command<"revert_session"> = {
  repeatable: false,
  endsHost: false,
  async run({ sessionId, messageId }, { sessions, signal }) {
    await sessions.revert(sessionId, messageId, signal);
    return {};
  },
};
