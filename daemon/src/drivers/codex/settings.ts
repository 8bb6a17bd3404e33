// Settings of the codex process, of each thread and of each turn. They are passed on the command line and
// in each call, and never written to the user's config.toml, which codex itself edits.
import { tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { realOf } from "../../real-path.ts";
import { readProjectNotes } from "../project-notes.ts";
import { gateSettings } from "./gate.ts";
import type { SandboxPolicy, ThreadSettings } from "./protocol.ts";
import { findRepository, type Repository } from "../../git/find-repository.ts";

/** Command-line arguments with the settings of the whole process. */
export function processSettings(startId: string): string[] {
  const settings: Record<string, string> = {
    check_for_update_on_startup: "false",
    suppress_unstable_features_warning: "true",
    "analytics.enabled": "false",
    // Allows questions outside of plan mode too.
    "features.default_mode_request_user_input": "true",
    // Otherwise a turn waits for the network without limit.
    "features.unbounded_connection_retries": "false",
    // An experiment without visible effect that costs 5 ms per prompt.
    "features.skill_search": "false",
    // The model searches and draws at its provider, where nobody sees what it asks for.
    web_search: '"disabled"',
    "features.image_generation": "false",
    // Without a terminal the input of a command is closed, so the model cannot type into a running shell.
    // Codex calls no hook for that.
    "features.unified_exec_tty": "false",
    // These features call a service in the background.
    "features.apps": "false",
    "features.plugins": "false",
    "features.remote_plugin": "false",
    // Commands get the environment of a login shell, and the start id by which they are found again.
    "shell_environment_policy.inherit": '"core"',
    "shell_environment_policy.set": `{HAWSER_AGENT="${startId}"}`,
    ...gateSettings(),
  };
  return Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
}

/** Settings of one thread. Sent at every start and resume, because codex does not store all of them. */
export function threadSettings(directory: string): ThreadSettings {
  const repository = findRepository(directory);
  const notes = readProjectNotes(directory);
  return {
    cwd: directory,
    sandbox: "workspace-write",
    // The gate decides about every call; codex asks before a call leaves the sandbox (decision 0036).
    approvalPolicy: "on-request",
    approvalsReviewer: "user",
    ...(notes !== undefined && { developerInstructions: notes }),
    config: { projects: untrusted(directory, repository) },
  };
}

/**
 * What commands may write to besides the directory. Sent with a turn: in the thread's settings codex would
 * compute it for every prompt, which costs 10 ms for each writable root.
 */
export function sandboxPolicy(directory: string): SandboxPolicy {
  const repository = findRepository(directory);
  return {
    type: "workspaceWrite",
    writableRoots: gitRoots(repository),
    // In some modes commands run unasked because of the sandbox; with a network they could send away what
    // they read.
    networkAccess: false,
    ...temporary(repository?.common ?? directory),
  };
}

/**
 * Marks the repository as untrusted. By default a writable sandbox makes it trusted, and codex runs the
 * commands in the repository's configuration before the call returns. Which path codex looks up depends on
 * how the checkout was made, so all possible paths are listed.
 */
function untrusted(directory: string, repository: Repository | undefined) {
  const paths = new Set([directory, realOf(directory)]);
  if (repository) {
    paths.add(dirname(repository.common));
    for (let at = realOf(directory); at !== dirname(repository.top); at = dirname(at)) {
      paths.add(at);
    }
  }
  return Object.fromEntries([...paths].map((path) => [path, { trust_level: "untrusted" }]));
}

/** Allows temporary directories, except one that contains the repository. */
function temporary(repository: string) {
  const isBelow = (folder: string) => realOf(repository).startsWith(realOf(folder) + sep);
  return {
    excludeSlashTmp: isBelow("/tmp"),
    excludeTmpdirEnvVar: isBelow(tmpdir()),
  };
}

/**
 * Directories that a commit writes to. In a worktree: its own index and head, and the repository's objects
 * and refs, but not its hooks and settings, which belong to the user. If the repository is in the checkout
 * itself: all of it, because the sandbox would otherwise block git commands that were allowed.
 */
function gitRoots(repository: Repository | undefined): string[] {
  if (!repository) return [];
  const { own, common } = repository;
  if (own === common) return [own];
  return [own, ...["objects", "refs", "logs"].map((name) => join(common, name))];
}
