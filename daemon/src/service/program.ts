// The command beside the state, which always runs the current version. The installer places it, and so does
// `hawserd place`.
import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { replaceText } from "../state/replace-file.ts";
import type { State } from "../state/state.ts";

export const programOf = (state: State) => join(state.directory, "bin/hawserd");

/** Writes the command as install.sh does. No-op if it is there. */
export function placeProgram(state: State): void {
  const path = programOf(state);
  const current = join(state.directory, "daemon/current");
  const text = `#!/bin/sh
export HAWSER_HOME=${quoted(state.directory)}
exec ${quoted(join(current, "node"))} ${quoted(join(current, "hawserd.mjs"))} "$@"
`;
  if (existsSync(path) && readFileSync(path, "utf8") === text) return;
  mkdirSync(dirname(path), { recursive: true });
  replaceText(path, text, 0o755);
  // All users of a separated host run it, whatever the umask is.
  chmodSync(path, 0o755);
}

const quoted = (path: string) => `'${path.replaceAll("'", `'\\''`)}'`;
