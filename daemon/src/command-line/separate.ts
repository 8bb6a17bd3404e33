// `hawserd separate`: the installer runs it as root, if agents of each person are to run as a Unix user of their own.
import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { policyText } from "../policy/policy.ts";
import { CannotSeparate, makeUsers } from "../separation/make-users.ts";
import { replaceText } from "../state/replace-file.ts";
import { separationPath } from "../state/state.ts";
import { CommandFailed, UsageError, type CommandLine } from "./command.ts";
import { print } from "./print.ts";

const usualPeople = 8;
const mostPeople = 200;

export const separate: CommandLine = {
  usage: "separate --own <user> [--people <number>] [--name <user>] [--root <directory> …]",
  summary:
    "lets agents of each person run as a Unix user of their own; the installer runs this as root",
  options: {
    own: { type: "string" },
    people: { type: "string" },
    name: { type: "string" },
    root: { type: "string", multiple: true },
  },
  run({ directory, options }) {
    const { own, people = `${usualPeople}`, name = "hawser", root = [] } = options;
    if (!own) throw new UsageError("separate needs --own.");
    const count = Number(people);
    if (!(Number.isInteger(count) && count >= 1 && count <= mostPeople)) {
      throw new UsageError(`--people must be a number from 1 to ${mostPeople}.`);
    }
    if (!/^[a-z_][a-z0-9_-]{0,25}$/.test(String(name))) {
      throw new UsageError("--name must be a name for a Unix user, of at most 26 characters.");
    }
    // Other users need what this makes, also if root's own files are closed to them.
    process.umask(0o022);
    // Later the directory is the front's, and root writes nothing there.
    if (!existsSync(separationPath(directory))) {
      const text = policyText((root as string[]).map((each) => resolve(each)));
      // Workers of all users read it. Only the front can write it, and the front runs no agent.
      replaceText(join(directory, "policy"), text, 0o644);
    }
    try {
      const made = makeUsers({ directory, name: String(name), own: String(own), people: count });
      warnAboutHome(String(own));
      print(
        `The daemon runs as ${String(name)}. Agents with the host's own logins run as ${String(own)}, and those of people as ${made.people.length} further users.`,
      );
    } catch (error) {
      if (error instanceof CannotSeparate) throw new CommandFailed(error.message);
      throw error;
    }
  },
};

/** The logins of the host's own agents are in that home. */
function warnAboutHome(user: string): void {
  const home = execFileSync("getent", ["passwd", user], { encoding: "utf8" }).split(":")[5]!;
  const found = statSync(home, { throwIfNoEntry: false });
  if (!found || (found.mode & 0o077) === 0) return;
  print(
    `Other users may enter ${home}. Close it to them, if that is not wanted: chmod 700 ${home}`,
  );
}
