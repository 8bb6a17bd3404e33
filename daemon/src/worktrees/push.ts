// Pushes a session's commits. The address is the one that origin had when the session began, before an
// agent could change it. Git receives it under a random name, so that settings which the agent wrote for
// known remotes have no effect. Only commits are pushed, to one branch that we name.
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import type { CodeHosting, HostedOrigin } from "../code-hosting/code-hosting.ts";
import { GhError } from "../code-hosting/gh.ts";
import { compareUrl } from "../code-hosting/hosted-place.ts";
import { CommandRefusal } from "../command-refusal.ts";
import { isBranchName } from "../git/branch-name.ts";
import { GitError, type Git, type GitCall } from "../git/git.ts";
import { countChanges, headOf } from "./commits.ts";
import { explainPushFailure } from "./push-failure.ts";

export interface WantedPush {
  /** The top of the working tree. */
  directory: string;
  /** The recorded address; it may contain credentials and never leaves the host. */
  origin: string;
  branch: string;
  /** Whether to push with the code-hosting client's account, whatever other accounts git knows. */
  viaClient: boolean;
  /** Null if no pull request is wanted. */
  pullRequest: { title: string; body: string } | null;
}

export interface Pushed {
  /** What was pushed. */
  commit: string;
  branch: string;
  uncommittedChanges: number;
  pullRequestUrl: string | null;
  pullRequestError: string | null;
  compareUrl: string | null;
}

type Outcome = Omit<Pushed, "uncommittedChanges">;

export interface Pushes {
  /** The current address of origin; undefined if there is none, or git must not work in the repository. */
  readOrigin(directory: string, signal: AbortSignal): Promise<string | null>;
  /** The same, of a repository of another Unix user: git does not work in it, and only reads its file of settings. */
  readOriginOfOther(repository: string, signal: AbortSignal): Promise<string | null>;
  /** What git needs to fetch from an address: the code-hosting client's account if it knows one. */
  findAccess(
    origin: string,
    signal: AbortSignal,
  ): Promise<Pick<GitCall, "settings" | "environment">>;
  /** Throws CommandRefusal if nothing was pushed. */
  push(wanted: WantedPush, signal: AbortSignal): Promise<Pushed>;
}

/** Never reached, because the command's signal is aborted earlier; git needs a number nevertheless. */
const longestMs = 10 * 60_000;
const quickMs = 20_000;

