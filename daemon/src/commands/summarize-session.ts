// summarize_session: has the agent condense its history, which goes on after the answer.
import type { Command } from "./command.ts";

export const summarizeSession: Command<"summarize_session"> = {
  // As a prompt is.
  repeatable: true,
  endsHost: false,
  run: ({ sessionId }, { sessions }) => sessions.summarize(sessionId),
};
