// Parked worktrees and clones: lists them with their sizes, restores one, and drops those that are too old
// or too many.
import { existsSync, mkdirSync, opendirSync, readdirSync, renameSync, type Dirent } from "node:fs";
import { lstat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Git } from "../git/git.ts";
import type { OwnCheckout } from "../journal/driven-sessions.ts";
import { isDirectory, moveAdmin } from "./park.ts";
import { readParked, recordName, type ParkedRecord } from "./parked-record.ts";
import { dropRefs, refsOf } from "./refs.ts";
import { removeTree } from "../remove-tree.ts";

export interface Parked {
  /** Those that can be restored, newest first. */
  list(): Promise<ParkedTree[]>;
  find(sessionId: string): ParkedRecord | undefined;
  /** Where its files and git's directory for it are now; undefined if it is not parked. */
  placeOf(sessionId: string): { tree: string; admin: string } | undefined;
  /** Runs the work while no parked tree is restored or dropped. */
  hold<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Moves it back to where it was. Throws CannotRestore, and then has changed nothing. */
  restore(sessionId: string): Promise<ParkedRecord>;
  /** Removes what is left after a restore. The snapshots of its reverts now belong to the new session. */
  settle(sessionId: string, record: ParkedRecord, heirId: string): Promise<void>;
  /** Drops those that are too old, then the oldest until the rest fits into the limit. */
  clean(options: CleanOptions): Promise<Cleaned>;
}

export interface Cleaned {
  /** Sessions whose trees were dropped. */
  dropped: string[];
  /** Why a tree could not be dropped, by session. */
  failed: Map<string, unknown>;
}

interface CleanOptions {
  now: number;
  limitBytes: number;
  /** Trees that a session is, or was, restored from: neither dropped nor counted. */
  taken?: ReadonlySet<string>;
}

export interface ParkedTree {
  sessionId: string;
  record: ParkedRecord;
  /** Its size on disk. */
  sizeBytes: number;
}

/** The message says why the tree cannot be restored. */
export class CannotRestore extends Error {
  readonly reason: "gone" | "taken" | "no_repository";

