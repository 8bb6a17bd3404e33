// `hawserd roots`: the directories in which the service may work, as the policy file lists them.
import { resolve } from "node:path";
import { addRoot, removeRoot } from "../policy/edit-roots.ts";
import { createPolicy, type Policy } from "../policy/policy.ts";
import type { State } from "../state/state.ts";
import { CommandFailed, UsageError, type CommandLine } from "./command.ts";
import { lookAtRoots, type RootSeen } from "./look-at-roots.ts";
import { print } from "./print.ts";

export const roots: CommandLine = {
  summary: "lists, adds or removes the directories in which the service may work",
  usage: "roots [add <directory> | remove <directory>]",
  words: 2,
  run({ state, words: [verb, directory] }) {
    const { policyPath } = state;
    if (verb === undefined) return list(state);
    if (!directory || !["add", "remove"].includes(verb)) {
      throw new UsageError('After "roots", write nothing, or "add" or "remove" and a directory.');
    }
    const place = resolve(directory);
    requireParsed(policyPath);
    if (verb === "add") {
      const { problem } = lookAtRoots(state, [place])[0]!;
      if (problem) throw new CommandFailed(`${place} ${problem}.`);
      try {
        addRoot(policyPath, place);
      } catch (cause) {
        throw new CommandFailed((cause as Error).message, { cause });
      }
    } else if (!removeRoot(policyPath, place)) {
      throw new CommandFailed(`${place} is not a root. To list the roots, run: hawserd roots`);
    }
    list(state);
  },
};

function list(state: State): void {
  const { roots: found } = requireParsed(state.policyPath);
  if (found.length === 0) print("There are no roots. Add one with: hawserd roots add DIR");
  for (const seen of lookAtRoots(state, found)) print(describeRoot(seen));
}

/** Throws CommandFailed if the file exists but cannot be read: editing it would lose what its owner wrote. */
export function requireParsed(policyPath: string): Policy {
  const policy = createPolicy(policyPath).read();
  const problem = policy.problems.find(({ code }) => code !== "policy_missing");
  if (problem) throw new CommandFailed(problem.message);
  return policy;
}

/** A root on one line, with its contents or what is wrong with it. */
export function describeRoot({ root, problem, limit, repositories }: RootSeen): string {
  const found = repositories === 1 ? "1 repository" : `${repositories} repositories`;
  return [`${root}  (${problem ?? found})`, limit].filter(Boolean).join("  ");
}
