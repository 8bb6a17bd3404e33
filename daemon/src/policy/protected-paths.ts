// Paths of this user that are closed to agents, whatever a session's mode is.
import { homedir } from "node:os";
import { join } from "node:path";
import { temporaryIn } from "../drivers/temporary-directories.ts";
import type { Rules } from "./decide.ts";

/** Below the user's home: logins and keys, of the agents too. */
const secrets =
  `.ssh .gnupg .aws .azure .kube .netrc .git-credentials .pgpass .npmrc .docker/config.json
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
    secrets: [stateDirectory, ...secrets.map(atHome)],
    temporaryDirectory: temporaryIn(stateDirectory),
    ownDirectories: agents.map(atHome),
  };
}
