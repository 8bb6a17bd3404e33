// The part of Claude's Agent SDK that the driver uses. Neither the SDK nor the program is ours to ship:
// both lie in the install directory, the SDK beside the program it was built for, and are loaded from
// there. The SDK's one file needs nothing else, so that its own npm dependencies are not installed.
import type { ChildProcess } from "node:child_process";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Message, UserMessage } from "./messages.ts";

export interface Sdk {
  query(asked: { prompt: AsyncIterable<UserMessage>; options: QueryOptions }): Query;
}

export interface Query extends AsyncIterable<Message> {
  initializationResult(): Promise<Initialized>;
  interrupt(): Promise<void>;
  setModel(model?: string): Promise<void>;
  setPermissionMode(mode: PermissionMode): Promise<void>;
  applyFlagSettings(settings: {
    effortLevel?: string | null;
    agent?: string | null;
  }): Promise<void>;
  /** Zero switches thinking off; nothing leaves it to the model. */
  setMaxThinkingTokens(most: number | null): Promise<void>;
  /** Asked for nothing but its answer: it proves that everything sent before was read. */
  mcpServerStatus(): Promise<unknown>;
  close(): void;
}

/** What the program says of itself once it runs. */
export interface Initialized {
  models: { value: string; supportedEffortLevels?: string[] }[];
  agents: { name: string }[];
  commands: { name: string }[];
  account: { tokenSource?: string; apiKeySource?: string; apiProvider?: string };
}

export type PermissionMode = "default" | "plan";

export type PermissionResult =
  | { behavior: "allow"; updatedInput: Record<string, unknown> }
  | { behavior: "deny"; message: string };

export type AskPermission = (
  tool: string,
  input: Record<string, unknown>,
  about: { signal: AbortSignal; toolUseID: string; decisionReason?: string },
) => Promise<PermissionResult>;

/** What a call is before any rule of Claude's own is looked at. Nothing leaves it to those. */
export type Decision = "allow" | "deny" | "ask" | undefined;

export interface HookInput {
  tool_name: string;
  tool_input: Record<string, unknown>;
  permission_mode?: string;
}

interface HookOutput {
  hookSpecificOutput?: {
    hookEventName: "PreToolUse";
    permissionDecision: "allow" | "deny" | "ask";
    permissionDecisionReason: string;
  };
}

export interface QueryOptions {
  cwd: string;
  env: Record<string, string>;
  pathToClaudeCodeExecutable: string;
  spawnClaudeCodeProcess(asked: SpawnAsked): ChildProcess;
  sessionId?: string;
  resume?: string;
  model?: string;
  permissionMode: PermissionMode;
  canUseTool: AskPermission;
  hooks: { PreToolUse: { hooks: ((input: HookInput) => Promise<HookOutput>)[] }[] };
  settingSources: "user"[];
  settings: { cleanupPeriodDays: number };
  disallowedTools: string[];
  systemPrompt: { type: "preset"; preset: "claude_code"; append?: string };
  includePartialMessages: boolean;
  forwardSubagentText: boolean;
}

export interface SpawnAsked {
  command: string;
  args: string[];
  cwd?: string;
  env: Record<string, string | undefined>;
}

/** Of the install that the program belongs to. */
export async function loadSdk(program: string): Promise<Sdk> {
  const file = join(dirname(program), "sdk", "sdk.mjs");
  return (await import(pathToFileURL(file).href)) as Sdk;
}
