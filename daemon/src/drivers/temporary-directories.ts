// Directories for the temporary files of agents, which only the daemon's user can read. Agents share none
// with other programs: opencode, for example, writes a library to its directory and loads it, so another
// agent's command that could replace the library would run inside opencode.
import { mkdirSync } from "node:fs";
import { join } from "node:path";

/** The directory that contains all of them. */
export const temporaryIn = (stateDirectory: string) => join(stateDirectory, "tmp");

/** Makes the directory of a start or of a session, named by its id, and returns its path. */
export function makeTemporary(temporaryDirectory: string, id: string): string {
  const path = join(temporaryDirectory, id);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}
