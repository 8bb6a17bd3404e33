// What a session has changed since the commit or the baseline at which it began, according to git: the list
// of files, and the patch of one file in pages.
import { createHash } from "node:crypto";
import type { FileChange } from "@hawser/contract";
import { CommandRefusal } from "../command-refusal.ts";
import { GitError } from "../git/git.ts";
import type { DrivenSession } from "../journal/driven-sessions.ts";
import type { Compared } from "../worktrees/diffs.ts";
import type { Worktrees } from "../worktrees/worktrees.ts";
import { baseOf, objectToGit } from "./files.ts";
import type { Session } from "./session.ts";

export interface PatchPage {
  patch: string;
  /** Where the next page begins, in bytes; null on the last. */
  nextOffset: number | null;
  /** Hash of the whole patch: pages of different patches do not fit together. */
  hash: string;
}

export interface WantedPage {
  path: string;
  offset: number;
  hash?: string | undefined;
}

const pageBytes = 64 * 1024;

export async function diffSession(
  session: Session,
  signal: AbortSignal,
): Promise<{ files: FileChange[]; truncated: boolean }> {
  const record = session.require("read");
  const { worktrees } = session.host;
  return compare(() => worktrees.diffs.list(comparedOf(worktrees, record, signal)));
}

export async function diffFile(
  session: Session,
  { path, offset, hash }: WantedPage,
  signal: AbortSignal,
): Promise<PatchPage> {
  const record = session.require("read");
  const { worktrees } = session.host;
  const patch = await compare(() =>
    worktrees.diffs.patch(comparedOf(worktrees, record, signal), path),
  );
  if (patch === undefined) {
    throw new CommandRefusal("not_found", "The session has not changed a file of this path.");
  }
  const bytes = Buffer.from(patch);
  const whole = createHash("sha256").update(bytes).digest("hex").slice(0, 32);
  if (offset > 0 && (hash !== whole || offset >= bytes.length)) {
    const message = "The file has changed since the page before. Begin again without the cursor.";
    throw new CommandRefusal("invalid_input", message, "cursor");
  }
  const end = endOfPage(bytes, offset);
  return {
    patch: bytes.toString("utf8", offset, end),
    nextOffset: end < bytes.length ? end : null,
    hash: whole,
  };
}

/** Ends behind a line if possible, and never within a character. */
function endOfPage(bytes: Buffer, offset: number): number {
  const most = offset + pageBytes;
  if (most >= bytes.length) return bytes.length;
  const line = bytes.lastIndexOf(0x0a, most - 1);
  if (line >= offset) return line + 1;
  let end = most;
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return end;
}

function comparedOf(
  { baselines }: Worktrees,
  session: DrivenSession,
  signal: AbortSignal,
): Compared {
  const objection = objectToGit(session);
  if (objection !== undefined) throw new GitError("unsafe_repository", objection);
  const { sessionId, directory, baselineTree, baselineProblem } = session;
  const baseCommit = baseOf(session);
  if (baseCommit !== null) return { directory, base: baseCommit, signal };
  if (baselineTree !== undefined) {
    const baseline = baselines.gitDirectoryOf(sessionId);
    return { directory, base: baselineTree, baseline, signal };
  }
  const message = session.checkout
    ? "The repository had no commit when the session began, so there is nothing to compare its files with."
    : `The session works outside of git, and no copy of its files was made when it began. ${baselineProblem ?? ""}`.trim();
  throw new CommandRefusal("not_a_repository", message);
}

/** Throws diff_failed if git fails. */
async function compare<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GitError) throw new CommandRefusal("diff_failed", error.message);
    throw error;
  }
}
