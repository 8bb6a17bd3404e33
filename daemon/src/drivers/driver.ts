// What an agent kind is to the daemon. Each kind fills this interface with its real program; above it
// nobody knows which kind is at work. One suite (conformance.ts in testkit) runs against every driver.
//
// The session layer above owns the queue, the turns, the log and everything on disk. A driver keeps
// nothing that must survive the daemon: what it needs to take up where it was it gives with each event
// as `cursor`, which is stored in the same commit as what the event caused, and gets back in `resume`.
// So no event is recorded twice and none is lost, whoever is killed.
import {
  Capability,
  type AgentKind,
  type AgentKindRecord,
  type AgentPolicy,
  type AskedPermission,
  type AskedQuestion,
  type ModelChoice,
  type ModelListing,
  type PermissionAnswer,
  type SessionUpdate,
  type TurnOutcome,
  type Usage,
} from "@hawser/contract";

export interface Driver {
  kind: AgentKind;
  /** Its processes end with the daemon, so that each session waits for a prompt to come back. */
  endsWithDaemon: boolean;
  /** What it can do, beyond taking prompts. Its capabilities are what is here. */
  abilities: Abilities;
  /** Whether it could work now, and what it offers. Never throws: what is wrong is a problem. */
  readState(signal: AbortSignal): Promise<AgentState>;
  /** Throws AgentNotReady. */
  listModels(signal: AbortSignal): Promise<Omit<ModelListing, "agentKind">>;
  /** The modes and sub-agents that a prompt in this directory may name. Throws AgentNotReady. */
  listModes(directory: string, signal: AbortSignal): Promise<string[]>;
  /**
   * Files of a repository's own that this kind would run unasked, below a directory, relative to it.
   * Looked for before every start, prompt and resume; where one is, the work is refused.
   */
  findProjectConfig(directory: string): Promise<string[]>;
  /** Files of a repository's own that this kind passes over, so that nothing needs to be refused. */
  findIgnoredConfig?(directory: string): Promise<string[]>;
  /** What a worktree is checked out without, as patterns of git's sparse checkout; none for most kinds. */
  sparsePatterns: readonly string[];
  /** Makes the agent's own session. Throws AgentNotReady. */
  start(session: SessionSettings, sink: Sink, signal: AbortSignal): Promise<AgentSession>;
  /**
   * Takes up a session that an earlier daemon, or an earlier process of the agent, had. A turn that is
   * still running goes on, and what was missed is told first; otherwise `turn_ended` tells that it is not.
   * Throws AgentNotReady, and SessionGone when the agent knows nothing of it.
   */
  resume(session: ResumableSession, sink: Sink, signal: AbortSignal): Promise<AgentSession>;
  /** Ends every process of this kind. Each session it served is told `lost`. */
  restart(signal: AbortSignal): Promise<void>;
  /** The daemon stops: lets go of what goes on without it, ends what cannot. No event comes after it. */
  close(): Promise<void>;
  /** Start ids (HAWSER_AGENT) of processes that are its own and alive. */
  liveStarts(): string[];
}

/** Each is proven by cases of the suite, which run where it is claimed. */
export interface Abilities {
  /** Its sessions' changes are compared by git, whatever the kind. */
  diff?: true;
  /** Its agent asks questions. */
  questions?: true;
  /** Its conversation goes back before a message: `AgentSession.revert`. */
  revert?: true;
  subAgents?: true;
  /** Shell commands of callers may run in its sessions; what they gave is told with the next prompt. */
  shell?: true;
  /** Files may go with a prompt. */
  attachments?: true;
  /** It condenses its history when a prompt's task says so. */
  summarize?: true;
  /** Its own slash commands, which a prompt's task may name. */
  commands?: {
    /** Throws AgentNotReady. */
    list(directory: string, signal: AbortSignal): Promise<string[]>;
  };
}

/** As callers know them; not everything a driver can do has a name there. */
export function capabilitiesOf({ abilities }: Pick<Driver, "abilities">): Capability[] {
  return Capability.options.filter((name) => Object.hasOwn(abilities, name));
}

export type AgentState = Omit<AgentKindRecord, "kind">;

export interface SessionSettings {
  sessionId: string;
  /** Where the agent works: the worktree, or the user's directory. */
  directory: string;
  title: string | null;
  model: ModelChoice | null;
  options: Record<string, string>;
  /** What it must ask about. */
  policy: AgentPolicy;
}

