// Clones a repository into a folder root. Git works in a hidden directory beside the final one, which is
// renamed only when it is complete. So there is never half a checkout under that name, whatever is killed,
// and a directory that exists is never touched.
import { lstatSync, mkdirSync, renameSync } from "node:fs";
import { basename, join, normalize } from "node:path";
import type { DirectoryRecord } from "@hawser/contract";
import type { PayloadOf } from "@hawser/host-protocol";
import type { CodeHosting } from "../code-hosting/code-hosting.ts";
import { CommandRefusal } from "../command-refusal.ts";
import type { Git } from "../git/git.ts";
import type { Operations } from "../operations.ts";
import type { Policy } from "../policy/policy.ts";
import { checkSource, createBringRepository, showSource, type Step } from "./bring-repository.ts";
import type { Directories } from "./directories.ts";
import type { HalfDone } from "./half-done.ts";

export interface ClonesOptions {
  git: Git;
  codeHosting: CodeHosting;
  operations: Operations;
  halfDone: HalfDone;
  directories: Pick<Directories, "roots" | "describe">;
  policy: () => Policy;
}

export interface Clones {
  /** Throws CommandRefusal. */
  clone: (wanted: PayloadOf<"clone_repository">, signal: AbortSignal) => Promise<DirectoryRecord>;
  /** Ends the clones that are running, and removes them. */
  stop: () => Promise<void>;
}

export function createClones(options: ClonesOptions): Clones {
  const { git, codeHosting, operations, halfDone, directories, policy } = options;
  const bring = createBringRepository(git, codeHosting);
  const running = new Map<string, Promise<unknown>>();
  const stopping = new AbortController();

  async function clone(
    wanted: PayloadOf<"clone_repository">,
    signal: AbortSignal,
  ): Promise<DirectoryRecord> {
    const name = checkSource(wanted, policy());
    const root = await folderRoot(wanted.rootPath);
    const target = join(root, name);
    if (running.has(target)) {
      throw new CommandRefusal("already_exists", `"${name}" is being cloned right now.`);
    }
    if (isThere(target)) throw alreadyThere(target);
    const subject = `${showSource(wanted)} to ${target}`;
    const untilStopped = AbortSignal.any([signal, stopping.signal]);
    const work = operations.run("clone_repository", subject, (step) =>
      bringIn({ wanted, root, target, step, signal: untilStopped }),
    );
    running.set(
      target,
      work.catch(() => {}),
    );
    try {
      await work;
    } catch (error) {
      if (stopping.signal.aborted) throw stopped();
      throw error;
    } finally {
      running.delete(target);
    }
    const made = await directories.describe(target);
    if (!made)
      throw new CommandRefusal("clone_failed", "The checkout was removed as soon as it was made.");
    return made;
  }

  /** The root's path as the owner wrote it. */
  async function folderRoot(path: string): Promise<string> {
    const { roots } = await directories.roots();
    const asked = normalize(path).replace(/(.)\/$/, "$1");
    const root = roots.find((each) => each.path === asked && each.type === "folder");
    if (root) return root.path;
    throw new CommandRefusal(
      "not_found",
      "rootPath is not a folder root of this host. list_directories shows the roots.",
    );
  }

  async function bringIn({ wanted, root, target, step, signal }: Errand): Promise<void> {
    const place = halfDone.begin(root);
    try {
      mkdirSync(place, { mode: 0o700 });
      const checkout = join(place, "checkout");
      await bring(wanted, { path: checkout }, step, signal);
      if (isThere(target)) throw alreadyThere(target);
      // Fails if there is a file, or a directory that is not empty.
      renameSync(checkout, target);
    } catch (error) {
      throw isTaken(error) ? alreadyThere(target) : error;
    } finally {
      halfDone.end(place);
    }
  }

  return {
    clone,
    async stop() {
      stopping.abort();
      await Promise.all(running.values());
    },
  };
}

interface Errand {
  wanted: PayloadOf<"clone_repository">;
  root: string;
  target: string;
  step: Step;
  signal: AbortSignal;
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isTaken(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall === "rename" && ["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(code ?? "");
}

const alreadyThere = (target: string) =>
  new CommandRefusal(
    "already_exists",
    `"${basename(target)}" is already there. Choose another name.`,
  );

const stopped = () =>
  new CommandRefusal(
    "interrupted",
    "The daemon was stopped while it cloned. Nothing is left of it.",
  );
