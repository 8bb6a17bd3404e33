// The part of codex's app-server protocol that the driver uses, version 0.166.0. protocol.test.ts compares
// it with the schema that the program itself prints.

/** Our calls, with their parameters. */
export interface Calls {
  initialize: {
    clientInfo: { name: string; title: string; version: string };
    capabilities: { experimentalApi: true; requestAttestation: false };
  };
  "account/read": Record<string, never>;
  "account/rateLimits/read": Record<string, never>;
  "account/login/start":
    | { type: "chatgptDeviceCode" }
    | { type: "apiKey"; apiKey: string }
    | { type: "amazonBedrock"; apiKey: string; region: string };
  "account/login/cancel": { loginId: string };
  "account/logout": undefined;
  "config/read": { cwd: string };
  "model/list": { cursor: string | null };
  "collaborationMode/list": Record<string, never>;
  "command/exec": { command: string[]; cwd: string; timeoutMs: number; sandboxPolicy: object };
  "thread/start": ThreadSettings;
  "thread/resume": ThreadSettings & {
    threadId: string;
    excludeTurns: true;
    initialTurnsPage: { limit: 1; sortDirection: "desc"; itemsView: "full" };
  };
  "thread/name/set": { threadId: string; name: string };
  "thread/archive": { threadId: string };
  "thread/backgroundTerminals/clean": { threadId: string };
  "thread/turns/list": {
    threadId: string;
    cursor: string | null;
    limit: number;
    sortDirection: "desc";
    itemsView: "summary";
  };
  "thread/revert": { threadId: string; beforeTurnId: string };
  "thread/compact/start": { threadId: string };
  "skills/list": { cwds: string[]; forceReload: boolean };
  "hooks/list": { cwds: string[] };
  "turn/start": {
    threadId: string;
    /** Codex stores the id with the prompt and returns it as `clientId`. */
    clientUserMessageId: string;
    input: Input[];
  } & Partial<TurnSettings>;
  "turn/interrupt": { threadId: string; turnId: string };
}

/** Apply to the turn and to later turns that do not set them. */
export interface TurnSettings {
  model: string;
  effort: string | null;
  collaborationMode: {
    mode: Mode;
    settings: { model: string; reasoning_effort: string | null; developer_instructions: null };
  };
}

/** The parts of codex's answers that the driver reads; unknown if it reads nothing. */
export interface Answers {
  initialize: unknown;
  "account/read": { account: Account | null; requiresOpenaiAuth: boolean };
  "account/rateLimits/read": { rateLimits: RateLimits };
  /** A login with a key is complete, and has none of these fields. */
  "account/login/start": { loginId: string; verificationUrl: string; userCode: string };
  "account/login/cancel": unknown;
  "account/logout": unknown;
  "config/read": { config: Config };
  "model/list": { data: Model[]; nextCursor: string | null };
  "collaborationMode/list": { data: { mode: string | null }[] };
  "command/exec": { exitCode: number; stderr: string };
  "thread/start": LoadedThread & { thread: { id: string } };
  "thread/resume": LoadedThread & { initialTurnsPage: { data: Turn[] } | null };
  "thread/name/set": unknown;
  "thread/archive": unknown;
  "thread/backgroundTerminals/clean": unknown;
  "thread/turns/list": { data: Turn[]; nextCursor: string | null };
  "thread/revert": unknown;
  /** Contains no turn: the turn's id follows in `turn/started`. */
  "thread/compact/start": Record<string, never>;
  "skills/list": { data: { skills: Skill[] }[] };
  "hooks/list": { data: { hooks: Hook[] }[] };
  "turn/start": { turn: { id: string } };
  "turn/interrupt": unknown;
}

/** The notification `account/login/completed`. */
export interface LoginCompleted {
  loginId: string | null;
  success: boolean;
  error: string | null;
}

interface Account {
  /** `chatgpt` is the account of a person; it alone has the next two fields. */
  type: string;
  email?: string | null;
  planType?: string;
  /** False if codex would use credentials of the host at Amazon Bedrock. */
  usesCodexManagedCredentials?: boolean;
}

export interface LoadedThread {
  model: string;
  /** Permission profile in use; null if codex uses other sandbox settings. */
  activePermissionProfile: { id: string } | null;
}

export type Mode = "default" | "plan";

/** One part of a prompt. */
export type Input =
  | { type: "text"; text: string; text_elements: [] }
  | { type: "localImage"; path: string }
  | { type: "skill"; name: string; path: string };

export interface Skill {
  name: string;
  description?: string;
  path: string;
  /** Owner of the skill: the user, codex or the repository. */
  scope: string;
  enabled: boolean;
}

export interface Hook {
  command: string | null;
  enabled: boolean;
  /** Codex runs a hook only if this is `trusted` or `managed`. */
  trustStatus: string;
}

export interface ThreadSettings {
  cwd: string;
  model?: string;
  /** Name of a permission profile. */
  permissions: string;
  approvalPolicy: "on-request";
  approvalsReviewer: "user";
  developerInstructions: string;
  config: Record<string, unknown>;
}

export interface Config {
  model: string | null;
  model_provider: string | null;
  model_reasoning_effort: string | null;
}

export interface Model {
  id: string;
  model: string;
  hidden: boolean;
  isDefault: boolean;
  supportedReasoningEfforts: { reasoningEffort: string }[];
  defaultReasoningEffort: string;
}

export interface Turn {
  id: string;
  items: Item[];
  status: "completed" | "interrupted" | "failed" | "inProgress";
  error: TurnError | null;
}

