// The clones that sessions own. They lie below the daemon's own directory, are checked out without files
// that an agent would run unasked, and are worked in directly. An unfinished clone is removed.
import { mkdirSync, realpathSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { CodeHosting } from "../code-hosting/code-hosting.ts";
import {
  checkSource,
  createBringRepository,
  showSource,
  type RepositorySource,
} from "../directories/bring-repository.ts";
import { gitFor } from "../directories/insecure-address.ts";
import { endWorkIn } from "../directories/half-done.ts";
import { GitError, type Git } from "../git/git.ts";
import type { Operations } from "../operations.ts";
import type { Policy } from "../policy/policy.ts";
import { copyGit, fillTree, type TreeState } from "./fork-tree.ts";
import { listLeftOut } from "./left-out.ts";

export interface CheckoutsOptions {
  git: Git;
  codeHosting: CodeHosting;
  operations: Operations;
  /** Contains a directory for each clone, named by its session's id. */
  directory: string;
  policy: () => Policy;
}

export interface CheckoutPlan {
  sessionId: string;
  source: RepositorySource;
  /** Where the clone will be made. */
  directory: string;
}

export interface CheckoutFork {
  sessionId: string;
  /** Where the clone will be made. */
  directory: string;
  /** The git directory of the original. */
  from: string;
  state: TreeState;
}

export interface Checkouts {
  /** Decides all names before anything is made. Throws CommandRefusal. */
  plan(sessionId: string, source: RepositorySource): CheckoutPlan;
  /** A clone of a repository on this host, which another Unix user owns. */
  planFrom(sessionId: string, repository: string): CheckoutPlan;
  /** `without`: patterns of files to leave out; returns those files. Throws CommandRefusal and GitError. */
  make(plan: CheckoutPlan, without: readonly string[], signal: AbortSignal): Promise<string[]>;
  /** Where the clone of a fork will be made. `name`: that of the directory. */
  planFork(sessionId: string, name: string): string;
  /** Makes a clone from another session's git directory and the state of its tree. Like `make` otherwise. */
  fork(fork: CheckoutFork, without: readonly string[], signal: AbortSignal): Promise<string[]>;
  /** Removes a finished or unfinished clone that no agent has worked in, and ends any git that runs in it. */
  discard(sessionId: string): void;
  /** The directory around the clone that contains this path; undefined if none does. The path has no links. */
  placeOf(realPath: string): string | undefined;
}

const checkoutMs = 5 * 60_000;
const quickMs = 10_000;

export function createCheckouts(options: CheckoutsOptions): Checkouts {
  const { git, operations } = options;
  const bring = createBringRepository(git, options.codeHosting);
  mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  const top = realpathSync(options.directory);
  const directoryFor = (sessionId: string) => join(top, checked(sessionId));

  async function hasCommit(directory: string, signal: AbortSignal): Promise<boolean> {
    try {
      const call = { options: ["--verify", "--quiet"], revisions: ["HEAD^{commit}"] };
      await git.runIn(directory, "rev-parse", { ...call, deadlineMs: quickMs, signal });
      return true;
    } catch (error) {
      if (error instanceof GitError && error.reason === "failed") return false;
      throw error;
    }
  }

  return {
    plan: (sessionId, source) => ({
      sessionId,
      source,
      directory: join(directoryFor(sessionId), checkSource(source, options.policy())),
    }),

    planFrom: (sessionId, repository) => ({
      sessionId,
      source: { path: repository },
      directory: join(directoryFor(sessionId), basename(repository)),
    }),

    make({ sessionId, source, directory }, without, signal) {
      const subject = `${showSource(source)} for ${sessionId}`;
      return operations.run("clone_repository", subject, async (step) => {
        mkdirSync(directoryFor(sessionId), { mode: 0o700 });
        // Git's own transfer copies only what belongs to commits.
        const options = ["--no-checkout", ...(source.path === undefined ? [] : ["--no-local"])];
        await bring(source, { path: directory, options }, step, signal);
        step("checking out");
        // Filters of the user's could fetch more from the same address.
        const { environment } = gitFor(source.url ?? "");
        const within = { deadlineMs: checkoutMs, signal, environment };
        if (without.length > 0) {
          await git.runIn(directory, "sparse-checkout set", { ...within, operands: without });
        }
        // An empty repository has nothing to check out; a session can work in it nevertheless.
        if (!(await hasCommit(directory, signal))) return [];
        await git.runIn(directory, "checkout", { ...within, options: ["--quiet"] });
        return without.length > 0 ? listLeftOut(git, directory, signal) : [];
      });
    },

    planFork: (sessionId, name) => join(directoryFor(sessionId), name),

    async fork({ sessionId, directory, from, state }, without, signal) {
      const around = directoryFor(sessionId);
      const adminDirectory = join(directory, ".git");
      mkdirSync(around, { mode: 0o700 });
      mkdirSync(directory);
      await copyGit(from, adminDirectory, signal);
      const within = { deadlineMs: checkoutMs, signal };
      if (without.length > 0) {
        await git.runIn(directory, "sparse-checkout set", { ...within, operands: without });
      }
      const tree = { directory, repository: directory, adminDirectory, branch: null };
      await fillTree(git, tree, state, { indexFile: join(around, "fork.index"), ...within });
      return without.length > 0 ? listLeftOut(git, directory, signal) : [];
    },

    discard(sessionId) {
      const place = directoryFor(sessionId);
      endWorkIn(place);
      rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
    },

    placeOf(realPath) {
      if (!realPath.startsWith(`${top}/`)) return undefined;
      return join(top, realPath.slice(top.length + 1).split("/")[0]!);
    },
  };
}

/** Throws if the id cannot be the name of a directory. */
function checked(sessionId: string): string {
  if (/^\w{6,64}$/.test(sessionId)) return sessionId;
  throw new Error(`"${sessionId}" is no session's id.`);
}
