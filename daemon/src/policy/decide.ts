// Decides about every call of every agent: allow it, deny it, or ask a person. Pure, apart from following
// links of paths, because a path counts by where it really leads. Drivers run their agent so that each call
// comes here before it has an effect; a mode of a session changes only what is answered here.
//
// The order: what is denied in every mode, then what the mode allows, then a person; in mode `unattended`
// nobody is asked, so what would need a person is denied.
import { homedir } from "node:os";
import type { AgentPolicy, SessionMode } from "@hawser/contract";
import type { Call, Decision } from "./call.ts";
import { longestCovering, readRule, whyHeld } from "./command-rules.ts";
import { lookOnce, realOf } from "../real-path.ts";
import {
  canExist,
  isPlainDevice,
  isSystemPath,
  mostPaths,
  pathsBesideUrls,
  pathsIn,
} from "./named-paths.ts";
import { absolutePath, contains, locatePath, placesOf, type Location } from "./path-location.ts";
import { readShellText, type NamedWord, type Segment } from "./shell-text.ts";

/** What calls of one session are decided by. */
export interface Rules extends AgentPolicy {
  mode: SessionMode;
  /** Directory of the session. */
  directory: string;
  /** The kind's commands run in a sandbox that confines them to the directory. */
  hasSandbox: boolean;
  /** The host's owner says that unattended sessions may run any command as this user. */
  unattendedCommands: boolean;
  /** Directories of the daemon and of the agents: no agent changes them. */
  ownDirectories: readonly string[];
  /** Temporary files of agents. Not among the secrets, although the daemon keeps them. */
  temporaryDirectory: string;
  /** Copies of configuration that the organization trusts: the session's agent may read them. */
  trustedDirectory?: string | undefined;
  /** Home of the host's user, for `~` in commands. The home of the daemon's user if undefined. */
  home?: string;
  /** Files and directories with secrets of the host's user: no agent reads or changes them. */
  secrets: readonly string[];
}

export function decide(rules: Rules, call: Call): Decision {
  const decision = lookOnce(() => decideUnlessPlanning(rules, call));
  if (decision.answer === "allow" && call.isPlanning && hasEffect.has(call.type))
    return needsPerson(rules, "the agent is planning, so this needs permission");
  return decision;
}

const hasEffect = new Set<Call["type"]>(["execute", "edit", "fetch", "mcp", "agent", "other"]);

function decideUnlessPlanning(rules: Rules, call: Call): Decision {
  switch (call.type) {
    case "note":
      return allow("it has no effect outside the conversation");
    case "question":
      return needsPerson(rules, "the agent asks a question");
    case "read":
      return decideRead(rules, call.paths, call.attachments);
    case "edit":
      return decideEdit(rules, call.paths, call.leavesSandbox);
    case "execute":
      return decideCommand(rules, call);
    case "fetch":
      return needsPerson(rules, "fetching from the network needs permission");
    case "mcp":
      return needsPerson(
        rules,
        `the tool ${call.tool} of the server ${call.server} needs permission`,
      );
    case "agent":
      return decideAgent(rules, call);
    case "other":
      return needsPerson(rules, `the tool ${call.tool} needs permission`);
    default:
      throw new Error(`Not a call: ${JSON.stringify(call satisfies never)}`);
  }
}

function decideRead(
  rules: Rules,
  paths: readonly string[],
  attachments: readonly string[] = [],
): Decision {
  if (paths.length > 0 && paths.every((path) => attachments.includes(path)))
    return allow("reading an attachment of the prompt");
  const { directory, trustedDirectory: trusted } = rules;
  const isTrusted = (path: string) =>
    placesOf(absolutePath(directory, path)).every((place) => contains(realOf(trusted!), place));
  if (trusted !== undefined && paths.length > 0 && paths.every(isTrusted))
    return allow("reading configuration that the organization trusts");
  const floor = denyFloor(rules, rules.secrets, paths);
  if (floor) return floor;
  if (paths.length === 0) return needsPerson(rules, "what it reads is unknown");
  const isInside = (path: string) => locatePath(rules.directory, path) !== "outside";
  return paths.every(isInside) ? allow("reading inside the session's directory") : outside(rules);
}

