// Notes a repository has for agents. With its configuration switched off agents do not read them, so
// they are given to them as text.
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";

const longest = 64 * 1024;

export function readProjectNotes(directory: string): string | undefined {
  const notes = ["AGENTS.md", "CLAUDE.md"].flatMap((name) => {
    const text = readPlain(join(directory, name));
    return text ? [`Notes of this project (${name}):\n\n${text}`] : [];
  });
  return notes.length > 0 ? notes.join("\n\n") : undefined;
}

/** Only a real file: a link could point at something that is none of the model's business. */
function readPlain(path: string): string | undefined {
  try {
    if (!lstatSync(path).isFile()) return undefined;
    return readFileSync(path).subarray(0, longest).toString("utf8").trim();
  } catch {
    return undefined;
  }
}
