// `hawserd roots`: the directories in which the service may work, as the policy file lists them.
import { accessSync, constants, existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { addRoot, removeRoot } from "../policy/edit-roots.ts";
import { createPolicy, type Policy } from "../policy/policy.ts";
import { CommandFailed, UsageError, type CommandLine } from "./command.ts";
import { print } from "./print.ts";

export const roots: CommandLine = {
  summary: "lists, adds or removes the directories in which the service may work",
  usage: "roots [add <directory> | remove <directory>]",
  words: 2,
  run({ state, words: [verb, directory] }) {
    const { policyPath } = state;
    if (verb === undefined) return list(policyPath);
    if (!directory || !["add", "remove"].includes(verb)) {
      throw new UsageError('After "roots", write nothing, or "add" or "remove" and a directory.');
    }
    const place = resolve(directory);
    requireParsed(policyPath);
    if (verb === "add") {
      const problem = problemOf(place);
      if (problem) throw new CommandFailed(`${place} ${problem}.`);
      try {
        addRoot(policyPath, place);
      } catch (cause) {
        throw new CommandFailed((cause as Error).message, { cause });
      }
    } else if (!removeRoot(policyPath, place)) {
      throw new CommandFailed(`${place} is not a root. To list the roots, run: hawserd roots`);
    }
    list(policyPath);
  },
};

function list(policyPath: string): void {
  const { roots: found } = requireParsed(policyPath);
  if (found.length === 0) print("There are no roots. Add one with: hawserd roots add DIR");
  for (const root of found) print(describeRoot(root));
}

/** Throws CommandFailed if the file exists but cannot be read: editing it would lose what its owner wrote. */
export function requireParsed(policyPath: string): Policy {
  const policy = createPolicy(policyPath).read();
  const problem = policy.problems.find(({ code }) => code !== "policy_missing");
  if (problem) throw new CommandFailed(problem.message);
  return policy;
}

/** A root on one line, with its contents or what is wrong with it. */
export function describeRoot(root: string): string {
  const problem = problemOf(root);
  if (problem) return `${root}  (${problem})`;
  const count = existsSync(join(root, ".git")) ? 1 : repositoriesIn(root);
  return `${root}  (${count === 1 ? "1 repository" : `${count} repositories`})`;
}

/** Why the service cannot work in a directory. */
export function problemOf(root: string): string | undefined {
  const found = statSync(root, { throwIfNoEntry: false });
  if (!found) return "does not exist";
  if (!found.isDirectory()) return "is not a directory";
  try {
    accessSync(root, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return "cannot be read and written by this user";
  }
  return undefined;
}

const repositoriesIn = (root: string) =>
  readdirSync(root).filter((name) => existsSync(join(root, name, ".git"))).length;
