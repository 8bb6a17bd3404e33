// Clones a repository onto the host with git: from an address, or through the account of the host's
// code-hosting client. The caller decides where to.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  nameOfRepository,
  objectToCheckoutName,
  objectToCloneUrl,
  objectToHostedRepository,
} from "@hawser/contract";
import type { CodeHosting } from "../code-hosting/code-hosting.ts";
import { GhError } from "../code-hosting/gh.ts";
import type { Access } from "../code-hosting/repositories.ts";
import { CommandRefusal } from "../command-refusal.ts";
import { GitError, type Git } from "../git/git.ts";
import { showRemote } from "../git/redact.ts";
import type { Work } from "../operations.ts";
import type { Policy } from "../policy/policy.ts";
import { explainCloneFailure } from "./clone-failure.ts";
import { followProgress } from "./clone-progress.ts";
import { gitFor, refuseInsecure } from "./insecure-address.ts";

/** Exactly one of `repo`, `url` and `path`. */
export interface RepositorySource {
  repo?: string | undefined;
  url?: string | undefined;
  /** A repository of another Unix user of this host. Callers cannot name one: it comes from a checked directory. */
  path?: string | undefined;
  name?: string | undefined;
}

export type Step = Parameters<Work<void>>[0];

/** Throws CommandRefusal. */
export type BringRepository = (
  source: RepositorySource,
  target: { path: string; options?: readonly string[] },
  step: Step,
  signal: AbortSignal,
) => Promise<void>;

/** Never reached, because the command's signal is aborted earlier; git needs a number nevertheless. */
const longestMs = 60 * 60_000;

export function createBringRepository(git: Git, codeHosting: CodeHosting): BringRepository {
  return async (source, { path, options = [] }, step, signal) => {
    using trust = source.path === undefined ? undefined : trustFor(source.path, path);
    const access = trust ?? (await accessTo(source, codeHosting, signal));
    let said = "";
    const follow = followProgress(step);
    step("asking the server");
    try {
      await git.run("clone", {
        options: ["--progress", ...options],
        operands: [access.url, path],
        settings: access.settings,
        environment: access.environment,
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
  };
}

/**
 * Git refuses repositories of other users, because they could run programs. Cloning runs none, so it is allowed for
 * this one and this call: by a file of settings, which git passes to the process that reads the repository.
 */
function trustFor(repository: string, target: string): Access & Disposable {
  const file = `${target}.gitconfig`;
  const places = [repository, join(repository, ".git")];
  const lines = places.map((place) => `\tdirectory = ${JSON.stringify(place)}\n`);
  writeFileSync(file, `[safe]\n${lines.join("")}`, { mode: 0o600 });
  return {
    url: repository,
    settings: [],
    environment: { GIT_ALLOW_PROTOCOL: "file", GIT_CONFIG_GLOBAL: file },
    [Symbol.dispose]: () => rmSync(file, { force: true }),
  };
}

async function accessTo(
  { repo, url }: RepositorySource,
  codeHosting: CodeHosting,
  signal: AbortSignal,
): Promise<Access> {
  if (repo === undefined) return { url: url!, ...gitFor(url!) };
  try {
    return await codeHosting.accessTo(repo, signal);
  } catch (error) {
    if (error instanceof GhError) throw new CommandRefusal(error.problem, error.message);
    throw error;
  }
}

/** Name of the checkout's directory. Throws CommandRefusal: the control plane's check is not relied on. */
export function checkSource({ repo, url, name: wanted }: RepositorySource, policy: Policy): string {
  if ((repo === undefined) === (url === undefined)) {
    throw new CommandRefusal("unsafe_source", "Exactly one of repo and url must be given.");
  }
  const name = wanted ?? nameOfRepository(repo ?? url ?? "");
  const objections = [
    ["The repository", repo === undefined ? null : objectToHostedRepository(repo)],
    ["The address", url === undefined ? null : objectToCloneUrl(url)],
    ["The directory's name", objectToCheckoutName(name)],
  ] as const;
  for (const [what, objection] of objections) {
    if (objection !== null) throw new CommandRefusal("unsafe_source", `${what} ${objection}.`);
  }
  if (url !== undefined) refuseInsecure(url, policy);
  return name;
}

/** The source as the name of an operation. */
export const showSource = ({ repo, url, path }: RepositorySource) =>
  repo ?? path ?? showRemote(url ?? "") ?? "";
