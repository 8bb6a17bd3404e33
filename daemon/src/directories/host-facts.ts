// The host's facts about directories: its roots, its git, and what is wrong with them or with the policy
// file. If nothing has changed, no process is started.
import type { HostWarning } from "@hawser/contract";
import type { FactReader } from "../facts.ts";
import type { Git } from "../git/git.ts";
import type { Policy } from "../policy/policy.ts";
import type { Directories } from "./directories.ts";

/** Older ones run programs of hostile submodules. Vendors patch older versions, so it is only a warning. */
const wantedGit = [2, 43, 7];

export function createDirectoryFacts(
  policy: () => Policy,
  directories: Directories,
  git: Git,
): FactReader {
  return async () => {
    const [{ roots, warnings }, ofGit] = await Promise.all([directories.roots(), warningsOf(git)]);
    return { roots, warnings: [...policy().problems, ...warnings, ...ofGit] };
  };
}

/** Warnings about the host's git. */
export async function warningsOf(git: Git): Promise<HostWarning[]> {
  const version = await git.version();
  if (!version) {
    const message =
      "There is no git on this host. Install it, so that sessions can work in repositories.";
    return [{ code: "git_missing", message }];
  }
  if (version.compare(wantedGit) >= 0) return [];
  const message = `Git ${version.text} on this host is older than ${wantedGit.join(".")}, which fixes known vulnerabilities. Update it, unless your vendor has patched this one.`;
  return [{ code: "git_outdated", message }];
}
