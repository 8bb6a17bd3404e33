// The one question of a first start: which repositories agents may work in.
import { homedir } from "node:os";
import { isCancel, multiselect } from "@clack/prompts";
import { CommandFailed } from "../command-failed.ts";
import { safeText } from "../terminal.ts";
import { findRepositories } from "./repositories.ts";

/** Returns the chosen directories; empty if none was found or chosen. Throws CommandFailed after Ctrl-C. */
export async function askRoots(directory = process.cwd()): Promise<string[]> {
  const found = findRepositories(directory);
  if (found.length === 0) return [];
  const answer = await multiselect({
    message:
      "In which repositories may agents work? Space selects, Enter continues. Without a choice ~/hawser is made for new ones.",
    options: found.map((path) => ({ value: path, label: safeText(shorten(path)) })),
    initialValues: found.filter((path) => path === directory),
    required: false,
    maxItems: 12,
  });
  if (isCancel(answer)) throw new CommandFailed("Stopped before this machine was made a host.");
  return answer;
}

const shorten = (path: string) =>
  path.startsWith(`${homedir()}/`) ? `~${path.slice(homedir().length)}` : path;
