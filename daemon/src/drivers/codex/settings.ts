// The settings that codex is started with, those of each thread, and those of each turn. They go on the command line and
// with each call, never into the user's config.toml, which codex itself edits.
import { tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { realOf } from "../../real-path.ts";
import { readProjectNotes } from "../project-notes.ts";
import type { SandboxPolicy, ThreadSettings } from "./protocol.ts";
import { findRepository, type Repository } from "../../git/find-repository.ts";

/** For the whole process. */
export function processSettings(startId: string): string[] {
  const settings: Record<string, string> = {
    check_for_update_on_startup: "false",
    suppress_unstable_features_warning: "true",
    "analytics.enabled": "false",
    // Questions also outside of the plan mode.
    "features.default_mode_request_user_input": "true",
    // Otherwise a turn waits for the network for ever.
    "features.unbounded_connection_retries": "false",
    // Tries of its maker's whose results nobody sees; 5 ms of every prompt.
    "features.skill_search": "false",
    // These call a service in the background that nobody asked for.
    "features.apps": "false",
    "features.plugins": "false",
    "features.remote_plugin": "false",
    // A command sees what a login shell needs, and the mark by which we find it again.
    "shell_environment_policy.inherit": '"core"',
    "shell_environment_policy.set": `{HAWSER_AGENT="${startId}"}`,
  };
  return Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
}

/** What holds for one thread; given at every start and resume, because codex does not keep all of it. */
export function threadSettings(directory: string): ThreadSettings {
  const repository = findRepository(directory);
  const notes = readProjectNotes(directory);
  return {
    cwd: directory,
    sandbox: "workspace-write",
    // Asks about everything; the policy decides what a person is asked (decision 0026).
    approvalPolicy: "untrusted",
    approvalsReviewer: "user",
    ...(notes !== undefined && { developerInstructions: notes }),
    config: { projects: untrusted(directory, repository) },
  };
}

/**
 * What commands may write to, beside the directory. It goes with a turn: among a thread's settings
 * codex works it out again and again, which costs every prompt 10 ms for each place.
 */
export function sandboxPolicy(directory: string): SandboxPolicy {
  const repository = findRepository(directory);
  return {
    type: "workspaceWrite",
    writableRoots: gitRoots(repository),
    networkAccess: true,
    ...temporary(repository?.common ?? directory),
  };
}

/**
 * Without this a writable sandbox marks the repository as trusted, and codex runs the commands in the
 * repository's own configuration before the call returns. Codex looks under several names, and which
 * one it takes depends on how the checkout was made, so all of them are given.
 */
function untrusted(directory: string, repository: Repository | undefined) {
  const places = new Set([directory, realOf(directory)]);
  if (repository) {
    places.add(dirname(repository.common));
    for (let at = realOf(directory); at !== dirname(repository.top); at = dirname(at)) {
      places.add(at);
    }
  }
  return Object.fromEntries([...places].map((place) => [place, { trust_level: "untrusted" }]));
}

/** Commands may write temporary files, unless that would let them write all of the repository. */
function temporary(place: string) {
  const isBelow = (folder: string) => realOf(place).startsWith(realOf(folder) + sep);
  return {
    excludeSlashTmp: isBelow("/tmp"),
    excludeTmpdirEnvVar: isBelow(tmpdir()),
  };
}

/**
 * What a commit writes. In a worktree that is its index and head, objects and refs, neither hooks nor
 * settings, which are the user's; where the repository lies in the checkout it is all of it, or codex
 * would keep a command that somebody has allowed from its own repository.
 */
function gitRoots(repository: Repository | undefined): string[] {
  if (!repository) return [];
  const { own, common } = repository;
  if (own === common) return [own];
  return [own, ...["objects", "refs", "logs"].map((name) => join(common, name))];
}
