// Git that agents run by themselves, without asking (decision 0034). Before a prompt they run `git status`,
// `git log`, `ls-files`, `rev-parse`, `remote` and `config` in the session's directory. Whoever may write to
// the repository's own configuration would choose the programs that these commands run. Settings with a
// fixed name are switched off in the environment of agents. A repository with other programs is refused at
// every start, resume and prompt.
//
// Harmless, because those commands never run them: hooks (no command writes an index or a ref), aliases
// (built-in commands win), editors, pagers (there is no terminal), diff and merge programs, and programs of
// a transfer, unless git fetches missing objects by itself.
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Environment } from "../environment.ts";
import { stampOf } from "../find-program.ts";
import { realOf } from "../real-path.ts";
import { commonOf, findRepository, type Repository } from "./find-repository.ts";
import { GitError, settingsEnvironment, type Git } from "./git.ts";

/** For the processes of agents. The user's own values are overridden too: these only cost speed and detail. */
export const agentGitEnvironment: Environment = settingsEnvironment([
  ["core.fsmonitor", "false"],
  // Would run gpg.program.
  ["log.showSignature", "false"],
  // An agent may write files into its directory that git takes for a repository of its own.
  ["safe.bareRepository", "explicit"],
  // A submodule's git would not see this environment.
  ["diff.ignoreSubmodules", "dirty"],
]);

export interface AgentGit {
  /**
   * Finds settings in the configuration of the repository around this directory, and of its submodules, by
   * which an agent's own git would run a program. Returns each with its file, relative to the checkout.
   */
  findPrograms(directory: string): Promise<string[]>;
}

interface Entry {
  /** As git prints it: section and variable in lower case. */
  name: string;
  /** Undefined if the setting has no value, which means true. */
  value: string | undefined;
}

const programs: readonly RegExp[] = [
  /^filter\..*\.(?:clean|smudge|process)$/,
  /^lfs\.extension\./,
  /^core\.virtualfilesystem$/,
  // Names a file that may change after the check.
  /^include(?:if)?\./,
];

/** In a partial clone, `git status` fetches missing objects. */
const fetchesByItself = /^(?:remote\..*\.promisor|extensions\.partialclone)$/;
const programsOfFetch: readonly RegExp[] = [
  /^core\.(?:sshcommand|gitproxy|askpass)$/,
  /^credential\.(?:.*\.)?helper$/,
  /^remote\..*\.(?:uploadpack|vcs)$/,
  /^url\./,
  /^protocol\./,
];

/** What `git lfs install --local` writes: a program of the user's search path. */
const lfs = /^git-lfs (?:clean -- %f|smudge (?:--skip )?-- %f|filter-process(?: --skip)?)$/;
const isLfs = ({ name, value = "" }: Entry) => /^filter\.lfs\.\w+$/.test(name) && lfs.test(value);

const isBoolean = ({ value }: Entry) =>
  value === undefined || /^(?:true|false|yes|no|on|off|\d*)$/i.test(value);

const readMs = 5_000;
const mostKept = 1_000;
const mostRepositories = 2_000;