function decideEdit(rules: Rules, paths: readonly string[], leavesSandbox = false): Decision {
  const floor = denyFloor(rules, [...rules.secrets, ...rules.ownDirectories], paths);
  if (floor) return floor;
  if (paths.length === 0) return needsPerson(rules, "what it changes is unknown");
  const places = paths.map((path) => locatePath(rules.directory, path));
  if (places.includes("outside")) return outside(rules);
  const protectedPlace = decideProtected(rules, places);
  if (protectedPlace) return protectedPlace;
  if (leavesSandbox) return needsPerson(rules, "leaving the sandbox needs permission");
  return allow("changing files inside the session's directory");
}

/** Changes of these need a person, although they are inside. */
function decideProtected(rules: Rules, places: readonly Location[]): Decision | undefined {
  if (places.includes("git")) return needsPerson(rules, "git runs files in its own directory");
  if (places.includes("config")) return needsPerson(rules, "agents obey their configuration files");
  return undefined;
}

function decideAgent(rules: Rules, call: Extract<Call, { type: "agent" }>): Decision {
  if (call.hasOwnPermissions)
    return deny(`the host's settings of the agent give the sub-agent ${call.name} permissions`);
  if (call.reads?.length) {
    const reading = decideRead(rules, call.reads);
    if (reading.answer !== "allow") return reading;
  }
  return needsPerson(rules, "starting a sub-agent needs permission");
}

function outside(rules: Rules, path?: string): Decision {
  const what = path === undefined ? "" : `: ${path.slice(0, 200)}`;
  const rule = `outside the session's directory${what}`;
  return rules.outsideWorktree === "refuse" ? deny(rule) : needsPerson(rules, rule);
}

function decideCommand(rules: Rules, call: Extract<Call, { type: "execute" }>): Decision {
  const { command, cwd, leavesSandbox } = call;
  const { segments, opaque, isCutOff, names } = readShellText(command);
  const floor = denyCommand(rules, names, cwd, call.attachments);
  if (floor) return floor;
  // Inside a sandbox, its walls decide about paths.
  if (!rules.hasSandbox) {
    if (isCutOff && !rules.allowedCommands.includes(command))
      return needsPerson(rules, `no rule allows the command: ${opaque}`);
    if (uniquePaths(rules, names).length === mostPaths)
      return needsPerson(rules, "it names too many paths to be checked");
  }
  const isInside = cwd !== undefined && locatePath(rules.directory, cwd) === "inside";
  if (!isInside && rules.outsideWorktree === "refuse") return outside(rules);
  if (leavesSandbox) {
    const rule = "leaving the sandbox needs permission";
    return rules.outsideWorktree === "refuse" ? deny(rule) : needsPerson(rules, rule);
  }
  const covering = isInside ? coveringRule(rules, command, segments, opaque, cwd) : undefined;
  if (!rules.hasSandbox) {
    const unnamed = names.filter((word) => !covering?.names(word));
    const stopped = decideNames(rules, unnamed, cwd, call.attachments);
    if (stopped) return stopped;
  }
  if (covering) return allow(`the organization allows the command ${covering.rule}`);
  if (rules.mode !== "ask" && rules.hasSandbox && isInside)
    return allow("commands run in the agent's sandbox");
  if (rules.mode === "unattended" && rules.unattendedCommands && isInside)
    return allow("the host's owner allows unattended commands");
  const why = opaque ?? segments.map(({ words }) => whyHeld(words)).find(Boolean);
  return needsPerson(rules, `no rule allows the command${why === undefined ? "" : `: ${why}`}`);
}

/** Decides about the paths that a command names as about a file tool's; undefined if none needs that. */
function decideNames(
  rules: Rules,
  names: readonly NamedWord[],
  cwd = rules.directory,
  attachments: readonly string[] = [],
): Decision | undefined {
  const { directory, home = homedir() } = rules;
  let inside: Decision | undefined;
  const seenWords = new Set<string>();
  const seen = new Set<string>();
  for (const { text, use } of names) {
    if (use === "run" || use === "text" || seenWords.has(`${use} ${text}`)) continue;
    seenWords.add(`${use} ${text}`);
    const mayWrite = use !== "read" && !excluding.test(text);
    for (const path of pathsBesideUrls(text, home)) {
      const key = `${use} ${path}`;
      if (seen.has(key) || isPlainDevice(path)) continue;
      seen.add(key);
      if (use !== "redirect" && attachments.includes(path)) continue;
      const absolute = absolutePath(cwd, path);
      const location = locatePath(directory, absolute);
      const isWritten = use === "redirect" || use === "change";
      if (location === "outside") {
        const isExempt = !isWritten && !canExist(path);
        if (!isExempt && (isWritten || !isSystemPath(absolute))) return outside(rules, path);
      } else if (mayWrite) {
        inside ??= decideProtected(rules, [location]);
      }
    }
  }
  return inside;
}

