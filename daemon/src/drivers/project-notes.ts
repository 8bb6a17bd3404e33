// A repository's notes for agents. Agents do not read them while the repository's configuration is
// disabled, so the driver sends them as text.
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";

const maxBytes = 64 * 1024;

/** undefined if the repository has no notes. */
export function readProjectNotes(directory: string): string | undefined {
  const notes = ["AGENTS.md", "CLAUDE.md"].flatMap((name) => {
    const text = readRegularFile(join(directory, name));
    return text ? [`Notes of this project (${name}):\n\n${text}`] : [];
  });
  return notes.length > 0 ? notes.join("\n\n") : undefined;
}

/** undefined if the path is not a regular file: a link could point to a secret. */
function readRegularFile(path: string): string | undefined {
  try {
    if (!lstatSync(path).isFile()) return undefined;
    return readFileSync(path).subarray(0, maxBytes).toString("utf8").trim();
  } catch {
    return undefined;
  }
}