  constructor(reason: CannotRestore["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

export const parkedForMs = 14 * 24 * 3600_000;
const dropping = ".dropping-";
const gitMs = 10_000;

export function createParked(git: Git, top: string): Parked {
  // A parked tree does not change, so it is measured once.
  const sizes = new Map<string, number>();
  let underWay: Promise<unknown> = Promise.resolve();

  async function sizeOf(sessionId: string): Promise<number> {
    const known = sizes.get(sessionId);
    if (known !== undefined) return known;
    const size = await measure(join(top, sessionId));
    sizes.set(sessionId, size);
    return size;
  }

  const isWhole = (sessionId: string) => isDirectory(join(top, sessionId, "tree"));

  /** Includes what is left of a tree that was restored. */
  async function listAll(): Promise<ParkedTree[]> {
    const found: ParkedTree[] = [];
    for (const sessionId of readdirSync(top)) {
      if (sessionId.startsWith(".")) continue;
      const record = readParked(join(top, sessionId));
      if (record) found.push({ sessionId, record, sizeBytes: await sizeOf(sessionId) });
    }
    return found.sort((one, other) => other.record.parkedAt - one.record.parkedAt);
  }

  const find = (sessionId: string) =>
    /^\w+$/.test(sessionId) ? readParked(join(top, sessionId)) : undefined;

  async function drop(sessionId: string, record: ParkedRecord): Promise<void> {
    const away = join(top, `${dropping}${sessionId}`);
    if (existsSync(join(top, sessionId))) renameSync(join(top, sessionId), away);
    await finishDropping(sessionId, record);
  }

  /** The new name marks it as dropped; if a crash interrupts the removal, the next clean-up finishes it. */
  async function finishDropping(sessionId: string, record: ParkedRecord | undefined) {
    sizes.delete(sessionId);
    const place = join(top, `${dropping}${sessionId}`);
    // Removes the files first: they must not stay because the repository cannot be worked in.
    for (const name of existsSync(place) ? readdirSync(place) : []) {
      if (name !== recordName) await removeTree(join(place, name));
    }
    const repository = record?.repository ?? null;
    if (repository !== null && existsSync(repository)) {
      await dropRefs(git, repository, Object.values(refsOf(sessionId)));
    }
    await removeTree(place);
  }

  return {
    list: async () => (await listAll()).filter(({ sessionId }) => isWhole(sessionId)),
    find,
    placeOf(sessionId) {
      if (!find(sessionId) || !isWhole(sessionId)) return undefined;
      return { tree: join(top, sessionId, "tree"), admin: join(top, sessionId, "admin") };
    },
    hold: inTurn,
    restore: (sessionId) => inTurn(() => restore(sessionId)),
    clean: (options) => inTurn(() => clean(options)),
    async settle(sessionId, record, heirId) {
      if (isWhole(sessionId)) throw new Error("It is still put aside.");
      const { repository, session } = record;
      if (repository !== null) await inherit(repository, sessionId, heirId);
      await drop(sessionId, record);
      // The snapshots of its reverts stay in the clone for as long as the clone exists.
      const clone = session?.checkout?.directory;
      if (clone !== undefined) await dropRefs(git, clone, [refsOf(sessionId).snapshots]);
    },
  };

  async function restore(sessionId: string): Promise<ParkedRecord> {
    const record = find(sessionId);
    if (!record || !isWhole(sessionId)) throw gone();
    const { repository, branch, branchTip, adminDirectory, worktree } = record;
    const from = join(top, sessionId);
    const checkout = record.session?.checkout;
    if (checkout) {
      restoreClone(join(from, "tree"), worktree, checkout);
      return record;
    }
    if (adminDirectory === null) throw gone();
    if (repository === null || !existsSync(repository)) {
      const message = `The repository ${repository} is gone. The session's files lie in ${from}/tree.`;
      throw new CannotRestore("no_repository", message);
    }
    refuseTaken(worktree, adminDirectory);
    if (branch !== null && branchTip !== null) {
      if (await hasBranch(repository, branch)) {
        const message = `The repository has a branch ${branch} again. Rename or delete it.`;
        throw new CannotRestore("taken", message);
      }
      await git.runIn(repository, "update-ref", {
        operands: [`refs/heads/${branch}`, branchTip],
        deadlineMs: gitMs,
      });
    }
    mkdirSync(dirname(adminDirectory), { recursive: true });
    moveAdmin(join(from, "admin"), adminDirectory);
    renameSync(join(from, "tree"), worktree);
    return record;
  }

  async function clean({ now, limitBytes, taken }: CleanOptions): Promise<Cleaned> {
    const dropped: string[] = [];
    const failed = new Map<string, unknown>();
    /** A tree that cannot be dropped is tried again the next time, and does not keep others. */
    const attempt = (sessionId: string, work: Promise<void>) =>
      work.then(
        () => dropped.push(sessionId),
        (error: unknown) => failed.set(sessionId, error),
      );
    for (const name of readdirSync(top).filter((each) => each.startsWith(dropping))) {
      const sessionId = name.slice(dropping.length);
      await attempt(sessionId, finishDropping(sessionId, readParked(join(top, name))));
    }
    const all = (await listAll()).toReversed();
    const trees = all.filter(({ sessionId }) => !taken?.has(sessionId));
    let total = trees.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    for (const { sessionId, record, sizeBytes } of trees) {
      if (now - record.parkedAt <= parkedForMs && total <= limitBytes) continue;
      await attempt(sessionId, drop(sessionId, record));
      total -= sizeBytes;
    }
    return { dropped, failed };
  }

  /** Prevents dropping a tree while it is restored. */
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = underWay.then(work);
    underWay = result.catch(() => {});
    return result;
  }

  async function inherit(repository: string, sessionId: string, heirId: string): Promise<void> {
    const [from, to] = [refsOf(sessionId), refsOf(heirId)];
    const found = await git.runIn(repository, "for-each-ref", {
      options: ["--format=%(objectname) %(refname)"],
      operands: [from.reverted, from.revertedParts],
      deadlineMs: gitMs,
    });
    const lines = found.split("\n").filter((line) => line !== "");
    const input = lines.map((line) => {
      const [object, ref] = line.split(" ") as [string, string];
      const parts = ref.startsWith(`${from.revertedParts}/`);
      const place = parts ? to.revertedParts : to.reverted;
      return `update ${place}/${sessionId}-${ref.split("/").at(-1)!} ${object}\n`;
    });
    if (input.length === 0) return;
    await git.runIn(repository, "update-ref", {
      options: ["--stdin"],
      input: input.join(""),
      deadlineMs: gitMs,
    });
  }

  async function hasBranch(repository: string, branch: string): Promise<boolean> {
    const found = await git.runIn(repository, "for-each-ref", {
      operands: [`refs/heads/${branch}`],
      deadlineMs: gitMs,
    });
    return found !== "";
  }
}

/** A clone contains all of its git, so that it is complete wherever it is moved. */
function restoreClone(from: string, to: string, { directory }: OwnCheckout): void {
  // The agent may have removed the clone, or replaced it with a link.
  if (!isDirectory(join(from, basename(directory)))) throw gone();
  refuseTaken(to);
  renameSync(from, to);
}

function refuseTaken(...places: string[]): void {
  const taken = places.find((place) => existsSync(place));
  if (taken === undefined) return;
  throw new CannotRestore("taken", `There is something else at ${taken}. Move it away.`);
}

const gone = () =>
  new CannotRestore(
    "gone",
    "The host keeps no worktree or clone of this session: it had none, is not over, or was ended too long ago.",
  );

/** Size on disk: a file with holes uses less than its length. */
async function measure(directory: string): Promise<number> {
  let total = 0;
  const waiting = [directory];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const entries: Dirent[] = [];
    try {
      const opened = opendirSync(next);
      for await (const entry of opened) entries.push(entry);
    } catch {
      // Removed in the meantime, or not readable.
      continue;
    }
    for (const entry of entries) {
      const path = join(next, entry.name);
      if (entry.isDirectory()) waiting.push(path);
      else total += (await lstat(path).catch(() => undefined))?.blocks ?? 0;
    }
  }
  return total * 512;
}
