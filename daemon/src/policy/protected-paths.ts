// Paths of this user that are closed to agents, whatever a session's mode is.
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { temporaryIn } from "../drivers/temporary-directories.ts";
import type { Rules } from "./decide.ts";

/** Below the user's home: logins and keys, of the agents and of other hosts of this user too. */
const secrets =
  `.hawser .ssh .gnupg .aws .azure .kube .netrc .git-credentials .pgpass .npmrc .docker/config.json
  .config/gh .config/gcloud .config/git/credentials .local/share/keyrings .password-store
  .claude/.credentials.json .codex/auth.json .local/share/opencode/auth.json`.split(/\s+/);

/** Below the user's home: the agents' own settings, hooks and transcripts. */
const agents = `.claude .claude.json .codex .agents .config/opencode .local/share/opencode
  .local/state/opencode`.split(/\s+/);

export function protectedPaths(
  stateDirectory: string,
  home = homedir(),
): Pick<Rules, "home" | "secrets" | "ownDirectories" | "temporaryDirectory"> {
  const atHome = (path: string) => join(home, path);
  return {
    home,
    secrets: [
      ...new Set([
        stateDirectory,
        ...dataOfService(atHome(".hawser-server")),
        ...(isOfService(stateDirectory) ? dataOfService(dirname(stateDirectory)) : []),
        ...secrets.map(atHome),
      ]),
    ],
    temporaryDirectory: temporaryIn(stateDirectory),
    ownDirectories: agents.map(atHome),
  };
}

/** Whether `hawser up` runs this host, with the keys of the service and its database beside it. */
const isOfService = (stateDirectory: string) =>
  basename(stateDirectory) === "host" && existsSync(join(dirname(stateDirectory), "master-key"));

/** A data directory of `hawser up`, and those beside it that a restore has made or moved aside. */
function dataOfService(directory: string): string[] {
  const parent = dirname(directory);
  return [
    directory,
    ...namesIn(parent, `${basename(directory)}.`).map((name) => join(parent, name)),
  ];
}

function namesIn(directory: string, start: string): string[] {
  try {
    return readdirSync(directory).filter((name) => name.startsWith(start));
  } catch {
    return [];
  }
}
