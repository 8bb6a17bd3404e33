// diff_session_file: a page of the patch of one file.
import type { Command } from "./command.ts";

export const diffSessionFile: Command<"diff_session_file"> = {
  repeatable: true,
  endsHost: false,
  run: ({ sessionId, ...page }, { sessions, signal }) => sessions.diffFile(sessionId, page, signal),
};
