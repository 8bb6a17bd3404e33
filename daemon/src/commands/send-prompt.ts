// send_prompt: takes a prompt, which is given to the agent when its turn has come.
import type { Command } from "./command.ts";

export const sendPrompt: Command<"send_prompt"> = {
  // Taken and told in one commit: one that a crash cut was not taken.
  repeatable: true,
  endsHost: false,
  run: (wanted, { sessions, signal }) => sessions.prompt(wanted, signal),
};
