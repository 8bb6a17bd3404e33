// Decides about every call of every agent: allow it, deny it, or ask a person. Pure, apart from following
// links of paths, because a path counts by where it really leads. Drivers run their agent so that each call
// comes here before it has an effect; a mode of a session changes only what is answered here.
//
// The order: what is denied in every mode, then what the mode allows, then a person; in mode `unattended`
// nobody is asked, so what would need a person is denied.
import type { AgentPolicy, SessionMode } from "@hawser/contract";
import type { Call, Decision } from "./call.ts";
import { heldWords } from "./command-options.ts";
import { absolutePath, isBelow, locatePath, placesOf } from "./path-location.ts";
import { readShellText, type Segment } from "./shell-text.ts";

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
  /** Files and directories with secrets of the host's user: no agent reads or changes them. */
  secrets: readonly string[];
}

export function decide(rules: Rules, call: Call): Decision {
  const decision = decideUnlessPlanning(rules, call);
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
  if (places.includes("git")) return needsPerson(rules, "git runs files in its own directory");
  if (places.includes("config")) return needsPerson(rules, "agents obey their configuration files");
  if (leavesSandbox) return needsPerson(rules, "leaving the sandbox needs permission");
  return allow("changing files inside the session's directory");
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

function outside(rules: Rules): Decision {
  const rule = "outside the session's directory";
  return rules.outsideWorktree === "refuse" ? deny(rule) : needsPerson(rules, rule);
}

function decideCommand(rules: Rules, call: Extract<Call, { type: "execute" }>): Decision {
  const { command, cwd, leavesSandbox } = call;
  const { segments, opaque } = readShellText(command);
  const floor = denyCommand(rules, segments, cwd, call.attachments);
  if (floor) return floor;
  const isInside = cwd !== undefined && locatePath(rules.directory, cwd) === "inside";
  if (!isInside && rules.outsideWorktree === "refuse") return outside(rules);
  if (leavesSandbox) {
    const rule = "leaving the sandbox needs permission";
    return rules.outsideWorktree === "refuse" ? deny(rule) : needsPerson(rules, rule);
  }
  const covering = isInside ? coveringRule(rules, command, segments, opaque, cwd) : undefined;
  if (covering !== undefined) return allow(`the organization allows the command ${covering}`);
  if (rules.mode !== "ask" && rules.hasSandbox && isInside)
    return allow("commands run in the agent's sandbox");
  if (rules.mode === "unattended" && rules.unattendedCommands && isInside)
    return allow("the host's owner allows unattended commands");
  const why = opaque ?? segments.map(({ words }) => whyHeld(words)).find(Boolean);
  return needsPerson(rules, `no rule allows the command${why === undefined ? "" : `: ${why}`}`);
}

/** The rules that cover the command; undefined if they do not cover all of it. */
function coveringRule(
  rules: Rules,
  command: string,
  segments: readonly Segment[],
  opaque: string | undefined,
  cwd: string,
): string | undefined {
  // The whole text stands among the rules, so whoever wrote the rule has read all of it.
  if (rules.allowedCommands.includes(command)) return command;
  if (opaque !== undefined) return undefined;
  const covering = segments.map(({ words }) =>
    rules.allowedCommands.find((rule) => covers(rule, words)),
  );
  if (covering.includes(undefined)) return undefined;
  const stays = segments
    .flatMap(({ redirects }) => redirects)
    .every(
      ({ path }) =>
        path === "/dev/null" || locatePath(rules.directory, absolutePath(cwd, path)) === "inside",
    );
  return stays ? [...new Set(covering)].join(", ") : undefined;
}

function whyHeld(words: Segment["words"]): string | undefined {
  const [at] = heldWords(words);
  return at === undefined
    ? undefined
    : `${words[0]} can run a program or write a file with ${words[at]?.slice(0, 80)}`;
}

/** Whether a rule covers a command. A rule that ends with ` *` covers any arguments that are not held. */
function covers(rule: string, words: readonly (string | null)[]): boolean {
  const { segments, opaque } = readShellText(rule.replace(/ \*$/, ""));
  const wanted = segments[0]?.words;
  if (!wanted || segments[0]!.redirects.length > 0) return false;
  // A rule such as `sh *` cannot be read completely, and covers what it names all the same.
  if (opaque !== undefined && wanted.includes(null)) return false;
  if (rule.endsWith(" *") ? words.length < wanted.length : words.length !== wanted.length)
    return false;
  if (!wanted.every((word, at) => word === words[at])) return false;
  return heldWords(words).every((at) => at < wanted.length);
}

/** The paths among a command's words. Not a wall: only what is written as a path is seen. */
function denyCommand(
  rules: Rules,
  segments: readonly Segment[],
  cwd = rules.directory,
  attachments: readonly string[] = [],
): Decision | undefined {
  const named = segments
    .flatMap(({ words }) => words)
    .filter((word) => word !== null)
    .flatMap((word) => /[^=]*$/.exec(word)![0])
    .filter((word) => word.includes("/") && !attachments.includes(word));
  const written = segments
    .flatMap(({ redirects }) => redirects)
    .filter(({ access }) => access === "write")
    .map(({ path }) => path);
  const absolute = (path: string) => absolutePath(cwd, path);
  const { secrets, ownDirectories } = rules;
  return (
    denyFloor(rules, secrets, [...named, ...written].map(absolute)) ??
    denyFloor(rules, ownDirectories, written.map(absolute))
  );
}

/** Denied in every mode: what lies below a protected path, except in these two directories. */
function denyFloor(
  { directory, temporaryDirectory }: Rules,
  protectedPaths: readonly string[],
  paths: readonly string[],
): Decision | undefined {
  const found = protectedPaths.find((place) => {
    const open = [directory, temporaryDirectory].filter((each) => isBelow(place, each));
    return paths
      .flatMap((path) => placesOf(absolutePath(directory, path)))
      .some((path) => isBelow(place, path) && !open.some((each) => isBelow(each, path)));
  });
  return found === undefined ? undefined : deny(`${found} is closed to agents`);
}

const allow = (rule: string): Decision => ({ answer: "allow", rule });
const deny = (rule: string): Decision => ({ answer: "deny", rule });

function needsPerson({ mode }: Rules, rule: string): Decision {
  if (mode === "unattended") return deny(`${rule}, and in mode unattended no person is asked`);
  return { answer: "ask", rule };
}
