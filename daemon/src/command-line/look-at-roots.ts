// Whether the service can work in the roots: with the rights of this user, or on a separated host with those of the
// Unix users whose sessions use them. The front of a separated host works in no root, so its own rights do not count.
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { readSeparation } from "../separation/separation.ts";
import type { State } from "../state/state.ts";

export interface RootSeen {
  root: string;
  /** Why the service cannot work there, after the root's name. */
  problem?: string;
  /** What some people cannot do there, or what could not be judged, as a sentence. */
  limit?: string;
  repositories: number;
}

export function lookAtRoots(state: State, roots: readonly string[]): RootSeen[] {
  const separation = readSeparation(state);
  if (!separation) return roots.map(lookAtRoot);
  if (roots.length === 0) return [];
  const own = lookAs(separation.own.user, roots);
  const limits = limitsOfPeople(
    separation.people.map(({ user }) => user),
    roots,
  );
  return roots.map((root, index) => {
    const problem = "unknown" in own ? own.unknown : problemIn(own.seen[index]!, own.user);
    const limit = limits[index];
    const repositories = "unknown" in own ? 0 : own.seen[index]!.repositories;
    return { root, repositories, ...(problem && { problem }), ...(limit && { limit }) };
  });
}

function lookAtRoot(root: string): RootSeen {
  const problem = problemOf(root);
  if (problem) return { root, problem, repositories: 0 };
  const isOne = existsSync(join(root, ".git"));
  return { root, repositories: isOne ? 1 : repositoriesIn(root) };
}

function problemOf(root: string): string | undefined {
  try {
    const found = statSync(root, { throwIfNoEntry: false });
    if (!found) return "does not exist";
    if (!found.isDirectory()) return "is not a directory";
    accessSync(root, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return "cannot be read and written by this user";
  }
  return undefined;
}

const repositoriesIn = (root: string) =>
  readdirSync(root).filter((name) => existsSync(join(root, name, ".git"))).length;

interface Seen {
  access: "missing" | "file" | "closed" | "read" | "write";
  repositories: number;
}

type SeenAs = { user: string; seen: Seen[] } | { user: string; unknown: string };

/** Prints a line for each root. The shell's tests ask the system, so they count groups, ACLs and read-only disks. */
const script = `for root do
  if [ ! -e "$root" ]; then echo missing 0; continue; fi
  if [ ! -d "$root" ]; then echo file 0; continue; fi
  if [ ! -r "$root" ] || [ ! -x "$root" ]; then echo closed 0; continue; fi
  count=0
  if [ -e "$root/.git" ]; then count=1; else
    for place in "$root"/*/.git "$root"/.[!.]*/.git; do [ -e "$place" ] && count=$((count + 1)); done
  fi
  if [ -w "$root" ]; then echo write $count; else echo read $count; fi
done`;

const patienceMs = 10_000;

/** What a user sees of the roots. A disk that does not answer must not stop the command for ever. */
function lookAs(user: string, roots: readonly string[]): SeenAs {
  const words = ["-n", "-u", user, "--", "sh", "-c", script, "sh", ...roots];
  const ran = spawnSync("sudo", words, { encoding: "utf8", cwd: "/", timeout: patienceMs });
  const lines = (ran.stdout ?? "").trim().split("\n");
  if (ran.status === 0 && lines.length === roots.length) return { user, seen: lines.map(readLine) };
  const why = ran.error?.message ?? ran.stderr.trim().split("\n")[0];
  return { user, unknown: `could not be checked as the user ${user} (${why})` };
}

function readLine(line: string): Seen {
  const [access, count] = line.split(" ");
  return { access: access as Seen["access"], repositories: Number(count) };
}

function problemIn({ access }: Seen, user: string): string | undefined {
  switch (access) {
    case "missing":
      return `does not exist, or cannot be reached by the user ${user}`;
    case "file":
      return "is not a directory";
    case "write":
      return undefined;
    default:
      return `cannot be read and written by the user ${user}`;
  }
}

/** For each root, which people's sessions cannot use it. They only read it: they work in clones. */
function limitsOfPeople(users: readonly string[], roots: readonly string[]): string[] {
  const barred: string[][] = roots.map(() => []);
  for (const user of users) {
    const found = lookAs(user, roots);
    // The others would most likely wait for the same reason.
    if ("unknown" in found) return roots.map(() => `It ${found.unknown}.`);
    found.seen.forEach(({ access }, index) => {
      if (access !== "read" && access !== "write") barred[index]!.push(user);
    });
  }
  return barred.map((those) => {
    if (those.length === 0) return "";
    const more = those.length > 1 ? ` and ${those.length - 1} more users of people` : "";
    return `It cannot be read by ${those[0]}${more}.`;
  });
}
