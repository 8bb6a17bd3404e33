// The interface between the session layer and an agent. Each agent kind (opencode, Claude Code, codex)
// implements Driver with its real program; nothing above this file knows which kind is running. One
// conformance suite (testkit/src/conformance.ts) runs against every driver.
//
// The session layer owns the queue, the turns, the log and everything on disk. A driver stores nothing that
// must survive the daemon. Instead it puts a `cursor` on its events: whatever it needs to continue after
// that event. The session layer stores the cursor in the same transaction as the event's effects and passes
// it to `resume`. So no event is lost or recorded twice, whichever process is killed.
import {
  Capability,
  type AgentKind,
  type AgentKindRecord,
  type AskedPermission,
  type AskedQuestion,
  type ModelChoice,
  type ModelListing,
  type PermissionAnswer,
  type SessionCommand,
  type SessionUpdate,
  type TrustedPart,
  type TurnOutcome,
  type UpdateOf,
  type Usage,
} from "@hawser/contract";
import type { Call, Decision } from "../policy/call.ts";
import type { Utilization } from "./quota.ts";

export interface Driver {
  kind: AgentKind;
  /** True if the agent's processes end with the daemon. Its sessions then resume on their next prompt. */
  endsWithDaemon: boolean;
  /**
   * Whether the agent's commands run in a sandbox: they change only the session's directory, and read only
   * that one and programs.
   */
  hasSandbox: boolean;
  /** What the agent can do besides answering prompts. The capabilities that callers see are its keys. */
  abilities: Abilities;
  /** Whether the agent can work now, and its options. Never throws: a failure becomes a problem. */
  readState(signal: AbortSignal): Promise<AgentState>;
  /**
   * How much of the login's quota is used; null if unknown. Undefined if the kind has no quota of its own. Never
   * throws.
   */
  readUtilization?(signal: AbortSignal): Promise<Utilization | null>;
  /** Throws AgentNotReady. */
  listModels(signal: AbortSignal): Promise<Omit<ModelListing, "agentKind">>;
  /**
   * Modes and sub-agents that a prompt may name. They are the same in every directory, because the
   * configuration of repositories is disabled. Throws AgentNotReady.
   */
  listModes(signal: AbortSignal): Promise<string[]>;
  /**
   * Finds files of the repository that the agent would run without asking. Paths are relative to the
   * directory. Called before every start, prompt and resume, which is refused if a file is found.
   */
  findProjectConfig(directory: string): Promise<string[]>;
  /** Finds configuration files of the repository that the agent ignores. They cause no refusal. */
  findIgnoredConfig?(directory: string): Promise<string[]>;
  /**
   * The configuration of a repository that the agent can use if the organization trusts it. Maps, for each
   * part, paths in the repository to paths in `Trusted.directory`. An empty map: the agent reads the part
   * without a copy. A missing part: the agent cannot use it.
   */
  trustable: Partial<Record<TrustedPart, Readonly<Record<string, string>>>>;
  /** Patterns of git's sparse checkout that keep files out of a worktree. Empty for most kinds. */
  sparsePatterns: readonly string[];
  /** Creates a session of the agent. Throws AgentNotReady or NotOffered. */
  start(settings: SessionSettings, sink: Sink, signal: AbortSignal): Promise<AgentSession>;
  /**
   * Resumes a session of an earlier daemon, or of an earlier process of the agent. Reports the events
   * after the cursor first. A turn that still runs continues; one that does not is reported as
   * `turn_ended`. Throws AgentNotReady, or SessionGone if the agent has no such session.
   */
  resume(session: ResumableSession, sink: Sink, signal: AbortSignal): Promise<AgentSession>;
  /** Ends every process of this kind. Each of its sessions reports `lost`. */
  restart(signal: AbortSignal): Promise<void>;
  /**
   * Called when the daemon stops. Processes that survive the daemon keep running; the others are ended.
   * No event is reported afterwards.
   */
  close(): Promise<void>;
  /** Start ids (HAWSER_AGENT) of this driver's running processes. */
  liveStarts(): string[];
  /** The agent's own HTTP server, which has clients of its own; undefined if the kind has none. */
  server?: {
    /** Starts the server if none runs. Throws AgentNotReady. */
    start(signal: AbortSignal): Promise<void>;
    /** The server that runs now; undefined if none does. */
    current(): AgentServer | undefined;
  };
}

