// rename_session: the title that a caller gives stays.
import type { Command } from "./command.ts";

export const renameSession: Command<"rename_session"> = {
  repeatable: true,
  endsHost: false,
  async run({ sessionId, title }, { sessions, signal }) {
    await sessions.rename(sessionId, title, signal);
    return {};
  },
};
