// answer_request: gives the agent the answer that it waits for.
import type { Command } from "./command.ts";

export const answerRequest: Command<"answer_request"> = {
  // The agent takes one answer; it says when it has one already.
  repeatable: true,
  endsHost: false,
  run: (wanted, { sessions, signal }) => sessions.answer(wanted, signal),
};
