// The clones that sessions own: made below the daemon's own directory, checked out without what an
// agent would run unasked, and worked in directly. One that was not finished leaves nothing.
import { mkdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { CodeHosting } from "../code-hosting/code-hosting.ts";
import {
  checkSource,
  createBringRepository,
  showSource,
  type RepositorySource,
} from "../directories/bring-repository.ts";
import { endWorkIn } from "../directories/half-done.ts";
import { GitError, type Git } from "../git/git.ts";
import type { Operations } from "../operations.ts";
import { listLeftOut } from "./left-out.ts";

export interface CheckoutsOptions {
  git: Git;
  codeHosting: CodeHosting;
  operations: Operations;
  /** Each clone lies here, in a directory with its session's id. */
  directory: string;
}

export interface CheckoutPlan {
  sessionId: string;
  source: RepositorySource;
  /** Where the clone will be. */
  directory: string;
}

export interface Checkouts {
  /** Names everything before anything is made. Throws CommandRefusal. */
  plan(sessionId: string, source: RepositorySource): CheckoutPlan;
  /** `without`: patterns of what is not checked out; gives the files. Throws refusals and GitError. */
  make(plan: CheckoutPlan, without: readonly string[], signal: AbortSignal): Promise<string[]>;
  /** Removes one that no agent has worked in, however far it was made, and ends the git at work in it. */
  discard(sessionId: string): void;
  /** The directory around a session's clone that a place, free of links, lies in. */
  placeOf(realPath: string): string | undefined;
}

const checkoutMs = 5 * 60_000;
const quickMs = 10_000;

export function createCheckouts(options: CheckoutsOptions): Checkouts {
  const { git, operations } = options;
  const bring = createBringRepository(git, options.codeHosting);
  mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  const top = realpathSync(options.directory);
  const placeOf = (sessionId: string) => join(top, checked(sessionId));

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
      directory: join(placeOf(sessionId), checkSource(source)),
    }),

    make({ sessionId, source, directory }, without, signal) {
      const subject = `${showSource(source)} for ${sessionId}`;
      return operations.run("clone_repository", subject, async (step) => {
        mkdirSync(placeOf(sessionId), { mode: 0o700 });
        await bring(source, { path: directory, options: ["--no-checkout"] }, step, signal);
        step("checking out");
        const within = { deadlineMs: checkoutMs, signal };
        if (without.length > 0) {
          await git.runIn(directory, "sparse-checkout set", { ...within, operands: without });
        }
        // An empty repository has nothing to check out, and can be worked in all the same.
        if (!(await hasCommit(directory, signal))) return [];
        await git.runIn(directory, "checkout", { ...within, options: ["--quiet"] });
        return without.length > 0 ? listLeftOut(git, directory, signal) : [];
      });
    },

    discard(sessionId) {
      const place = placeOf(sessionId);
      endWorkIn(place);
      rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
    },

    placeOf(realPath) {
      if (!realPath.startsWith(`${top}/`)) return undefined;
      return join(top, realPath.slice(top.length + 1).split("/")[0]!);
    },
  };
}

/** An id becomes a directory's name. */
function checked(sessionId: string): string {
  if (/^\w{6,64}$/.test(sessionId)) return sessionId;
  throw new Error(`"${sessionId}" is no session's id.`);
}
