// What a transcript shows: one row for each thing that a person reads. Rows are made from log entries by rows.ts and
// drawn by transcript.tsx.
import type { SessionUpdate } from "@hawser/client";

/** An entry as the service sends it. A later service may send words that this page does not know. */
export interface Entry {
  /** 1, 2, 3 … in each session. */
  seq: number;
  at: string;
  turnId: string | null;
  update: Record<string, unknown> & { sessionUpdate: string };
}

export type UpdateOf<Word extends SessionUpdate["sessionUpdate"]> = Extract<
  SessionUpdate,
  { sessionUpdate: Word }
>;

export type ToolContent = UpdateOf<"tool_call_update">["content"][number];
export type PlanStep = UpdateOf<"plan">["entries"][number];
export type AskedPermission = NonNullable<UpdateOf<"request_raised">["permission"]>;

export interface Call {
  toolCallId: string;
  /** read, edit, execute …; a later service may send others. */
  kind: string;
  title: string;
  rawInput: unknown;
  seq: number;
  at: string;
  turnId: string | null;
  /** unfinished: its turn is over, and no end was reported. */
  state: "running" | "completed" | "failed" | "unfinished";
  endedAt: string | undefined;
  /** How a command ended, if the agent reports it. */
  exitCode: number | undefined;
  content: ToolContent[];
  /** Which rule decided, if no person was asked. */
  decided: { answer: "allow" | "deny"; rule: string; mode: string } | undefined;
}

interface Drawn {
  /** Stays the same while the row changes, so that its height and its focus are kept. */
  key: string;
  /** The first entry of the row; null for text that is being written. */
  seq: number | null;
}

export type SentFile = NonNullable<UpdateOf<"user_message_chunk">["attachments"]>[number];

export interface PromptRow extends Drawn {
  is: "prompt";
  messageId: string;
  turnId: string | null;
  at: string;
  text: string;
  /** The user who sent it; null if no user did, undefined if the log does not say it. */
  by: string | null | undefined;
  files: readonly SentFile[];
}

export interface ProseRow extends Drawn {
  is: "prose";
  text: string;
  /** Still being written. */
  isOpen: boolean;
}

export interface ThoughtRow extends Drawn {
  is: "thought";
  text: string;
  /** Time since the entry before; undefined if that is not loaded. */
  ms: number | undefined;
  isOpen: boolean;
}

export interface CallRow extends Drawn {
  is: "call";
  call: Call;
}

/** A run of calls that need nobody's attention. */
export interface FoldRow extends Drawn {
  is: "fold";
  calls: Call[];
}

/** A sub-agent. */
export interface LaneRow extends Drawn {
  is: "lane";
  call: Call;
  state: Call["state"];
  /** What it does now: the title of its last call. */
  now: string | undefined;
  callCount: number;
  rows: Row[];
}

/** Sub-agents that have finished. */
export interface LanesRow extends Drawn {
  is: "lanes";
  lanes: LaneRow[];
}

export interface PlanRow extends Drawn {
  is: "plan";
  steps: PlanStep[];
  /** Earlier versions, the oldest first. */
  earlier: PlanStep[][];
}

export interface ShellRow extends Drawn {
  is: "shell";
  shellId: string;
  output: string;
  isOpen: boolean;
  exitCode: number | null;
  reason: string | null;
}

/** A thin line; notes.ts has its words. */
export interface NoteRow extends Drawn {
  is: "note";
  at: string;
  note: Note;
}

/** Rows that a revert took back. */
export interface RevertedRow extends Drawn {
  is: "reverted";
  at: string;
  rows: Row[];
}

export type Row =
  | PromptRow
  | ProseRow
  | ThoughtRow
  | CallRow
  | FoldRow
  | LaneRow
  | LanesRow
  | PlanRow
  | ShellRow
  | NoteRow
  | RevertedRow;

export interface TurnEnd {
  outcome: string;
  reason: string | null;
  /** Undefined if the beginning of the log is not loaded. */
  number: number | undefined;
  ms: number | undefined;
  costUsd: number | undefined;
  costIsEstimate: boolean;
}

export type Note =
  | { of: "turn"; end: TurnEnd }
  | {
      of: "request";
      outcome: string;
      answer: string | null;
      answers: string[][] | null;
      reason: string | null;
      /** Undefined if the request itself is not loaded. */
      permission: AskedPermission | undefined;
      question: string | undefined;
      requestId: string;
    }
  | { of: "model"; model: string | undefined; agent: string | undefined }
  | { of: "dropped"; text: string | undefined; messageId: string; isRemoved: boolean }
  | { of: "entry"; update: SessionUpdate }
  | { of: "cut"; word: string; size: number; omitted: string | undefined }
  | { of: "unknown"; update: Entry["update"] };

/** A prompt that waits for an earlier turn. */
export interface WaitingPrompt {
  messageId: string;
  turnId: string | null;
  text: string;
  at: string;
}

export type QueueUpdate = UpdateOf<
  "prompt_queued" | "prompt_changed" | "prompt_moved" | "prompt_dropped" | "turn_started"
>;

/** An entry that changes what waits. */
export interface QueueEntry {
  seq: number;
  at: string;
  update: QueueUpdate;
}

export interface RunningTurn {
  turnId: string;
  /** Undefined if its beginning is not loaded. */
  startedAt: string | undefined;
  messageId: string | undefined;
  lanes: { running: number; total: number };
}

/** What the log says beside its rows. */
export interface LogState {
  /** The newest entry; 0 without one. */
  lastSeq: number;
  turn: RunningTurn | undefined;
  /** In the order in which they run. */
  waiting: readonly WaitingPrompt[];
  /** What has changed the queue, as far as the log is loaded. */
  queueEntries: readonly QueueEntry[];
  /** Every prompt of the log and of the queue, by its message. */
  hasPrompt: (messageId: string) => boolean;
  /** The users who have sent prompts. */
  authors: ReadonlySet<string>;
  /** Requests that were raised and not settled, as far as the log is loaded. */
  openRequests: number;
  /** The newest entry that has changed which rules the session has stored; 0 without one. */
  rulesSeq: number;
  /** Shell commands that run. */
  shells: number;
  usage: UpdateOf<"usage_update"> | undefined;
  /** How full the model's context is; undefined if it is not reported, and after it was emptied. */
  context: UpdateOf<"usage_update">["context"];
  isEnded: boolean;
}
