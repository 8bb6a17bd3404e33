// push_session: a session's commits to its origin, and a pull request for them.
import type { Command } from "./command.ts";

export const pushSession: Command<"push_session"> = {
  // What is there already is not pushed again, and an open pull request is found.
  repeatable: true,
  endsHost: false,
  run: (wanted, { sessions, signal }) => sessions.push(wanted, signal),
};