export function createAgentGit(git: Pick<Git, "run">): AgentGit {
  const known = new Map<string, { stamp: string; entries: Entry[] }>();

  /** Reads one file with git's own parser, again only if the file has changed. Throws GitError. */
  async function read(file: string): Promise<Entry[]> {
    const stamp = stampOf(file);
    if (stamp === undefined) return [];
    const found = known.get(file);
    if (found?.stamp === stamp) return found.entries;
    const options = [`--file=${file}`];
    const text = await git.run("config --list", { options, deadlineMs: readMs });
    const entries = text.split("\0").slice(0, -1).map(parseEntry);
    if (known.size >= mostKept) known.clear();
    known.set(file, { stamp, entries });
    return entries;
  }

  async function judge(
    repository: Repository,
    { within, isSubmodule }: { within: Repository; isSubmodule: boolean },
  ): Promise<string[]> {
    const found: string[] = [];
    const all: { file: string; entry: Entry }[] = [];
    for (const file of configFiles(repository)) {
      try {
        all.push(...(await read(file)).map((entry) => ({ file, entry })));
      } catch (error) {
        // Without git there is none that an agent could run.
        if (error instanceof GitError && error.reason === "git_missing") continue;
        found.push(`a file that git cannot read (${labelOf(file, within)})`);
      }
    }
    const fetches = all.some(({ entry }) => fetchesByItself.test(entry.name));
    const patterns = fetches ? [...programs, ...programsOfFetch] : programs;
    for (const { file, entry } of all) {
      const isNamed = patterns.some((pattern) => pattern.test(entry.name)) && !isLfs(entry);
      const isMonitor = isSubmodule && entry.name === "core.fsmonitor" && !isBoolean(entry);
      if (isNamed || isMonitor) found.push(`${entry.name} (${labelOf(file, within)})`);
    }
    return found;
  }

  /** Submodules with files in the working tree or in git's own directory. */
  async function submodulesOf({ top, own, common }: Repository): Promise<Repository[]> {
    const entries = await read(join(top, ".gitmodules")).catch(() => []);
    const places = entries
      .filter(({ name }) => /^submodule\..*\.path$/.test(name))
      .map(({ value = "" }) => resolve(top, value));
    const checkedOut = places
      .filter((place) => existsSync(join(place, ".git")))
      .map((place) => findRepository(place));
    const kept = [...new Set([own, common])].flatMap((folder) =>
      gitDirectoriesBelow(join(folder, "modules")),
    );
    return [
      ...checkedOut.filter((repository) => repository !== undefined),
      ...kept.map((folder) => ({ top: folder, own: folder, common: commonOf(folder) })),
    ];
  }

  return {
    async findPrograms(directory) {
      const repository = findRepository(directory);
      const outer = [...(repository ? [repository] : []), ...bareAround(directory)];
      const [within] = outer;
      if (!within) return [];
      const found: string[] = [];
      for (const each of outer) found.push(...(await judge(each, { within, isSubmodule: false })));
      const waiting = repository ? await submodulesOf(repository) : [];
      const seen = new Set(outer.map(({ own }) => own));
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        if (seen.has(next.own)) continue;
        seen.add(next.own);
        if (seen.size > mostRepositories)
          return [...found, `more than ${mostRepositories} submodules`];
        found.push(...(await judge(next, { within, isSubmodule: true })));
        waiting.push(...(await submodulesOf(next)));
      }
      return [...new Set(found)];
    },
  };
}

/** Callers learn nothing about where the host keeps the repository. */
function labelOf(file: string, { top, common }: Repository): string {
  const isBelow = (path: string) => !path.startsWith("..");
  const inGit = relative(common, file);
  if (isBelow(inGit)) return join(".git", inGit);
  const inTree = relative(top, file);
  return isBelow(inTree) ? inTree : basename(file);
}

function parseEntry(text: string): Entry {
  const at = text.indexOf("\n");
  if (at < 0) return { name: text, value: undefined };
  return { name: text.slice(0, at), value: text.slice(at + 1) };
}

const configFiles = ({ own, common }: Repository) => [
  ...new Set([
    join(common, "config"),
    join(common, "config.worktree"),
    join(own, "config.worktree"),
  ]),
];

/** Directories from here to the top of the checkout that git takes for a repository of their own. */
function bareAround(directory: string): Repository[] {
  const found: Repository[] = [];
  for (let at = realOf(directory); ; at = dirname(at)) {
    if (existsSync(join(at, "HEAD"))) {
      found.push({ top: at, own: at, common: commonOf(at) });
    }
    if (existsSync(join(at, ".git")) || at === dirname(at)) return found;
  }
}

/** The name of a submodule may contain slashes. */
function gitDirectoriesBelow(folder: string, depth = 0): string[] {
  if (depth > 20) return [];
  return namesIn(folder).flatMap((name) => {
    const place = join(folder, name);
    if (!statSync(place, { throwIfNoEntry: false })?.isDirectory()) return [];
    return existsSync(join(place, "HEAD")) ? [place] : gitDirectoriesBelow(place, depth + 1);
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
