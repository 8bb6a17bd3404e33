// browse_directory: the directories in a directory that lies in a root.
import { CommandRefusal } from "../command-refusal.ts";
import type { Command } from "./command.ts";

export const browseDirectory: Command<"browse_directory"> = {
  repeatable: true,
  endsHost: false,
  async run({ path }, { directories }) {
    const contents = await directories.browse(path);
    // The same words for what is not there and for what is none of the caller's business.
    if (!contents) {
      throw new CommandRefusal("not_found", "There is no such directory below the host's roots.");
    }
    return contents;
  },
};
