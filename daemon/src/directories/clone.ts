// Cloning a repository into a folder root. Git works in a hidden directory beside the place where the
// checkout will be, which gets its name only when it is whole: whatever is killed in between, there
// is never half a checkout under that name, and what is there already is never touched.
import { lstatSync, mkdirSync, renameSync } from "node:fs";
import { basename, join, normalize } from "node:path";
import {
  nameOfRepository,
  objectToCheckoutName,
  objectToCloneUrl,
  objectToHostedRepository,
  type DirectoryRecord,
} from "@hawser/contract";
import type { PayloadOf } from "@hawser/host-protocol";
import type { CodeHosting } from "../code-hosting/code-hosting.ts";
import { GhError } from "../code-hosting/gh.ts";
import type { Access } from "../code-hosting/repositories.ts";
import { CommandRefusal } from "../commands/command.ts";
import { GitError, type Git } from "../git/git.ts";
import { showRemote } from "../git/redact.ts";
import type { Operations, Work } from "../operations.ts";
import { followProgress } from "./clone-progress.ts";
import { explainCloneFailure } from "./clone-failure.ts";
import type { Directories } from "./directories.ts";
import type { HalfDone } from "./half-done.ts";

export interface ClonesOptions {
  git: Git;
  codeHosting: CodeHosting;
  operations: Operations;
  halfDone: HalfDone;
  directories: Pick<Directories, "roots" | "describe">;
}

export interface Clones {
  /** Throws CommandRefusal. */
  clone: (wanted: PayloadOf<"clone_repository">, signal: AbortSignal) => Promise<DirectoryRecord>;
  /** Ends what is being cloned, and takes it away. */
  stop: () => Promise<void>;
}

/** The command's own signal comes first; git wants a number as well. */
const longestMs = 60 * 60_000;

export function openClones(options: ClonesOptions): Clones {
  const { git, codeHosting, operations, halfDone, directories } = options;
  const running = new Map<string, Promise<unknown>>();
  const stopping = new AbortController();

  async function clone(
    wanted: PayloadOf<"clone_repository">,
    signal: AbortSignal,
  ): Promise<DirectoryRecord> {
    const name = wanted.name ?? nameOfRepository(wanted.repo ?? wanted.url ?? "");
    check(wanted, name);
    const root = await folderRoot(wanted.rootPath);
    const target = join(root, name);
    if (running.has(target)) {
      throw new CommandRefusal("already_exists", `"${name}" is being cloned right now.`);
    }
    if (isThere(target)) throw alreadyThere(target);
    const subject = `${wanted.repo ?? showRemote(wanted.url!)} to ${target}`;
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

  /** Its path as the owner wrote it. */
  async function folderRoot(path: string): Promise<string> {
    const { roots } = await directories.roots();
    const asked = normalize(path).replace(/(.)\/$/, "$1");
    const root = roots.find((each) => each.path === asked && each.type === "folder");
    if (root) return root.path;
    throw new CommandRefusal("not_found", "This path is no folder root of the instance.");
  }

  async function bringIn({ wanted, root, target, step, signal }: Errand): Promise<void> {
    const access = await accessTo(wanted, signal);
    const place = halfDone.begin(root);
    try {
      mkdirSync(place, { mode: 0o700 });
      const checkout = join(place, "checkout");
      await runGit(access, checkout, step, signal);
      if (isThere(target)) throw alreadyThere(target);
      // Onto a directory with something in it, or a file, this fails.
      renameSync(checkout, target);
    } catch (error) {
      throw isTaken(error) ? alreadyThere(target) : error;
    } finally {
      halfDone.end(place);
    }
  }

  async function accessTo(
    { repo, url }: PayloadOf<"clone_repository">,
    signal: AbortSignal,
  ): Promise<Access> {
    if (repo === undefined) return { url: url!, settings: [], environment: {} };
    try {
      return await codeHosting.accessTo(repo, signal);
    } catch (error) {
      if (error instanceof GhError) throw new CommandRefusal(error.problem, error.message);
      throw error;
    }
  }

  async function runGit(
    { url, settings, environment }: Access,
    checkout: string,
    step: Step,
    signal: AbortSignal,
  ): Promise<void> {
    let said = "";
    const follow = followProgress(step);
    step("asking the server");
    try {
      await git.run("clone", {
        options: ["--progress"],
        operands: [url, checkout],
        settings,
        environment,
        onSaid(text) {
          said = (said + text).slice(-16_384);
          follow(text);
        },
        deadlineMs: longestMs,
        signal,
      });
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      const words = error.reason === "failed" ? explainCloneFailure(said) : error.message;
      throw new CommandRefusal("clone_failed", words);
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

type Step = Parameters<Work<void>>[0];

interface Errand {
  wanted: PayloadOf<"clone_repository">;
  root: string;
  target: string;
  step: Step;
  signal: AbortSignal;
}

/** The control plane has asked the same questions; this host does not take its word for it. */
function check({ repo, url }: PayloadOf<"clone_repository">, name: string): void {
  if ((repo === undefined) === (url === undefined)) {
    throw new CommandRefusal("unsafe_source", "Exactly one of repo and url must be given.");
  }
  const objections = [
    ["The repository", repo === undefined ? null : objectToHostedRepository(repo)],
    ["The address", url === undefined ? null : objectToCloneUrl(url)],
    ["The directory's name", objectToCheckoutName(name)],
  ] as const;
  for (const [what, objection] of objections) {
    if (objection !== null) throw new CommandRefusal("unsafe_source", `${what} ${objection}.`);
  }
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