/** Options that name what a program leaves alone. */
const excluding = /^--?(exclude|ignore|prune|skip)[\w-]*(=(?!.*\/\.\.\/).*)?$/s;

/** What covers a command. */
interface Covering {
  rule: string;
  /** Whether the rule itself names this word, so whoever wrote the rule has allowed its path. */
  names(word: NamedWord): boolean;
}

/** The rules that cover the command; undefined if they do not cover all of it. */
function coveringRule(
  rules: Rules,
  command: string,
  segments: readonly Segment[],
  opaque: string | undefined,
  cwd: string,
): Covering | undefined {
  // The whole text stands among the rules, so whoever wrote the rule has read all of it.
  if (rules.allowedCommands.includes(command)) return { rule: command, names: () => true };
  if (opaque !== undefined) return undefined;
  const covering = new Map<Segment, { rule: string; length: number } | undefined>();
  const programs = new Set(segments.map(({ words }) => words[0]));
  const known = rules.allowedCommands.flatMap((rule) => readRule(rule, programs));
  const same = Map.groupBy(segments, ({ words }) => JSON.stringify(words));
  for (const equal of same.values()) {
    const found = longestCovering(known, equal[0]!.words);
    for (const segment of equal) covering.set(segment, found);
  }
  const found = [...covering.values()];
  if (!found.every((each) => each !== undefined)) return undefined;
  const stays = segments
    .flatMap(({ redirects }) => redirects)
    .every(
      ({ path }) =>
        path === "/dev/null" || locatePath(rules.directory, absolutePath(cwd, path)) === "inside",
    );
  if (rules.hasSandbox && !stays) return undefined;
  return {
    rule: [...new Set(found.map(({ rule }) => rule))].join(", "),
    names: ({ segment, at }) => segment !== undefined && at! < covering.get(segment)!.length,
  };
}

/** Denies a command that names a closed path. Not a wall: a path that is computed at run time is not seen. */
function denyCommand(
  rules: Rules,
  names: readonly NamedWord[],
  cwd = rules.directory,
  attachments: readonly string[] = [],
): Decision | undefined {
  const { secrets, ownDirectories, hasSandbox } = rules;
  const pathsOf = (uses: readonly NamedWord["use"][]) =>
    uniquePaths(
      rules,
      names.filter(({ use }) => uses.includes(use)),
    );
  const written = pathsOf(["redirect"]);
  const named = pathsOf(["run", "text", "read", "change", "any"]).filter(
    (path) => !attachments.includes(path),
  );
  // A sandbox keeps the agents' files from changes, and its agent reads its own skills by commands.
  const changed = hasSandbox ? written : [...written, ...pathsOf(["change", "any"])];
  const absolute = (path: string) => absolutePath(cwd, path);
  return (
    denyFloor(rules, [...secrets, ...ownDirectories], [cwd]) ??
    denyFloor(rules, secrets, [...named, ...written].map(absolute)) ??
    denyFloor(rules, ownDirectories, changed.map(absolute))
  );
}

/** At most as many as are checked. */
function uniquePaths({ home = homedir() }: Rules, names: readonly NamedWord[]): string[] {
  const paths = new Set<string>();
  for (const text of new Set(names.map((word) => word.text))) {
    for (const path of pathsIn(text, home)) paths.add(path);
    if (paths.size >= mostPaths) break;
  }
  return [...paths].slice(0, mostPaths);
}

/** Denied in every mode: what lies below a protected path, except in these two directories. */
function denyFloor(
  { directory, temporaryDirectory }: Rules,
  protectedPaths: readonly string[],
  paths: readonly string[],
): Decision | undefined {
  const places = [...new Set(paths.flatMap((path) => placesOf(absolutePath(directory, path))))];
  const exceptions = [directory, temporaryDirectory].map(realOf);
  const found = protectedPaths.find((path) => {
    const closed = realOf(path);
    const open = exceptions.filter((each) => contains(closed, each));
    return places.some(
      (place) => contains(closed, place) && !open.some((each) => contains(each, place)),
    );
  });
  return found === undefined ? undefined : deny(`${found} is closed to agents`);
}

const allow = (rule: string): Decision => ({ answer: "allow", rule });
const deny = (rule: string): Decision => ({ answer: "deny", rule });

function needsPerson({ mode }: Rules, rule: string): Decision {
  if (mode === "unattended") return deny(`${rule}, and in mode unattended no person is asked`);
  return { answer: "ask", rule };
}
