// Translates each tool call of Claude Code into the shape that the session's policy decides about. A tool
// that is not listed here becomes `other`, which needs a person.
import { dirname, join, resolve } from "node:path";
import type { Call } from "../../policy/call.ts";
import { isBelow } from "../../policy/path-location.ts";
import { realOf } from "../../real-path.ts";
import type { HookInput } from "./sdk.ts";
import { isOfRepository } from "./trusted-config.ts";

/** What the translation needs to know about the session. */
export interface CallContext {
  /** Claude Code's configuration directory. */
  config: string;
  home: string;
  /** Skills and slash commands that have no effect but their text. */
  skills: readonly string[];
  /** Paths of the prompt's attachments. */
  attachments: readonly string[];
}

/** Tools that write files, with the input that names the file. */
const writingTools: Record<string, string> = {
  Write: "file_path",
  Edit: "file_path",
  NotebookEdit: "notebook_path",
};

/** Tools without an effect outside the conversation. */
const notes = new Set(["TodoWrite", "ReportFindings", "TaskOutput", "TaskStop", "ToolSearch"]);

export function callOf(hook: HookInput, context: CallContext): Call {
  const { tool_name: tool, tool_input: input, cwd } = hook;
  const common = {
    callId: hook.tool_use_id ?? null,
    isPlanning: hook.permission_mode === "plan",
  };
  const unknown: Call = { ...common, type: "other", tool };
  const text = (name: string) => {
    const value = input[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const path = (name: string) => {
    const value = text(name);
    return value === undefined ? undefined : absolute(value, cwd, context.home);
  };

  const written = writingTools[tool];
  if (written !== undefined) {
    const file = path(written);
    if (file === undefined) return unknown;
    if (common.isPlanning && isPlan(file, context)) return { ...common, type: "note" };
    return { ...common, type: "edit", paths: [file] };
  }
  if (notes.has(tool)) return { ...common, type: "note" };
  const [, server, name] = /^mcp__(.+?)__(.+)$/s.exec(tool) ?? [];
  if (server !== undefined && name !== undefined)
    return { ...common, type: "mcp", server, tool: name };

  switch (tool) {
    case "Bash": {
      const command = text("command");
      if (command === undefined) return unknown;
      const leavesSandbox = input["dangerouslyDisableSandbox"] === true;
      return { ...common, type: "execute", command, cwd, leavesSandbox };
    }
    case "Read": {
      const file = path("file_path");
      if (file === undefined) return unknown;
      if (isOwnOutput(file, hook) || (common.isPlanning && isPlan(file, context)))
        return { ...common, type: "note" };
      return { ...common, type: "read", paths: [file], attachments: context.attachments };
    }
    case "WebFetch":
      return { ...common, type: "fetch", target: text("url") ?? "an unknown address" };
    case "WebSearch":
      return { ...common, type: "fetch", target: `a search for ${text("query") ?? "nothing"}` };
    case "Agent":
    case "Task":
      // An isolated sub-agent would make a worktree, and work outside the session's directory.
      if (input["isolation"] !== undefined) return unknown;
      return { ...common, type: "agent", name: text("subagent_type") ?? "general-purpose" };
    case "SendMessage":
      return { ...common, type: "agent", name: text("to") ?? "unknown" };
    case "AskUserQuestion":
      return { ...common, type: "question" };
    case "Skill": {
      const [named, args] = [text("skill"), text("args")];
      if (named === undefined || !context.skills.includes(named)) return unknown;
      if (args === undefined) return { ...common, type: "note" };
      return { ...common, type: "read", paths: filesFor(named, args, cwd, context.home) };
    }
    default:
      return unknown;
  }
}

/** Claude Code expands a path in the same way before it opens the file. */
function absolute(path: string, cwd: string | undefined, home: string): string | undefined {
  const trimmed = path.trim().normalize("NFC");
  if (trimmed === "~" || trimmed.startsWith("~/")) return join(home, trimmed.slice(1));
  return cwd === undefined ? undefined : resolve(cwd, trimmed);
}

/** A plan that Claude Code lets the agent write while it is planning. Nothing obeys such a file. */
const isPlan = (file: string, { config }: CallContext) =>
  file.endsWith(".md") && dirname(realOf(file)) === realOf(join(config, "plans"));

/** An output of the session's own tools that was too long for the conversation. */
const isOwnOutput = (file: string, { transcript_path: transcript }: HookInput) =>
  transcript !== undefined &&
  transcript.endsWith(".jsonl") &&
  isBelow(join(transcript.slice(0, -".jsonl".length), "tool-results"), file);

const mostWords = 200;
const mostQuoted = 12;
/** Claude Code removes these from arguments, or puts other arguments in their place. */
const replaced = /[\\$\uFFFF]/;
/** Counts as outside every session's directory. */
const anywhere = "/";

/**
 * The files that arguments of this skill or command can name. A quote after an `@` can end in the skill's own
 * text, and what is between them names a file; a repository's text is not to be relied on.
 */
export function filesFor(
  name: string,
  args: string,
  cwd: string | undefined,
  home: string,
): string[] {
  const files = filesIn(args, cwd, home);
  return isOfRepository(name) && /@["'`]/.test(args) ? [...files, anywhere] : files;
}

/**
 * The files that a skill's arguments can name. Claude Code reads a file that the skill's text mentions as
 * `@path`, and the text can put any word of the arguments behind an `@`. A word is what is between spaces, or
 * what a shell makes of the arguments. Empty if there are too many.
 */
function filesIn(args: string, cwd: string | undefined, home: string): string[] {
  const unquoted = withoutQuotes(args);
  const words = new Set([
    ...args.split(/[\s"'`\u3002\u3001\uFF1F\uFF01]+/),
    ...unquoted.split(/[ \t\n]+/),
    ...unquoted.split(/[\s|&;<>(){}!\u3002\u3001\uFF1F\uFF01]+/),
  ]);
  if (cwd === undefined || words.size > mostWords) return [];
  const named = [...words, ...quotedWords(args)].flatMap((word) => {
    const bare = word.replace(/^@+/, "");
    const plain = bare.replace(/#.*$/s, "").replace(/[^\p{L}\p{N}_]+$/u, "");
    return [word, word.replace("@", ""), bare, plain];
  });
  const files = [args, ...named].filter((name) => name !== "");
  if (replaced.test(args)) files.push(anywhere);
  return [...new Set(files.map((name) => absolute(name, cwd, home) ?? name))];
}

/**
 * What a shell could read as one word because of quotes: any text from one word with a quote to another. An
 * apostrophe can begin or end such a text too.
 */
function quotedWords(args: string): string[] {
  const parts = args.split(/([\s|&;<>()]+)/);
  const quoted = parts.flatMap((part, at) => (/["'`]/.test(part) ? [at] : []));
  if (quoted.length > mostQuoted) return [anywhere];
  return quoted
    .flatMap((from) => quoted.map((to) => parts.slice(from, to + 1).join("")))
    .flatMap((text) => [text.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"), withoutQuotes(text)]);
}

const withoutQuotes = (text: string) => text.replace(/["'`]/g, "");
