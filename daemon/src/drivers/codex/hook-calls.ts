// Translates a tool call that codex's hook reports: the call that is decided about, the item that the log
// shows, and the question to a person. Pure functions without state.
import { resolve } from "node:path";
import type { AskedPermission } from "@hawser/contract";
import type { Call, Decision } from "../../policy/call.ts";
import { locatePath, prefixFor } from "../../policy/path-location.ts";
import { isObject } from "../is-object.ts";
import type { HookInput } from "./gate.ts";
import type { QuestionItem } from "./items.ts";
import type { FileChange, Item } from "./protocol.ts";
import { quoteCommand } from "./shell-words.ts";

export interface HookCall {
  call: Call;
  item: Item | QuestionItem;
  /** undefined for a question: codex asks it with a request of its own. */
  asked: AskedPermission | undefined;
}

/** A call that may run. */
export interface AllowedCall {
  call: Call;
  decision: Decision;
  byPerson: boolean;
}

export interface Place {
  directory: string;
  /** Files that came with the prompt. */
  attachments: readonly string[];
  isPlanning: boolean;
}

/** Tools that change nothing but the conversation. The calls of sub-agents are decided one by one. */
const notes = new Set(
  `get_goal create_goal update_goal update_plan tool_search sleep
   send_input wait_agent close_agent list_agents`.split(/\s+/),
);

const resourceTools = new Set([
  "list_mcp_resources",
  "list_mcp_resource_templates",
  "read_mcp_resource",
]);

export function readHookCall(input: HookInput, place: Place): HookCall {
  const { cwd, tool_name: tool, tool_use_id: id } = input;
  const args = isObject(input.tool_input) ? input.tool_input : {};
  const about = { callId: id, isPlanning: place.isPlanning };
  const text = (name: string) => (typeof args[name] === "string" ? args[name] : "");
  const shownArgs = JSON.stringify(args);
  const generic = (server: string): Item => ({
    type: "mcpToolCall",
    id,
    server,
    tool,
    status: "inProgress",
    arguments: args,
    result: null,
    error: null,
  });

  if (tool === "Bash") return readCommand(text("command"), about, cwd, place);
  if (tool === "apply_patch") return readPatch(text("command"), about, cwd, place);
  if (tool === "view_image") {
    const path = resolve(cwd, text("path"));
    const title = "Look at an image outside the session's directory";
    return {
      call: { ...about, type: "read", paths: [path], attachments: place.attachments },
      item: { type: "imageView", id, path },
      asked: { title, detail: path, alwaysRules: [`image: ${path}`] },
    };
  }
  if (tool === "spawn_agent" || tool === "resume_agent") {
    const name = text("agent_type") || "default";
    const prompt = text("message") || null;
    return {
      call: { ...about, type: "agent", name },
      item: {
        type: "collabAgentToolCall",
        id,
        tool: "spawnAgent",
        status: "inProgress",
        receiverThreadIds: [],
        prompt,
      },
      // No rule: the next sub-agent may have another prompt.
      asked: { title: "Start a sub-agent", detail: prompt, alwaysRules: [] },
    };
  }
  if (tool === "request_user_input") {
    const list = Array.isArray(args["questions"]) ? (args["questions"] as unknown[]) : [];
    const questions = list.map((each) => (isObject(each) ? String(each["question"]) : ""));
    return {
      call: { ...about, type: "question" },
      item: { type: "userInput", id, questions, answers: null },
      asked: undefined,
    };
  }
  const mcp = resourceTools.has(tool)
    ? { server: text("server") || "any", name: tool }
    : readMcpName(tool);
  if (mcp) {
    const { server, name } = mcp;
    const title = `Use the tool ${name} of the MCP server ${server}`;
    return {
      call: { ...about, type: "mcp", server, tool: name },
      item: { ...generic(server), tool: name } as Item,
      asked: { title, detail: shownArgs, alwaysRules: [`mcp: ${server} ${name} ${shownArgs}`] },
    };
  }
  const title = `Use the tool ${tool}`;
  return {
    call: notes.has(tool) ? { ...about, type: "note" } : { ...about, type: "other", tool },
    item: generic("codex"),
    asked: { title, detail: shownArgs, alwaysRules: [`tool: ${tool} ${shownArgs}`] },
  };
}

