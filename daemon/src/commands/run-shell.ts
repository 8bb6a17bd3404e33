// run_shell: runs a command of a caller's in a session's directory. Its text is neither logged nor kept.
import type { Command } from "./command.ts";

export const runShell: Command<"run_shell"> = {
  // Taken and told in one commit: one that a crash cut before that never ran.
  repeatable: true,
  endsHost: false,
  run: (wanted, { sessions, signal }) => sessions.runShell(wanted, signal),
};
