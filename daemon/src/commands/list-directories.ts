// list_directories: the roots of the policy, and the projects below them.
import type { Command } from "./command.ts";

export const listDirectories: Command<"list_directories"> = {
  repeatable: true,
  endsHost: false,
  run: async (_payload, { directories }) => ({ roots: await directories.list() }),
};
