// Translates a request of opencode into the neutral call that the policy decides about. The call's own
// input counts, because opencode asks more than once about some calls and shows another part each time.
import { existsSync, lstatSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Call } from "../../policy/call.ts";
import { absolutePath } from "../../policy/path-location.ts";
import { realOf } from "../../real-path.ts";
import type { PermissionRequest, ToolPart } from "./frames.ts";

/** Where a call runs. */
export interface Place {
  directory: string;
  /** Root of the repository, which some paths are relative to. */
  root: string;
  /** Names of opencode's MCP servers. */
  servers: readonly string[];
}

export type Translated = {
  [Type in Call["type"]]: Omit<Extract<Call, { type: Type }>, "callId">;
}[Call["type"]];

/** Permissions of opencode's own tools, besides `external_directory`. All others are MCP tools. */
const permissions: Record<string, string> = {
  bash: "bash",
  read: "read",
  glob: "glob",
  grep: "grep",
  edit: "edit",
  write: "edit",
  multiedit: "edit",
  apply_patch: "edit",
  webfetch: "webfetch",
  websearch: "websearch",
  codesearch: "codesearch",
  task: "task",
  todowrite: "todowrite",
  todoread: "todoread",
  skill: "skill",
  list_mcp_resources: "read",
  list_mcp_resource_templates: "read",
  read_mcp_resource: "read",
};

/** Whether the request can be translated only when the input of its call is complete. */
const needsInput = ({ permission }: PermissionRequest): boolean =>
  permission === "external_directory" || Object.values(permissions).includes(permission);

/** `part`: the request's call; undefined if it is unknown or its input is incomplete. */
export function translate(
  request: PermissionRequest,
  part: ToolPart | undefined,
  place: Place,
): Translated {
  const { permission, patterns, metadata } = request;
  if (!needsInput(request)) return mcpCall(permission, place.servers) ?? other(permission);
  if (!part) return other(permission);
  const { tool } = part;
  const { input } = part.state;
  const unknown = other(tool);
  const own = Object.hasOwn(permissions, tool) ? permissions[tool] : undefined;
  if (permission !== own && permission !== "external_directory") return unknown;
  const said = (name: string) => (typeof input[name] === "string" ? input[name] : undefined);
  const absolute = (path: string) => absolutePath(place.directory, path);
  switch (tool) {
    case "bash": {
      const command = said("command");
      if (command === undefined || command !== metadata["command"]) return unknown;
      return { type: "execute", command, cwd: absolute(said("workdir") ?? "") };
    }
    case "read": {
      const path = said("filePath");
      if (path === undefined) return unknown;
      const isSame = resolve(place.root, patterns[0] ?? "") === resolve(absolute(path));
      if (permission === "read" && !isSame) return unknown;
      return { type: "read", paths: withInstructions([absolute(path)], place.directory) };
    }
    case "glob":
    case "grep":
      return { type: "read", paths: [absolute(said("path") ?? "")] };
    case "edit":
    case "write":
    case "multiedit":
    case "apply_patch":
      return { type: "edit", paths: changedBy(request, part, place.directory) };
    case "webfetch":
      return { type: "fetch", target: said("url") ?? "" };
    case "websearch":
    case "codesearch":
      return { type: "fetch", target: said("query") ?? "" };
    case "task": {
      const name = said("subagent_type") ?? "";
      return {
        type: "agent",
        name,
        reads: mentionedFiles(mentionsIn(said("prompt") ?? ""), place),
      };
    }
    case "todowrite":
    case "todoread":
    case "skill":
      return { type: "note" };
    default: {
      const server = said("server");
      return server === undefined ? unknown : { type: "mcp", server, tool };
    }
  }
}

/**
 * Absolute paths of the files that the call would change: those of its input, and those that the request
 * names. Empty if any of them is unknown.
 */
export function changedBy(
  { permission, metadata }: PermissionRequest,
  { tool, state: { input } }: ToolPart,
  directory: string,
): string[] {
  const named: unknown[] = tool === "apply_patch" ? patchedFiles(input) : [input["filePath"]];
  const { files, filepath } = metadata;
  if (permission === "edit") {
    if (!Array.isArray(files)) named.push(filepath);
    else
      for (const { filePath, movePath } of files as Record<string, unknown>[])
        named.push(filePath, ...(movePath ? [movePath] : []));
  }
  const isPath = (path: unknown): path is string => typeof path === "string" && path !== "";
  if (!named.every(isPath)) return [];
  return [...new Set(named.map((path) => absolutePath(directory, path)))];
}

function patchedFiles({ patchText }: Record<string, unknown>): unknown[] {
  if (typeof patchText !== "string") return [undefined];
  const lines = patchText.matchAll(/^\s*\*\*\* (?:(?:Add|Update|Delete) File|Move to):(.*)$/gm);
  return [...lines].map(([, path]) => path!.trim());
}

/** opencode joins the names of a server and its tool; undefined unless exactly one server fits. */
function mcpCall(tool: string, servers: readonly string[]): Translated | undefined {
  const fitting = servers.filter((name) => tool.startsWith(`${joinable(name)}_`));
  const [server] = fitting;
  if (server === undefined || fitting.length > 1) return undefined;
  return { type: "mcp", server, tool: tool.slice(server.length + 1) };
}

const other = (tool: string): Translated => ({ type: "other", tool });

const joinable = (name: string) => name.replace(/[^a-zA-Z0-9_-]/g, "_");

/** Names after an `@` in a text, as opencode finds them in a sub-agent's prompt and in a slash command. */
export const mentionsIn = (text: string): string[] =>
  [...text.matchAll(/(?<![\w`])@(\.?[^\s`,.]*(?:\.[^\s`,.]+)*)/g)].flatMap(
    ([, name]) => name || [],
  );

/** Files and directories that opencode reads without asking because a text mentions these names. */
export const mentionedFiles = (
  names: readonly string[],
  { directory, root }: Pick<Place, "directory" | "root">,
) =>
  withInstructions(
    names.flatMap((name) => {
      if (name.startsWith("~/")) return join(homedir(), name.slice(2));
      const path = resolve(root, name);
      return existsSync(path) ? path : [];
    }),
    directory,
  );

/**
 * The files, and the instructions that opencode adds to the content of each: those of its folder and of the
 * parents below the session's directory. opencode adds one file of each folder. All of them count here,
 * because another call may remove the first before opencode looks for it. No setting disables this.
 */
export function withInstructions(paths: readonly string[], directory: string): string[] {
  // opencode's name of the directory may have its links resolved.
  const roots = [resolve(directory), realOf(directory)];
  const added = paths
    .flatMap((path) => roots.flatMap((root) => foldersBelow(root, path)))
    .flatMap((folder) => instructionNames.map((name) => join(folder, name)));
  return [...new Set([...paths, ...added.filter(isPresent)])];
}

/** As opencode compares them: a directory beside the root counts if its name begins with the root's. */
function foldersBelow(root: string, path: string): string[] {
  const folder = dirname(resolve(path));
  if (!folder.startsWith(root) || folder === root) return [];
  return [folder, ...foldersBelow(root, folder)];
}

const instructionNames = ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"];

/** Whether there is a file or a link, which may lead nowhere yet. */
function isPresent(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // opencode cannot read it either.
    return false;
  }
}
