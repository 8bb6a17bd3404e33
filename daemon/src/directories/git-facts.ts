// Git's facts about a directory: whether it is a repository, its branch and its remote. Read from the
// repository's files and never by running git, so that a repository cannot make anything run, and
// thousands of them cost little. Cached until one of the files changes.
import { lstatSync, realpathSync, type Stats } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import type { DirectoryRecord } from "@hawser/contract";
import { showRemote } from "../git/redact.ts";
import { parseConfigText } from "./config-text.ts";
import { openDirectory, readSmallFile, type DirectoryHandle } from "./handle.ts";

export type GitFacts = Omit<DirectoryRecord, "path">;

export interface GitFactsReader {
  read: (directory: DirectoryHandle, mayRead: MayRead) => GitFacts;
  /** The same for a directory in an open one; undefined if it is missing or a link. */
  readIn: (parent: DirectoryHandle, name: string, mayRead: MayRead) => GitFacts | undefined;
}

/** Whether a path without links lies where the host's owner lets the service read. */
export type MayRead = (realPath: string) => boolean;

const noRepository: GitFacts = { isGitRepository: false, branch: null, remote: null };
const unknownRepository: GitFacts = { isGitRepository: true, branch: null, remote: null };

const largestHead = 4 * 1024;
const largestConfig = 512 * 1024;
const mostKept = 20_000;
/** A file may change twice within one tick of its clock, so facts about a younger file are not cached. */
const settledMs = 50;

export function createGitFacts(): GitFactsReader {
  const known = new Map<string, { stamp: number[]; facts: GitFacts }>();

  /** `way` is a path to the directory; only what a handle confirms is believed. */
  function remembered(realPath: string, way: string): GitFacts | undefined {
    const kept = known.get(realPath);
    const stamp = kept && stampOf(way);
    return stamp && isSame(kept.stamp, stamp) ? kept.facts : undefined;
  }

  const read = (directory: DirectoryHandle, mayRead: MayRead): GitFacts => {
    const { realPath } = directory;
    const kept = remembered(realPath, directory.inside("."));
    if (kept) return kept;
    // Before reading: a change in the meantime then differs from the stamp.
    const stamp = stampOf(directory.inside("."));
    const facts = readFacts(directory, mayRead);
    known.delete(realPath);
    if (stamp && youngestIn(stamp) < Date.now() - settledMs) {
      if (known.size >= mostKept) known.delete(known.keys().next().value!);
      known.set(realPath, { stamp, facts });
    }
    return facts;
  };

  return {
    read,
    readIn(parent, name, mayRead) {
      const kept = remembered(join(parent.realPath, name), parent.inside(name));
      if (kept) return kept;
      using directory = openDirectory(parent.inside(name));
      return directory && read(directory, mayRead);
    },
  };
}

/**
 * Identity and times of the files that the facts come from; undefined for a `.git` that is a file, which
 * is read each time. Numbers, because a listing compares thousands of these.
 */
function stampOf(way: string): number[] | undefined {
  const git = statOf(`${way}/.git`);
  // Without `.git`, only the directory itself is recorded.
  const own = git ?? statOf(way);
  if (!own?.isDirectory()) return undefined;
  const stamp = [own.dev, own.ino, git ? 1 : 0];
  if (git) for (const name of ["HEAD", "config"]) stampFile(stamp, statOf(`${way}/.git/${name}`));
  return stamp;
}

function stampFile(stamp: number[], file: Stats | undefined): void {
  if (file) stamp.push(file.ino, file.size, file.mtimeMs, file.ctimeMs);
  else stamp.push(0, 0, 0, 0);
}

/** Positions of the times, if there are any. */
const youngestIn = (stamp: readonly number[]) => Math.max(stamp[6] ?? 0, stamp[10] ?? 0);

const isSame = (one: readonly number[], other: readonly number[]) =>
  one.length === other.length && one.every((value, index) => value === other[index]);

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function readFacts(directory: DirectoryHandle, mayRead: MayRead): GitFacts {
  const git = statOf(directory.inside(".git"));
  if (!git) return noRepository;
  if (git.isDirectory()) {
    using own = openDirectory(directory.inside(".git"));
    return own ? readGitDirectory(own, own) : noRepository;
  }
  return readLinked(directory, mayRead);
}

/** `.git` is a link, or a file that names the directory, as in worktrees and submodules. */
function readLinked(directory: DirectoryHandle, mayRead: MayRead): GitFacts {
  const text = readSmallFile(directory.inside(".git"), largestHead);
  const named = text === undefined ? ".git" : /^gitdir: (.+?)\r?\n?$/.exec(text)?.[1];
  if (named === undefined) return noRepository;
  using own = openReal(directory.realPath, named);
  if (!own) return noRepository;
  // A file in the project can name any path. It is believed if callers may read that path anyway, or if a
  // repository there names this project in turn.
  const pointsBack = readSmallFile(own.inside("gitdir"), largestHead)?.trim();
  if (!mayRead(own.realPath) && pointsBack !== join(directory.realPath, ".git")) {
    return unknownRepository;
  }
  const common = readSmallFile(own.inside("commondir"), largestHead)?.trim();
  if (common === undefined) return readGitDirectory(own, own);
  using shared = openReal(own.realPath, common);
  return shared ? readGitDirectory(own, shared) : unknownRepository;
}

function openReal(from: string, path: string): DirectoryHandle | undefined {
  try {
    return openDirectory(realpathSync(isAbsolute(path) ? path : resolve(from, path)));
  } catch {
    return undefined;
  }
}

function readGitDirectory(own: DirectoryHandle, shared: DirectoryHandle): GitFacts {
  const head = readSmallFile(own.inside("HEAD"), largestHead);
  if (head === undefined) {
    // An old form: HEAD is a link to the branch. Git supports it; we do not follow links.
    return statOf(own.inside("HEAD")) ? unknownRepository : noRepository;
  }
  const branch = branchOf(head);
  const config = readSmallFile(shared.inside("config"), largestConfig);
  return {
    isGitRepository: true,
    branch,
    remote: config === undefined ? null : remoteOf(parseConfigText(config), branch),
  };
}

/** Null for a detached HEAD, and if HEAD is only a placeholder. */
function branchOf(head: string): string | null {
  const [, name] = /^ref:\s*refs\/heads\/(.+?)\s*$/.exec(head) ?? [];
  if (name === undefined || name === ".invalid" || name.length > 255) return null;
  return /\p{Cc}/u.test(name) ? null : name;
}

/** Address of the branch's own remote, else of origin, else of the only remote. */
function remoteOf(config: Map<string, string[]>, branch: string | null): string | null {
  const addresses = new Map<string, string>();
  for (const [name, [address]] of config) {
    const [, remote] = /^remote\.(.+)\.url$/s.exec(name) ?? [];
    if (remote !== undefined && address !== undefined) addresses.set(remote, address);
  }
  const upstream = branch === null ? undefined : config.get(`branch.${branch}.remote`)?.at(-1);
  const only = addresses.size === 1 ? [...addresses.values()][0] : undefined;
  const address = addresses.get(upstream ?? "") ?? addresses.get("origin") ?? only;
  return address === undefined ? null : showRemote(address);
}