export function createPushes(options: { git: Git; codeHosting: CodeHosting }): Pushes {
  const { git, codeHosting } = options;

  /** The pushes that run, by directory and branch. */
  const running = new Map<string, { wish: string; done: Promise<Outcome> }>();

  /**
   * A call that was answered before its push ended is repeated. So the same push is not begun a second time
   * while it runs: the later call gets its outcome. Another push of the branch waits for its end.
   */
  async function push(wanted: WantedPush, signal: AbortSignal): Promise<Pushed> {
    const { directory, branch } = wanted;
    if (!isBranchName(branch)) throw new Error(`"${branch}" is no branch of ours.`);
    const key = `${directory}\0${branch}`;
    for (;;) {
      const uncommittedChanges = await countChanges(git, directory, signal).catch(
        (error: unknown) => {
          throw asRefusal(error, directory);
        },
      );
      const commit = await tipOf(directory, signal);
      const wish = JSON.stringify([commit, wanted]);
      const other = running.get(key);
      if (!other) {
        const done = pushCommit(wanted, commit, signal).finally(() => running.delete(key));
        running.set(key, { wish, done });
        return { ...(await done), uncommittedChanges };
      }
      if (other.wish === wish)
        return { ...(await unlessAborted(other.done, signal)), uncommittedChanges };
      await unlessAborted(
        other.done.catch(() => {}),
        signal,
      );
    }
  }

  async function pushCommit(
    wanted: WantedPush,
    commit: string,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { origin, branch, pullRequest } = wanted;
    const found = await findHosted(origin, signal);
    const hosted = found instanceof GhError ? undefined : found;
    await send(wanted, commit, hosted, signal);
    const without = (pullRequestError: string) => ({
      commit,
      branch,
      pullRequestUrl: null,
      pullRequestError,
      compareUrl: hosted ? compareUrl(hosted.place, branch) : null,
    });
    if (!pullRequest) return without("not_requested");
    if (found instanceof GhError) return without(found.message);
    if (!hosted) return without("not_a_hosting_provider");
    const provided = await hosted.providePullRequest({ branch, ...pullRequest }, signal);
    if ("error" in provided) return without(provided.error);
    return { ...without(""), pullRequestUrl: provided.url, pullRequestError: null };
  }

  /** A failure of the client does not fail the push. */
  async function findHosted(
    origin: string,
    signal: AbortSignal,
  ): Promise<HostedOrigin | GhError | undefined> {
    try {
      return await codeHosting.findOrigin(origin, signal);
    } catch (error) {
      if (error instanceof GhError) return error;
      throw error;
    }
  }

  async function tipOf(directory: string, signal: AbortSignal): Promise<string> {
    const tip = await headOf(git, directory, signal).catch((error: unknown) => {
      throw asRefusal(error, directory);
    });
    if (tip !== null) return tip;
    throw new CommandRefusal("push_failed", "The session has no commit to push. Make one first.");
  }

  async function send(
    { directory, origin, branch, viaClient }: WantedPush,
    commit: string,
    hosted: HostedOrigin | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const remote = `hawser-${randomUUID()}`;
    const { settings = [], environment = {} } = hosted?.access ?? {};
    // The empty entry removes the user's own helpers, which may know another account.
    const forget = viaClient ? settings.map(([name]) => [name, ""] as const) : [];
    let said = "";
    try {
      await git.runIn(directory, "push", {
        options: ["--no-follow-tags", "--no-progress"],
        operands: [remote, `${commit}:refs/heads/${branch}`],
        settings: [[`remote.${remote}.url`, origin], ...forget, ...settings],
        environment,
        onSaid: (text) => (said = (said + text).slice(-16_384)),
        deadlineMs: longestMs,
        signal,
      });
    } catch (error) {
      if (!(error instanceof GitError) || error.reason !== "failed")
        throw asRefusal(error, directory);
      throw new CommandRefusal("push_failed", explainPushFailure(said, branch));
    }
  }

  return {
    push,
    async findAccess(origin, signal) {
      const found = await findHosted(origin, signal);
      return found === undefined || found instanceof GhError ? {} : found.access;
    },
    async readOrigin(directory, signal) {
      try {
        const call = { operands: ["remote.origin.url"], deadlineMs: quickMs, signal };
        const [origin = ""] = (await git.runIn(directory, "config", call)).split("\0");
        return origin === "" ? null : origin;
      } catch (error) {
        if (error instanceof GitError) return null;
        throw error;
      }
    },
    async readOriginOfOther(repository, signal) {
      try {
        const options = [`--file=${join(repository, ".git/config")}`];
        const text = await git.run("config --list", { options, deadlineMs: quickMs, signal });
        const name = "remote.origin.url\n";
        return (
          text
            .split("\0")
            .find((each) => each.startsWith(name))
            ?.slice(name.length) ?? null
        );
      } catch (error) {
        if (error instanceof GitError) return null;
        throw error;
      }
    },
  };
}

/** Throws CommandRefusal if the signal is aborted first. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () =>
      reject(
        new CommandRefusal("push_failed", "An earlier push of the session did not end in time."),
      );
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** Removes paths of the host, which callers cannot use. */
function asRefusal(error: unknown, directory: string): unknown {
  if (!(error instanceof GitError)) return error;
  const code = error.reason === "unsafe_repository" ? error.reason : "push_failed";
  return new CommandRefusal(code, error.message.replaceAll(directory, "of the session"));
}
