// restore_session: makes a session of a worktree or a clone that was put aside.
import type { Command } from "./command.ts";

export const restoreSession: Command<"restore_session"> = {
  repeatable: false,
  endsHost: false,
  run: (wanted, { sessions, signal }) => sessions.restore(wanted, signal),
};