/** A command that reads like the rule of another kind of call gets no rule, or the rule would cover that call. */
const looksLikeOtherRule =
  /^((mcp|tool|image|outside the sandbox|without the sandbox): |(add|update|delete) \/|in ")/;

type About = Pick<Call, "isPlanning"> & { callId: string };

function readCommand(command: string, about: About, cwd: string, place: Place): HookCall {
  const isOutside = locatePath(place.directory, cwd) === "outside";
  const shown = `${prefixFor(place.directory, cwd)}${command}`;
  const where = isOutside ? " outside the session's directory" : "";
  const { attachments } = place;
  return {
    call: { ...about, type: "execute", command, cwd, attachments },
    item: {
      type: "commandExecution",
      id: about.callId,
      command: quoteCommand(command),
      cwd,
      status: "inProgress",
      aggregatedOutput: null,
      exitCode: null,
      commandActions: [],
    },
    asked: {
      title: `Run a command${where}, in the sandbox`,
      detail: shown,
      alwaysRules: looksLikeOtherRule.test(command) ? [] : [shown],
    },
  };
}

function readPatch(patch: string, about: About, cwd: string, { directory }: Place): HookCall {
  const changes = changesIn(patch, cwd);
  const paths = pathsOf(changes);
  const isOutside = paths.some((path) => locatePath(directory, path) === "outside");
  const shown = changes.map(showChange).join("\n");
  const which = isOutside ? "outside the session's directory" : "that git or agents obey";
  return {
    call: { ...about, type: "edit", paths },
    item: { type: "fileChange", id: about.callId, changes, status: "inProgress" },
    // The rule covers exactly this change, not other changes of the same files.
    asked: {
      title: `Change files ${which}`,
      detail: shown || null,
      alwaysRules: shown ? [shown] : [],
    },
  };
}

/** A change with its whole content, for people and for rules. */
export const showChange = ({ path, kind, diff }: FileChange): string =>
  `${kind.type} ${path}${kind.move_path ? `, move to ${kind.move_path}` : ""}\n${diff}`;

/** All paths that changes touch. */
export const pathsOf = (changes: readonly FileChange[]): string[] =>
  changes.flatMap(({ path, kind }) => (kind.move_path ? [path, kind.move_path] : [path]));

/**
 * The changes of a patch, with absolute paths. A line of a file's content that looks like a header counts as
 * one: an additional path makes the decision stricter.
 */
export function changesIn(patch: string, cwd: string): FileChange[] {
  const changes: FileChange[] = [];
  for (const line of patch.split("\n")) {
    const [, verb, path] = header.exec(line) ?? [];
    const last = changes.at(-1);
    if (verb === undefined || path === undefined) {
      if (last && !line.startsWith("*** ")) last.diff += `${line}\n`;
    } else if (verb === "Move to" && last && !last.kind.move_path) {
      last.kind.move_path = resolve(cwd, path);
    } else {
      const type = verb.split(" ")[0]!.toLowerCase();
      changes.push({ path: resolve(cwd, path), kind: { type }, diff: "" });
    }
  }
  return changes;
}

/** Codex trims some kinds of space that \s does not match. */
const header =
  /^[\s\u0085]*\*\*\* (Add File|Update File|Delete File|Move to):[\s\u0085]*(.*?)[\s\u0085]*$/;

/** Codex joins the names of an MCP server and its tool. */
function readMcpName(tool: string): { server: string; name: string } | undefined {
  const [, server, name] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
  return server === undefined ? undefined : { server, name: name! };
}