/** One start of an agent's HTTP server on 127.0.0.1. */
export interface AgentServer {
  port: number;
  /** Never leaves the host. */
  password: string;
  /** Whether the process of this start still runs, and still has the port. */
  isListening(): boolean;
}

/** Each ability is tested by cases of the conformance suite, which run for the kinds that have it. */
export interface Abilities {
  /** The session's changes can be shown as a diff. Git computes it, for every kind. */
  diff?: true;
  /** A session of the kind can continue another one: it reads texts before its first prompt. */
  fork?: true;
  /** The agent asks questions. */
  questions?: true;
  /** The conversation can be reverted to before a message: `AgentSession.revert`. */
  revert?: true;
  /** The agent delegates work to agents of its own. */
  subAgents?: true;
  /** Callers may run shell commands in a session. The next prompt's `context` contains their output. */
  shell?: true;
  /** A prompt may have attachments. */
  attachments?: true;
  /** The agent condenses its history for a prompt with the task `summarize`. */
  summarize?: true;
  /** The agent has slash commands, which a prompt's task may name. */
  commands?: {
    /**
     * The commands that a session in this directory has; if it is undefined, those that every
     * session has. opencode and codex add skills of the repository. Throws AgentNotReady.
     */
    list(directory: string | undefined, signal: AbortSignal): Promise<SessionCommand[]>;
  };
}

/** The abilities that callers know as capabilities; the contract does not list every ability. */
export function capabilitiesOf({ abilities }: Pick<Driver, "abilities">): Capability[] {
  return Capability.options.filter((name) => Object.hasOwn(abilities, name));
}

export type AgentState = Omit<AgentKindRecord, "kind" | "variants" | "modes" | "commands">;

/** What a session of an agent is started with. */
export interface SessionSettings {
  sessionId: string;
  /** Directory that the agent works in: the session's worktree, or the user's own directory. */
  directory: string;
  title: string | null;
  model: ModelChoice | null;
  options: Record<string, string>;
  /**
   * Decides about a call of the agent, before it has any effect. If the answer is `ask`, the driver reports
   * a request with the rule.
   */
  decide: (call: Call) => Decision;
  /** Parts of the repository's own configuration that the agent uses; undefined if it uses none. */
  trusted?: Trusted | undefined;
}

/** Parts of a repository's configuration, copied as `Driver.trustable` says. No agent can change them. */
export interface Trusted {
  parts: readonly TrustedPart[];
  directory: string;
}

/** What a session of an agent is resumed with. */
export interface ResumableSession extends SessionSettings {
  /** `AgentSession.handle` of the session when it was started. */
  handle: string;
  /** Cursor of the last recorded event. */
  cursor: string | null;
  /** The turn that was running, if any. */
  turnId: string | null;
  /** Our message that started that turn. Null if no turn ran, or if the agent writes the message itself. */
  messageId: string | null;
  /** Keys of the requests that were open. */
  openRequests: readonly string[];
}

export interface AgentSession {
  /** Identifies the agent's session to its driver. Opaque to everyone else. */
  handle: string;
  /**
   * Resolves when the agent has accepted the prompt. Never called while a turn runs. Throws AgentNotReady
   * or NotOffered.
   */
  prompt(prompt: Prompt, signal: AbortSignal): Promise<void>;
  /**
   * Stops the running turn, which ends with `turn_ended`. Its open requests are dropped without a
   * `request_gone`.
   */
  abort(signal: AbortSignal): Promise<void>;
  /** `accepted` once the agent has received the answer; `gone` if it no longer waits for one. */
  answer(key: string, answer: RequestAnswer, signal: AbortSignal): Promise<"accepted" | "gone">;
  rename(title: string, signal: AbortSignal): Promise<void>;
  /**
   * The session's slash commands, with those of the trusted configuration. undefined if it has only
   * those that `Abilities.commands` lists. Throws AgentNotReady.
   */
  listCommands?(signal: AbortSignal): Promise<SessionCommand[]>;
  /**
   * Removes one of our messages and everything after it from the conversation. Files are restored by the
   * session layer. Returns `unknown`, and changes nothing, if the agent does not have the message. Never
   * called while a turn runs. Undefined if the driver lacks the ability.
   */
  revert?(messageId: string, signal: AbortSignal): Promise<"reverted" | "unknown">;
  /** Ends the agent's session and frees its resources. Its directory may be removed afterwards. */
  end(signal: AbortSignal): Promise<void>;
  /** Stops reporting events to the sink. The agent keeps its session. */
  release(): void;
}

