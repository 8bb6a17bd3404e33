// describe_session: what a session does at this moment.
import type { Command } from "./command.ts";

export const describeSession: Command<"describe_session"> = {
  repeatable: true,
  endsHost: false,
  run: ({ sessionId }, { sessions }) => sessions.describe(sessionId),
};
