// What the commands of a session may read and write, as a permission profile of codex (decision 0048). The
// sandbox shows them nothing else: the session's directory, the system's and the user's programs, and where
// git stores commits. Closed paths are hidden also where they lie in one of these.
import { randomUUID } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { findRepository } from "../../git/find-repository.ts";
import type { Rules } from "../../policy/decide.ts";
import { agentConfig, isBelow } from "../../policy/path-location.ts";
import { readablePaths, systemDirectories } from "../../policy/readable-paths.ts";
import { realOf } from "../../real-path.ts";
import { removeIfEmpty } from "../../remove-if-empty.ts";
import type { Trusted } from "../driver.ts";
import { makeTemporary } from "../temporary-directories.ts";

/** New for each start of the daemon, so that no profile in the user's configuration adds to it. */
export const profileName = `hawser-${randomUUID()}`;

/** What the model reads about the sandbox. */
export const sandboxNotes = `Commands run in a sandbox:
- They have no network.
- They see the working directory, the rest of its repository, and programs. The environment context lists the paths. Other files of this machine do not exist for them.
- They change files in the working directory and in $TMPDIR, and they can commit. Whatever they write elsewhere is lost when the command ends.
- Settings of agents (.claude, .codex, .opencode, .agents) and the hooks and settings of git are read-only.

If the task needs a command that cannot work in the sandbox, run it with \`sandbox_permissions\` set to "require_escalated" and a short question to the user in \`justification\`. Do not ask in a message first. If the answer is no, go on without the command and do not look for another way to the same effect. Never use \`prefix_rule\`.`;

/** Where a session works. */
export interface Place {
  sessionId: string;
  directory: string;
  /** For temporary files of the session's commands. */
  temporary: string;
  /** For the prompt's files, which commands read and do not change. */
  attachments: string;
  /** Parts of the repository's own configuration that the agent uses. */
  trusted?: Trusted | undefined;
}

/** Paths of the host that every session's sandbox depends on. */
export interface HostPaths extends Pick<Rules, "secrets" | "ownDirectories"> {
  /** Codex's own program, which starts again inside the sandbox. */
  program: string;
  codexHome: string;
  /** Home of the daemon's user. */
  userHome: string;
  /** PATH of the commands. */
  searchPath: string | undefined;
}

type Access = "read" | "write" | "deny";

export interface Profile {
  filesystem: Record<string, Access | Record<string, Access>>;
  network: { enabled: false };
}

/**
 * Directories of agents' configuration. A sandbox can protect only what exists: codex would place an empty
 * file there while a command runs, and `git add` would find it. Git does not see empty directories.
 */
const configDirectories = [".claude", ".opencode"];

/** Makes the directories that the sandbox of a session needs. Called before each prompt. */
export function makePlace(directory: string, temporaryDirectory: string, sessionId: string): Place {
  const temporary = realOf(makeTemporary(temporaryDirectory, sessionId));
  const attachments = join(temporary, "attachments");
  if (lstatSync(attachments, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(attachments);
  mkdirSync(attachments, { recursive: true, mode: 0o700 });
  for (const name of configDirectories) {
    try {
      mkdirSync(join(directory, name));
    } catch {
      // The configuration directory exists, or the session's directory is read-only.
    }
  }
  return { sessionId, directory, temporary, attachments };
}

/** Removes the empty directories that were made for the sandbox. */
export function clearPlace(directory: string): void {
  for (const name of configDirectories) {
    try {
      removeIfEmpty(join(directory, name));
    } catch {
      // The repository has a file or a link of this name, which stays.
    }
  }
}

export function profileOf(place: Place, host: HostPaths): Profile {
  const { directory, temporary, attachments } = place;
  const { userHome, secrets, ownDirectories } = host;
  const bin = dirname(host.program);
  const programs = [bin, join(dirname(bin), "codex-path")];
  const skills = [join(host.codexHome, "skills"), join(userHome, ".agents/skills")];
  const entries = new Map<string, Access>([
    ...readablePaths(userHome, host.searchPath, secrets).map(readable),
    ...[...programs, ...skills].filter((path) => existsSync(path)).map(readable),
    ...gitEntries(directory, userHome),
    [temporary, "write"],
    [attachments, "read"],
  ]);
  // Codex takes these characters for a pattern, and accepts patterns for `deny` only.
  for (const path of entries.keys()) if (/[*?[\]]/.test(path)) entries.delete(path);
  const open = [directory, ...entries.keys()];
  const isOpen = (path: string) => [...open, ...systemDirectories].some((at) => isBelow(at, path));
  for (const path of ownDirectories) {
    if (isBelow(directory, path) && existsSync(path)) entries.set(path, "read");
  }
  for (const path of secrets) {
    if (isOpen(path)) for (const part of closedParts(path, open)) entries.set(part, "deny");
  }
  return {
    filesystem: {
      ":minimal": "read",
      ":workspace_roots": { ".": "write", ...workspaceEntries(directory) },
      ...Object.fromEntries(entries),
    },
    // With a network, commands could send away what they read.
    network: { enabled: false },
  };
}

const readable = (path: string): [string, Access] => [path, "read"];
const writable = (path: string): [string, Access] => [path, "write"];

/** Settings in the session's directory that commands read and do not change: agents' and git's. */
function workspaceEntries(directory: string): Record<string, Access> {
  const names = [...agentConfig].filter((name) => {
    const found = lstatSync(join(directory, name), { throwIfNoEntry: false });
    // Codex runs no command at all if a link is to be protected.
    return found !== undefined && !found.isSymbolicLink();
  });
  const settings = Object.fromEntries(names.map(readable));
  const git = lstatSync(join(directory, ".git"), { throwIfNoEntry: false });
  if (!git?.isDirectory()) return { ...settings, ".git": "read" };
  const kept = gitSettings.map((name) => readable(`.git/${name}`));
  return { ...settings, ".git": "write", ...Object.fromEntries(kept) };
}

/** Parts of a git directory by which git finds programs to run. */
const gitSettings = ["hooks", "config", "config.worktree"];

/**
 * Git's directories outside the session's. In a worktree, commands write its own index and head, and the
 * repository's objects and refs, but not its hooks and settings, which belong to the user.
 */
function gitEntries(directory: string, userHome: string): [string, Access][] {
  const repository = findRepository(directory);
  // A repository around the home would open all of it.
  if (!repository || isBelow(repository.top, userHome)) return [];
  const { top, own, common } = repository;
  // Without the other files, git would count them as deleted.
  const files = isBelow(directory, top) ? [] : [readable(top)];
  if (isBelow(directory, own)) return files;
  const keep = (names: string[]) => names.map((name) => readable(join(own, name)));
  // The file `commondir` in the git directory of a checkout may be a command's.
  if (own === common || own === join(top, ".git")) {
    return [...files, writable(own), ...keep(gitSettings)];
  }
  return [
    ...files,
    readable(common),
    ...["objects", "refs", "logs"].map((name) => writable(join(common, name))),
    writable(own),
    ...keep(["commondir", "gitdir", "config.worktree"]),
  ];
}

/** A closed path, or the parts of it beside those that are open. */
function closedParts(path: string, open: readonly string[]): string[] {
  if (!existsSync(path)) return [];
  const inside = open.filter((each) => isBelow(path, each));
  if (inside.length === 0) return [realOf(path)];
  if (inside.some((each) => isBelow(each, path))) return [];
  return readdirSync(path).flatMap((name) => closedParts(join(path, name), open));
}