export interface TurnError {
  message: string;
  /** The error's name, or an object whose only key is the name. Newer versions may add names. */
  codexErrorInfo: string | Record<string, { httpStatusCode?: number | null }> | null;
  /** The actual error, if the message only says that codex tries again. */
  additionalDetails?: string | null;
}

/** One item of a turn. Items of other types are reported as received. */
export type Item =
  | { type: "userMessage"; id: string; clientId: string | null }
  | { type: "agentMessage"; id: string; text: string }
  | { type: "plan"; id: string; text: string }
  | { type: "reasoning"; id: string; summary: string[]; content: string[] }
  | CommandItem
  | FileChangeItem
  | McpItem
  | {
      type: "collabAgentToolCall";
      id: string;
      tool: string;
      status: string;
      receiverThreadIds: string[];
      prompt: string | null;
    }
  | { type: "webSearch"; id: string; query: string }
  | { type: "imageView"; id: string; path: string }
  | { type: "contextCompaction"; id: string };

export interface CommandItem {
  type: "commandExecution";
  id: string;
  command: string;
  cwd: string;
  status: "inProgress" | "completed" | "failed" | "declined";
  aggregatedOutput: string | null;
  exitCode: number | null;
  commandActions: { type: string }[];
}

export interface FileChangeItem {
  type: "fileChange";
  id: string;
  changes: FileChange[];
  status: "inProgress" | "completed" | "failed" | "declined";
}

export interface FileChange {
  path: string;
  kind: { type: string; move_path?: string | null };
  /** Hunks of an update, or the content of an added or deleted file. */
  diff: string;
}

interface McpItem {
  type: "mcpToolCall";
  id: string;
  server: string;
  tool: string;
  status: string;
  arguments: unknown;
  result: { content: unknown[] } | null;
  error: { message: string } | null;
}

export interface TokenCount {
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteInputTokens: number;
  outputTokens: number;
}

/** The notifications that the driver handles. All have a `threadId`. */
export interface Notifications {
  "turn/started": { turn: { id: string } };
  "turn/completed": { turn: Turn };
  "item/started": { item: Item };
  "item/completed": { item: Item };
  "item/agentMessage/delta": { itemId: string; delta: string };
  "item/plan/delta": { itemId: string; delta: string };
  "item/reasoning/summaryPartAdded": { itemId: string; summaryIndex: number };
  "item/reasoning/summaryTextDelta": { itemId: string; delta: string };
  "item/commandExecution/outputDelta": { itemId: string; delta: string };
  "turn/plan/updated": { plan: { step: string; status: string }[] };
  "thread/tokenUsage/updated": {
    tokenUsage: { total: TokenCount; last: TokenCount; modelContextWindow: number | null };
  };
  "thread/name/updated": { threadName?: string | null };
  "thread/closed": unknown;
  "serverRequest/resolved": { requestId: number | string };
  "hook/started": { run: HookRun };
  "hook/completed": { run: HookRun };
  error: { error: TurnError; willRetry: boolean };
}

/** One run of a hook. */
export interface HookRun {
  /** Ends with `:` and the id of the call, after the source path. */
  id: string;
  eventName: string;
  sourcePath: string;
  status: string;
}

/** Codex's requests to us. */
export interface Requests {
  "item/commandExecution/requestApproval": CommandApproval;
  "item/fileChange/requestApproval": FileApproval;
  "item/permissions/requestApproval": PermissionsApproval;
  "item/tool/requestUserInput": UserInput;
  "mcpServer/elicitation/request": ToolApproval;
}

/** A request of an MCP server, or, with this kind, codex's own request before it calls a tool. */
export interface ToolApproval {
  serverName: string;
  message: string;
  _meta?: { codex_approval_kind?: string } | null;
}

export interface CommandApproval {
  kind?: "command" | "writeStdin";
  itemId: string;
  command?: string | null;
  cwd?: string | null;
  /** Set if the command needs more than the sandbox allows. */
  reason?: string | null;
  networkApprovalContext?: { host: string; protocol: string } | null;
  additionalPermissions?: object | null;
}

export interface FileApproval {
  itemId: string;
  reason?: string | null;
  grantRoot?: string | null;
}

export interface PermissionsApproval {
  itemId: string;
  reason: string | null;
  permissions: object;
}

export interface UserInput {
  itemId: string;
  questions: {
    id: string;
    header: string;
    question: string;
    isOther: boolean;
    options: { label: string; description: string }[] | null;
  }[];
}

/** Used quota of the account. Codex sends null for what it did not learn. */
export interface RateLimits {
  primary?: RateLimit | null;
  secondary?: RateLimit | null;
}

interface RateLimit {
  usedPercent: number;
  /** Seconds since 1970. */
  resetsAt?: number | null;
}

/** Notifications that sessions do not show. */
export const ignoredNotifications: ReadonlySet<string> = new Set([
  "account/rateLimits/updated",
  "item/commandExecution/terminalInteraction",
  "item/fileChange/outputDelta",
  "item/fileChange/patchUpdated",
  "item/mcpToolCall/progress",
  "item/reasoning/textDelta",
  "mcpServer/startupStatus/updated",
  "thread/archived",
  "thread/goal/cleared",
  "thread/queue/changed",
  "thread/readState/changed",
  "thread/reverted",
  "thread/settings/updated",
  "thread/started",
  "thread/status/changed",
  "turn/diff/updated",
]);