export interface Prompt {
  turnId: string;
  messageId: string;
  task: Task;
  /** The prompt itself, or the arguments of a slash command. */
  text: string;
  /** Texts that the agent reads before `text`: what happened since the previous prompt. */
  context: readonly string[];
  attachments: readonly PromptAttachment[];
  /** Model, options and mode of this prompt. The driver sets all of them for every prompt. */
  model: ModelChoice | null;
  options: Record<string, string>;
  /** Mode or sub-agent; null for the agent's default mode. */
  agent: string | null;
}

/** What a turn does: answer the text, run a slash command, or condense the history. */
export type Task = { type: "prompt" } | { type: "command"; name: string } | { type: "summarize" };

/** A file sent with a prompt. It exists on disk until the turn has ended. */
export interface PromptAttachment {
  /** Type as the caller names it; not verified. */
  mime: string;
  filename: string | null;
  path: string;
  /** As callers name it; undefined for a file from elsewhere. */
  fileId?: string | undefined;
  /** In bytes; undefined for a prompt that an earlier daemon accepted. */
  size?: number;
}

/**
 * Answer to a request of the agent. `always` is no answer here: the session layer remembers the rules that
 * the request showed, for its session, and answers requests that they cover with `once`. So a permission
 * covers exactly what was shown. If rejecting a permission would end the agent's turn, the driver reports
 * the rejection to the agent as text instead.
 */
export type RequestAnswer =
  | { permission: "once" | "reject" }
  | { answers: string[][] }
  | { dismiss: true };

/** Receives a session's events in the order they happened, and stores each before it returns. */
export type Sink = (event: AgentEvent) => void;

export type AgentEvent = {
  /** Resumes the session after this event. The session layer stores it with the event's effects. */
  cursor?: string;
} & (
  | { type: "update"; update: ItemUpdate }
  /** More text of a message that the agent is writing, from character `offset` on. Not recorded. */
  | { type: "text"; itemId: string; kind: "message" | "thought"; offset: number; text: string }
  /** The agent waits for an answer. `rule`: why a person is asked. */
  | { type: "request"; key: string; asked: Asked; toolCallId: string | null; rule?: string }
  /** The request was settled without us, for instance at a terminal on the host. */
  | { type: "request_gone"; key: string; answer: PermissionAnswer | null; reason: string | null }
  /** Tokens used by one call of the model. */
  | {
      type: "usage";
      usage: Usage;
      costUsd: number | null;
      costIsEstimate: boolean;
      /** How full the context of the session's own agent is; undefined if it does not report that. */
      context?: UpdateOf<"usage_update">["context"];
    }
  | { type: "title"; title: string }
  /** The agent has condensed its history, by itself or by a slash command. */
  | { type: "compacted" }
  | ({ type: "turn_ended" } & TurnEnd)
  /** The agent's process is gone, and with it the turn and its requests. The session's last event. */
  | { type: "lost"; reason: string }
  /** Carries nothing but a new cursor. */
  | { type: "cursor_moved" }
);

export interface TurnEnd {
  outcome: TurnOutcome;
  /** A sentence for the caller. */
  reason: string | null;
  /** Set if the turn failed because the quota of the account is used up. */
  cause?: "quota";
}

/** What a request asks for. */
export type Asked = { permission: AskedPermission } | { questions: AskedQuestion[] };

/** The session updates that drivers report; the session layer makes all others. */
export type ItemUpdate = Extract<
  SessionUpdate,
  {
    sessionUpdate:
      | "agent_message_chunk"
      | "agent_thought_chunk"
      | "tool_call"
      | "tool_call_update"
      | "plan"
      | "unknown";
  }
>;

/** Says that an agent is not installed, and which action installs it. */
export const notInstalled = (name: string, action = "install_agent_kind") =>
  `${name} is not installed on this host. Call ${action}: it installs ${name}, or reports the installation that is running.`;

/** The agent cannot work now: it is not installed, not logged in, or does not start. */
export class AgentNotReady extends Error {}

/** The agent no longer has the session. */
export class SessionGone extends Error {}

/** The start or the prompt names something that the agent does not offer, such as an unknown model. */
export class NotOffered extends Error {
  /** Field of the caller's input that names it. */
  field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}
