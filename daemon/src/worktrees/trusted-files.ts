// Configuration files of repositories that an organization trusts. They are copied from the default branch
// of the origin, which the daemon fetches itself: agents can change the objects and the branches of the
// repository on the host. The copy is in a directory of the daemon's, which no agent can change.
// See docs/decisions/0057-repositories-are-trusted-by-part.md.
import { mkdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { GitError, type Git, type GitCall } from "../git/git.ts";
import { removeOthers } from "./remove-others.ts";

/** Files and directories of a repository, each with the place of its copy. */
export type Places = Readonly<Record<string, string>>;

export interface Origin {
  /** The clone address. */
  address: string;
  /** What git needs to log in. */
  access: Pick<GitCall, "settings" | "environment">;
}

export interface TrustedFiles {
  directoryOf(sessionId: string): string;
  /**
   * Copies files of the origin's default branch, for each list of places. Returns their paths in the
   * repository. Throws GitError if they cannot be fetched in time or are too large.
   */
  copy(
    sessionId: string,
    origin: Origin,
    wanted: readonly Places[],
    signal: AbortSignal,
  ): Promise<string[][]>;
  /** Removes the copies of sessions that are not in use. */
  tidy(isUsed: (sessionId: string) => boolean): Promise<void>;
}

/** Short, because the session's start waits for the fetch. */
const fetchMs = 10_000;
const quickMs = 5_000;
const mostFiles = 500;
const mostBytes = 4 * 1024 * 1024;

interface Entry {
  isProgram: boolean;
  object: string;
  path: string;
}

export function createTrustedFiles(git: Git, top: string): TrustedFiles {
  const directoryOf = (sessionId: string) => join(top, sessionId);

  async function fetch(directory: string, { address, access }: Origin, signal: AbortSignal) {
    try {
      await git.run("clone", {
        options: ["--quiet", "--depth=1", "--single-branch", "--no-tags", "--no-checkout"],
        operands: [address, directory],
        ...access,
        deadlineMs: fetchMs,
        signal,
      });
    } catch (error) {
      if (!(error instanceof GitError) || error.reason !== "out_of_time") throw error;
      const message = `The fetch took longer than ${fetchMs / 1_000} seconds. Start another session to try again.`;
      throw new GitError("out_of_time", message);
    }
  }

  async function list(
    directory: string,
    paths: readonly string[],
    signal: AbortSignal,
  ): Promise<Entry[]> {
    const listed = await git.runIn(directory, "ls-tree", {
      operands: ["HEAD", ...paths],
      deadlineMs: quickMs,
      signal,
    });
    return listed.split("\0").flatMap((line) => {
      // Links and submodules have other modes.
      const { mode, object, path } =
        /^100(?<mode>644|755) blob (?<object>[0-9a-f]+)\t(?<path>.+)$/s.exec(line)?.groups ?? {};
      if (object === undefined || path === undefined || !isPlain(path)) return [];
      return [{ isProgram: mode === "755", object, path }];
    });
  }

  async function copyPart(
    from: string,
    to: string,
    places: Places,
    signal: AbortSignal,
  ): Promise<string[]> {
    const paths = Object.keys(places);
    // Without a path, git would list the whole commit.
    const entries = paths.length > 0 ? await list(from, paths, signal) : [];
    if (entries.length === 0) return [];
    if (entries.length > mostFiles) {
      throw new GitError("too_much_output", `One part has more than ${mostFiles} files.`);
    }
    const contents = await readObjects(git, from, entries, signal);
    for (const [index, { path, isProgram }] of entries.entries()) {
      const file = join(to, placeOf(path, places));
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writeFileSync(file, contents[index]!, { mode: isProgram ? 0o700 : 0o600, flag: "wx" });
    }
    return entries.map(({ path }) => path);
  }

  return {
    directoryOf,

    async copy(sessionId, origin, wanted, signal) {
      const own = directoryOf(sessionId);
      const fetched = join(own, "fetched");
      const copied: string[][] = [];
      try {
        // A daemon that was killed may have left a part of the copy.
        await rm(own, { recursive: true, force: true });
        mkdirSync(own, { recursive: true, mode: 0o700 });
        await fetch(fetched, origin, signal);
        for (const places of wanted) copied.push(await copyPart(fetched, own, places, signal));
      } catch (error) {
        await rm(own, { recursive: true, force: true });
        const { code } = error as NodeJS.ErrnoException;
        // The names of a commit that somebody made by hand need not fit into a file system.
        if (code === undefined || error instanceof GitError) throw error;
        throw new GitError("failed", `The files could not be written on the host (${code}).`);
      } finally {
        await rm(fetched, { recursive: true, force: true });
      }
      return copied;
    },

    tidy: (isUsed) => removeOthers(top, isUsed),
  };
}

/** A commit that somebody made by hand can name places outside of its tree. */
const isPlain = (path: string) =>
  !path.includes("\uFFFD") &&
  path.split("/").every((step) => step !== "" && step !== "." && step !== "..");

function placeOf(path: string, places: Places): string {
  const from = Object.keys(places).find((each) => path === each || path.startsWith(`${each}/`))!;
  return places[from]! + path.slice(from.length);
}

async function readObjects(
  git: Git,
  directory: string,
  entries: readonly Entry[],
  signal: AbortSignal,
): Promise<Buffer[]> {
  let output: string;
  try {
    output = await git.runIn(directory, "cat-file --batch", {
      input: entries.map(({ object }) => `${object}\n`).join(""),
      isBytes: true,
      outputLimitBytes: mostBytes,
      deadlineMs: quickMs,
      signal,
    });
  } catch (error) {
    if (!(error instanceof GitError) || error.reason !== "too_much_output") throw error;
    throw new GitError("too_much_output", `One part is larger than ${mostBytes / 1024 ** 2} MiB.`);
  }
  const contents: Buffer[] = [];
  let at = 0;
  for (const { path } of entries) {
    const [head, size] = /^\S+ blob (\d+)\n/.exec(output.slice(at, at + 200)) ?? [];
    if (head === undefined) throw new GitError("failed", `Git could not read ${path}.`);
    const from = at + head.length;
    at = from + Number(size);
    contents.push(Buffer.from(output.slice(from, at), "latin1"));
    // A line break follows each content.
    at += 1;
  }
  return contents;
}