export interface ResumableSession extends SessionSettings {
  /** `AgentSession.handle` as it was. */
  handle: string;
  /** Of the last event that was recorded. */
  cursor: string | null;
  /** The turn that was running, if one was. */
  turnId: string | null;
  /** Requests that were open, by the driver's own key. */
  openRequests: readonly string[];
}

export interface AgentSession {
  /** By which the driver finds the agent's session again. Opaque to everyone else. */
  handle: string;
  /** Resolves when the agent has taken it. Only called while no turn runs. */
  prompt(prompt: Prompt, signal: AbortSignal): Promise<void>;
  /** Stops the running turn. Its end comes as `turn_ended`; requests it had open are gone without a word. */
  abort(signal: AbortSignal): Promise<void>;
  /** `accepted` only when the agent has taken the answer; `gone` when it no longer waits for it. */
  answer(key: string, answer: RequestAnswer, signal: AbortSignal): Promise<"accepted" | "gone">;
  rename(title: string, signal: AbortSignal): Promise<void>;
  /**
   * Takes the conversation back to before one of our messages; only called while no turn runs. `unknown`
   * when the agent never had it: then nothing has changed. Files are the session layer's. Only where the
   * driver has the capability.
   */
  revert?(messageId: string, signal: AbortSignal): Promise<"reverted" | "unknown">;
  /** Ends the agent's own session and frees what it holds. Its directory may be gone afterwards. */
  end(signal: AbortSignal): Promise<void>;
  /** No more events to its sink; the agent's session stays. */
  release(): void;
}

export interface Prompt {
  turnId: string;
  messageId: string;
  task: Task;
  /** The arguments, where a command is to be run. */
  text: string;
  /** What happened since the last prompt that the agent should know, before the text. */
  context: readonly string[];
  attachments: readonly PromptAttachment[];
  /** What holds for this prompt; the driver sends all of it every time. */
  model: ModelChoice | null;
  options: Record<string, string>;
  agent: string | null;
}

/** What a turn is for: to answer the text, to run a slash command, or to condense the history. */
export type Task = { type: "prompt" } | { type: "command"; name: string } | { type: "summarize" };

/** A file that goes with a prompt; it is there until the turn has ended. */
export interface PromptAttachment {
  /** As the caller says; nobody has looked. */
  mime: string;
  filename: string | null;
  path: string;
}

/**
 * `always` is not among them: the session layer remembers the exact rules that were shown, for that
 * session, and answers what they cover with `once`. So it never widens, whatever the agent makes of it.
 * A rejected permission is told to the agent as text where its own way of rejecting would end the turn.
 */
export type RequestAnswer =
  { permission: "once" | "reject" } | { answers: string[][] } | { dismiss: true };

/** Called in the order things happened. It writes to disk before it returns. */
export type Sink = (event: AgentEvent) => void;

export type AgentEvent = {
  /** Everything up to and with this event is told; stored with what it causes. */
  cursor?: string;
} & (
  | { type: "update"; update: ItemUpdate }
  /** More of a message that is being written, from this character on. Not recorded. */
  | { type: "text"; itemId: string; kind: "message" | "thought"; offset: number; text: string }
  | { type: "request"; key: string; asked: Asked; toolCallId: string | null }
  /** Settled without us, for instance at a terminal on the host. */
  | { type: "request_gone"; key: string; answer: PermissionAnswer | null; reason: string | null }
  /** Used by one call of the model. */
  | { type: "usage"; usage: Usage; costUsd: number | null; costIsEstimate: boolean }
  | { type: "title"; title: string }
  /** It has condensed what was said before, by itself or by a command of its own. */
  | { type: "compacted" }
  | { type: "turn_ended"; outcome: TurnOutcome; reason: string | null }
  /** The agent's process is gone, and with it the turn and its requests. Nothing comes after it. */
  | { type: "lost"; reason: string }
  /** Nothing to record but the cursor. */
  | { type: "cursor_moved" }
);

export type Asked = { permission: AskedPermission } | { questions: AskedQuestion[] };

/** The updates a driver makes; the others are the session layer's. */
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

/** The agent cannot work now: not installed, not logged in, or it does not start. */
export class AgentNotReady extends Error {}

/** The agent has no such session any more. */
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
