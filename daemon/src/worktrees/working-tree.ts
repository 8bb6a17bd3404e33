// Reads the present state of a working tree into an index of our own: tracked files as they are on disk,
// and untracked ones, but not ignored ones. The user's own index is not touched.
//
// `git add` is not used: it reads submodules, with the settings inside them. A repository within the tree
// that is no submodule is left alone, like an ignored file.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  rmSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join, relative } from "node:path";
import { GitError, type Git } from "../git/git.ts";

export interface OwnIndex {
  git: Git;
  /** The top of the working tree. */
  directory: string;
  /** A worktree of the same repository in which git runs; `directory` if it is not set. */
  gitIn?: string;
  file: string;
  /** For git, besides the index itself; for example where objects are written. */
  environment?: Readonly<Record<string, string>>;
  deadlineMs: number;
  /** Limit for the bytes of changed files. */
  limitBytes?: number;
  /** Limit for the number of changed files. */
  limitFiles?: number;
  /** Absolute paths inside the tree that are not read, such as the user's keys. */
  closedPaths?: readonly string[];
  signal?: AbortSignal | undefined;
}

export const within = ({ deadlineMs, signal }: OwnIndex) => ({
  deadlineMs,
  ...(signal && { signal }),
  outputLimitBytes: 256 * 1024 * 1024,
});

export const environmentOf = ({ file, environment, gitIn, directory }: OwnIndex) => ({
  ...environment,
  ...(gitIn !== undefined && { GIT_WORK_TREE: directory }),
  GIT_INDEX_FILE: file,
  GIT_LITERAL_PATHSPECS: "1",
});

const largestIndex = 512 * 1024 * 1024;

/**
 * Starts with a copy of the user's index, so that git need not read unchanged files again. An agent can replace
 * the index by a link or a pipe, so only a plain file is read. Throws GitError.
 */
export function copyIndex(index: OwnIndex, from: string): void {
  rmSync(index.file, { force: true });
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  let source: number;
  try {
    source = openSync(from, flags);
  } catch (error) {
    // A worktree without any added file has no index.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw new GitError("unsafe_repository", `Git's index ${from} cannot be read.`);
  }
  try {
    // Keeps the index's time: git compares it with file times to find the files it has to read.
    const found = fstatSync(source);
    if (!found.isFile() || found.size > largestIndex) {
      throw new GitError("unsafe_repository", `Git's index ${from} is no file, or far too large.`);
    }
    copyBytes(source, index.file, found.size);
    const time = new Date(Math.floor(found.mtimeMs));
    utimesSync(index.file, time, time);
  } finally {
    closeSync(source);
  }
}

function copyBytes(source: number, to: string, size: number): void {
  const target = openSync(to, "w", 0o600);
  try {
    const part = Buffer.allocUnsafe(Math.min(size, 1024 * 1024) || 1);
    for (let done = 0; done < size;) {
      const read = readSync(source, part, 0, Math.min(part.length, size - done), done);
      if (read === 0) break;
      writeSync(target, part, 0, read);
      done += read;
    }
  } finally {
    closeSync(target);
  }
}

/** Adds what differs on disk, below these paths or everywhere. Paths are bytes, one per character. */
export async function gather(index: OwnIndex, below: readonly string[] = []): Promise<void> {
  let listed = await list(index, below);
  const assumed = listed.filter(({ tag }) => /[a-z]/.test(tag));
  if (assumed.length > 0) {
    await assumeNothing(index, assumed);
    listed = await list(index, below);
  }
  const isClosed = closedIn(index);
  const differing = listed.filter(
    ({ tag, path }) => /[CR?]/.test(tag) && !path.endsWith("/") && !isClosed(path),
  );
  const paths = new Set(differing.map(({ path }) => path));
  // Sorted, so that a file which became a directory is removed before the files in it are added.
  const read = [...paths].toSorted().filter((path) => !isBeyondFile(index.directory, path, paths));
  checkSize(index, read);
  await putIn(index, read);
}

function closedIn({ directory, closedPaths = [] }: OwnIndex): (path: string) => boolean {
  const inside = closedPaths
    .map((path) => relative(directory, path))
    .filter((path) => path !== "" && path !== ".." && !path.startsWith("../"))
    .map((path) => Buffer.from(path).toString("latin1"));
  return (path) => inside.some((closed) => path === closed || path.startsWith(`${closed}/`));
}

interface Listed {
  /** `C` changed, `R` removed, `?` untracked; a lower-case letter means "assume unchanged". */
  tag: string;
  path: string;
}

/** Lists all tracked and untracked files. */
async function list(index: OwnIndex, below: readonly string[]): Promise<Listed[]> {
  const kinds = ["--cached", "--modified", "--deleted", "--others", "--exclude-standard"];
  const listed = await index.git.runIn(index.gitIn ?? index.directory, "ls-files", {
    ...within(index),
    environment: environmentOf(index),
    options: ["-z", "-v", ...kinds],
    operands: below,
    isBytes: true,
  });
  return splitPaths(listed).map((line) => ({ tag: line[0]!, path: line.slice(2) }));
}

/**
 * Clears the mark "assume unchanged", which people set for settings of their own: such files would be in no
 * snapshot, and a revert would overwrite them.
 */
async function assumeNothing(index: OwnIndex, marked: readonly Listed[]): Promise<void> {
  await index.git.runIn(index.gitIn ?? index.directory, "update-index", {
    ...within(index),
    environment: environmentOf(index),
    isBytes: true,
    options: ["--no-assume-unchanged"],
    input: joinPaths(marked.map(({ path }) => path)),
  });
}

function checkSize(index: OwnIndex, paths: readonly string[]): void {
  const { directory, limitBytes = Infinity, limitFiles = Infinity } = index;
  if (paths.length > limitFiles) {
    const message = `${paths.length} files are too many to keep a copy of; the limit is ${limitFiles}.`;
    throw new GitError("too_much_output", message);
  }
  let bytes = 0;
  for (const path of paths) {
    bytes += lstatSync(placeIn(directory, path), { throwIfNoEntry: false })?.size ?? 0;
  }
  if (bytes <= limitBytes) return;
  const message = `Files of ${Math.round(bytes / 2 ** 20)} MiB are too much to keep a copy of; the limit is ${Math.round(limitBytes / 2 ** 20)} MiB.`;
  throw new GitError("too_much_output", message);
}

const placeIn = (directory: string, path: string) =>
  join(directory, Buffer.from(path, "latin1").toString());

/** Whether the path lies below something that was a directory and is a file or a link now. */
function isBeyondFile(directory: string, path: string, listed: ReadonlySet<string>): boolean {
  for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) {
    const parent = path.slice(0, end);
    if (!listed.has(parent)) continue;
    if (lstatSync(placeIn(directory, parent), { throwIfNoEntry: false })?.isDirectory() === false)
      return true;
  }
  return false;
}

/** Updates these paths in the index to what is on disk; removes those that are missing there. */
export async function putIn(index: OwnIndex, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  await index.git.runIn(index.gitIn ?? index.directory, "update-index", {
    ...within(index),
    environment: environmentOf(index),
    input: joinPaths(paths),
    isBytes: true,
  });
}

export async function writeTree(index: OwnIndex): Promise<string> {
  const call = { ...within(index), environment: environmentOf(index) };
  return (await index.git.runIn(index.gitIn ?? index.directory, "write-tree", call)).trim();
}

export const splitPaths = (text: string) => text.split("\0").filter((path) => path !== "");
export const joinPaths = (paths: readonly string[]) => paths.map((path) => `${path}\0`).join("");
