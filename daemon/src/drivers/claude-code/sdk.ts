// The part of Claude's Agent SDK that the driver uses. We may not ship the SDK or the program, so both are
// loaded from the install directory, where the SDK is beside the program that it was built for. The SDK's
// one file works alone, so its npm dependencies are not installed.
import type { ChildProcess } from "node:child_process";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Message, UserMessage } from "./messages.ts";

export interface Sdk {
  query(input: { prompt: AsyncIterable<UserMessage>; options: QueryOptions }): Query;
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
  /** 0 disables thinking; null lets the model decide. */
  setMaxThinkingTokens(limit: number | null): Promise<void>;
  /** Used as a ping: its answer proves that everything sent before has been read. */
  mcpServerStatus(): Promise<unknown>;
  /** The name of the SDK's. Undefined in a version that has another name for it. */
  usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET?(): Promise<AccountUsage>;
  close(): void;
}

/** Periods by name, such as `five_hour`. Null before the first answer of the model, and without a subscription. */
export interface AccountUsage {
  rate_limits?: Record<
    string,
    { utilization?: number | null; resets_at?: string | null } | null
  > | null;
}

/** What the program reports about itself when it has started. */
export interface Initialized {
  models: { value: string; supportedEffortLevels?: string[] }[];
  agents: { name: string }[];
  commands: { name: string; description?: string; argumentHint?: string }[];
  account: {
    tokenSource?: string;
    apiKeySource?: string;
    apiProvider?: string;
    subscriptionType?: string;
    email?: string;
  };
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

/** A tool call that is about to run. */
export interface HookInput {
  tool_name: string;
  tool_input: Record<string, unknown>;
  tool_use_id: string;
  /** Directory that a command would run in: it follows a `cd` of an earlier command. */
  cwd?: string;
  permission_mode?: string;
  transcript_path?: string;
}

/** Without a decision, Claude Code's own rules would let some calls run. */
export interface HookOutput {
  hookSpecificOutput: {
    hookEventName: "PreToolUse";
    permissionDecision: "allow" | "deny" | "ask";
    permissionDecisionReason: string;
  };
}

export interface QueryOptions {
  cwd: string;
  env: Record<string, string>;
  pathToClaudeCodeExecutable: string;
  spawnClaudeCodeProcess(options: SpawnOptions): ChildProcess;
  sessionId?: string;
  resume?: string;
  model?: string;
  permissionMode: PermissionMode;
  canUseTool: AskPermission;
  hooks: { PreToolUse: { hooks: ((input: HookInput) => Promise<HookOutput>)[] }[] };
  settingSources: "user"[];
  settings: { cleanupPeriodDays: number; disableSkillShellExecution: true };
  disallowedTools: string[];
  plugins?: { type: "local"; path: string }[];
  /** Besides those of the host's user. */
  mcpServers?: Record<string, object>;
  systemPrompt: { type: "preset"; preset: "claude_code"; append?: string };
  includePartialMessages: boolean;
  forwardSubagentText: boolean;
}

interface SpawnOptions {
  command: string;
  args: string[];
  cwd?: string;
  env: Record<string, string | undefined>;
}

/** Loads the SDK of the install that the program belongs to. */
export async function loadSdk(program: string): Promise<Sdk> {
  const file = join(dirname(program), "sdk", "sdk.mjs");
  return (await import(pathToFileURL(file).href)) as Sdk;
}
