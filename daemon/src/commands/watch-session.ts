// watch_session: somebody watches, so text is published as it is written.
import type { Command } from "./command.ts";

export const watchSession: Command<"watch_session"> = {
  repeatable: true,
  endsHost: false,
  run: ({ sessionId }, { sessions }) => ({ open: sessions.watch(sessionId) }),
};
