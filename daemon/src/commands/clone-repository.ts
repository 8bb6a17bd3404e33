// clone_repository: a repository, with the host's own credentials, into a folder root.
import type { Command } from "./command.ts";

export const cloneRepository: Command<"clone_repository"> = {
  // One that a crash cut may have got its name in the last moment; only a person can tell.
  repeatable: false,
  endsHost: false,
  run: (wanted, { clones, signal }) => clones.clone(wanted, signal),
};
