// The sessions that this daemon drives: the directory of each, the handle of its agent's session, the
// position in the agent's events, the queue of prompts and the requests that wait for an answer. They are
// in the journal's file, so that an event's effect here and its log entry are one commit.
import type { DatabaseSync } from "node:sqlite";
import type {
  AgentKind,
  AgentPolicy,
  ModelChoice,
  SessionMode,
  TrustedPart,
  Usage,
} from "@hawser/contract";
import type { Asked, PromptAttachment, RequestAnswer, Task } from "../drivers/driver.ts";
import { transact } from "./database.ts";
import { createStoredRules, type StoredRules } from "./stored-rules.ts";

/**
 * starting: the daemon prepares its directory and its agent. active: the agent can be prompted. detached: the
 * agent was stopped; the next prompt starts it. error: the agent was lost; the next prompt tries to start
 * it. ending: the daemon is cleaning up, or the cleaning up failed.
 */
export type DrivenState = "starting" | "active" | "detached" | "error" | "ending";

/** The worktree that the daemon made for a session. */
export interface OwnWorktree {
  repository: string;
  branch: string;
  adminDirectory: string | null;
  baseCommit: string | null;
  /** The branch that the repository had checked out at the start; null or missing if it is not known. */
  baseBranch?: string | null;
}

/** The clone that the daemon made for a session. */
export interface OwnCheckout {
  directory: string;
  repo: string | null;
  url: string | null;
  /** Whether the code-hosting client's account cloned it; that account also pushes. */
  viaClient: boolean;
}

/** Parts of its repository's own configuration that a session uses, as the log shows them. */
export interface TrustedConfig {
  origin: string;
  parts: readonly TrustedPart[];
  paths: readonly string[];
  /** Why trusted parts are not used; null if all are. */
  reason: string | null;
}

export interface DrivenSession {
  sessionId: string;
  kind: AgentKind;
  /** The agent's working directory. */
  directory: string;
  worktree: OwnWorktree | null;
  /** The directory it was started in, as callers name it; missing in records of earlier versions. */
  startedIn?: string;
  /** The commit its files are compared with; null outside of git. */
  baseCommit?: string | null;
  /** The tree of its baseline, if there was no commit at the start. */
  baselineTree?: string;
  /** Why it has no baseline. */
  baselineProblem?: string;
  /** The session whose worktree this one was restored from. */
  restoredFrom?: string | null;
  /** Number of snapshots of its worktree so far; the next one's name counts on. */
  snapshotCount?: number;
  checkout?: OwnCheckout;
  /** The address of origin at the start, before an agent could change it; null if there is no origin. */
  origin?: string | null;
  /** The branch it pushes to, if it has no branch of its own. */
  pushBranch?: string;
  /** The commit that was pushed last. */
  pushedCommit?: string;
  title: string | null;
  /** Whether a caller set the title; the agent's title does not replace it then. */
  isTitledByCaller: boolean;
  model: ModelChoice | null;
  options: Record<string, string>;
  policy: AgentPolicy;
  /** undefined in a record of an earlier daemon: ask. */
  mode?: SessionMode;
  /** undefined if the organization does not trust the repository. */
  trusted?: TrustedConfig;
  state: DrivenState;
  /** The driver finds the agent's session by it; null until there is one. */
  handle: string | null;
  cursor: string | null;
  usage: Usage | null;
  costUsd: number | null;
  costIsEstimate: boolean;
  /** Shell commands that are running. Their text is not recorded anywhere. */
  shells?: readonly KeptShell[];
  /** Notes that the agent receives with its next prompt. */
  untold?: readonly string[];
  /** The session that this one continues. */
  fork?: Fork;
  /** Whose account its agent uses; undefined for the login of the host's user. */
  ownerId?: string;
  /** Whom the owner allows to prompt it; null: every person. undefined: only the owner. */
  guests?: readonly string[] | null;
}

export interface Fork {
  originalId: string;
  /** Whether it has the original's files. Otherwise it began as a new session does. */
  hasFiles: boolean;
  /** Whether the agent reads a summary instead of the conversation. */
  isSummary: boolean;
  /** The prompt with which the agent received the earlier conversation; null before that. */
  deliveredWith: string | null;
}

/** Initial fields of every session, before its agent exists. */
export const beginning = {
  state: "starting",
  handle: null,
  cursor: null,
  usage: null,
  costUsd: null,
  costIsEstimate: false,
} as const satisfies Partial<DrivenSession>;

export interface KeptShell {
  shellId: string;
  agent: string | null;
}

export interface KeptPrompt {
  turnId: string;
  messageId: string;
  text: string;
  model: ModelChoice | null;
  options: Record<string, string>;
  agent: string | null;
  /** undefined for a plain prompt. */
  task?: Task;
  attachments?: readonly PromptAttachment[];
  /** The user who sent it; undefined if no person did. */
  by?: string;
  /** True if the agent was idle when the prompt was accepted. The log has no prompt_queued entry for it then. */
  startsAtOnce?: boolean;
  /** The entry of the newest change of its text. */
  changedSeq?: number;
  /** People who edit the prompt. It is not run before each `until`, in milliseconds. */
  holds?: readonly PromptHold[];
  /** The turn that is stopped, so that this prompt runs next. */
  stopsTurnId?: string;
  /** `sent` is recorded before the agent receives the prompt, so that it never receives it twice. */
  state: "queued" | "sent";
}

export interface PromptHold {
  /** The user; null if no person holds it. */
  by: string | null;
  until: number;
}

/** An answer as the agent received it, and as the log shows it. */
export interface GivenAnswer {
  answer: "once" | "always" | "reject" | null;
  answers: string[][] | null;
  toAgent: RequestAnswer;
  /** The user who answered; undefined if no person did. */
  by?: string;
}

export interface KeptRequest {
  requestId: string;
  sessionId: string;
  /** The driver's key of the request. */
  key: string;
  asked: Asked;
  shownHash: string;
  /** `granted`: a remembered rule covers the request, so the daemon answers it without asking a user. */
  state: "open" | "granted";
  /** The answer that was sent to the agent; null before that. Whether the agent accepted it may be unknown. */
  given: GivenAnswer | null;
}

export interface DrivenSessions extends StoredRules {
  add(session: DrivenSession): void;
  /** undefined if the session has ended. */
  get(sessionId: string): DrivenSession | undefined;
  hasEnded(sessionId: string): boolean;
  /** The sessions that have not ended. */
  list(): DrivenSession[];
  change(sessionId: string, changes: Partial<Omit<DrivenSession, "sessionId">>): void;
  remove(sessionId: string): void;
  /** In the order in which they run; the prompt of the running turn comes first. */
  prompts(sessionId: string): KeptPrompt[];
  addPrompt(sessionId: string, prompt: KeptPrompt): void;
  changePrompt(prompt: KeptPrompt): void;
  /** Puts the queued prompts into the order of these turns, which must name all of them. */
  orderPrompts(sessionId: string, turnIds: readonly string[]): void;
  markSent(turnId: string): void;
  removePrompt(turnId: string): void;
  request(requestId: string): KeptRequest | undefined;
  requestByKey(sessionId: string, key: string): KeptRequest | undefined;
  /** The requests that the agent waits for, oldest first. */
  openRequests(sessionId: string): KeptRequest[];
  addRequest(request: KeptRequest): void;
  /** Marks a granted request as open, so that a user answers it. */
  openRequest(requestId: string): void;
  noteGiven(requestId: string, given: GivenAnswer): void;
  removeRequest(requestId: string): void;
  /** What the agent of a fork reads of the earlier conversation; undefined if it reads nothing. */
  conversation(sessionId: string): string | undefined;
  setConversation(sessionId: string, text: string): void;
  /** Keeps the session's id and deletes the rest. Records the id of an unknown session as ended, too. */
  markEnded(sessionId: string): void;
  /** Drops the ids of sessions that ended before this time, in milliseconds. */
  dropEnded(before: number): void;
}

export function createDrivenSessions(database: DatabaseSync, now: () => number): DrivenSessions {
  const prepare = (sql: string) => database.prepare(sql);
  const insert = prepare(
    `INSERT INTO driven_sessions (session_id, state, handle, cursor, facts) VALUES (?, ?, ?, ?, ?)`,
  );
  const select = prepare(`SELECT * FROM driven_sessions WHERE session_id = ? AND state <> 'ended'`);
  const selectEnded = prepare(
    `SELECT 1 FROM driven_sessions WHERE session_id = ? AND state = 'ended'`,
  );
  const selectLive = prepare(`SELECT * FROM driven_sessions WHERE state <> 'ended'`);
  const update = prepare(
    `UPDATE driven_sessions SET state = ?, handle = ?, cursor = ?, facts = ? WHERE session_id = ?`,
  );
  const remove = prepare(`DELETE FROM driven_sessions WHERE session_id = ?`);
  const end = prepare(
    `INSERT INTO driven_sessions (session_id, state, ended_at) VALUES (?1, 'ended', ?2)
     ON CONFLICT (session_id) DO UPDATE
       SET state = 'ended', ended_at = ?2, facts = NULL, handle = NULL, cursor = NULL`,
  );
  const dropEnded = prepare(`DELETE FROM driven_sessions WHERE state = 'ended' AND ended_at < ?`);
  const ofSession = ["driven_prompts", "driven_requests", "remembered_rules", "conversations"].map(
    (table) => prepare(`DELETE FROM ${table} WHERE session_id = ?`),
  );
  const insertPrompt = prepare(
    `INSERT INTO driven_prompts (session_id, turn_id, state, prompt) VALUES (?, ?, ?, ?)`,
  );
  const selectPrompts = prepare(
    `SELECT state, prompt FROM driven_prompts WHERE session_id = ? ORDER BY state = 'queued', position`,
  );
  const markSent = prepare(`UPDATE driven_prompts SET state = 'sent' WHERE turn_id = ?`);
  const changePrompt = prepare(`UPDATE driven_prompts SET prompt = ? WHERE turn_id = ?`);
  const removePrompt = prepare(`DELETE FROM driven_prompts WHERE turn_id = ?`);
  const insertRequest = prepare(
    `INSERT INTO driven_requests (request_id, session_id, driver_key, shown_hash, state, asked)
     VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const selectRequest = prepare(`SELECT * FROM driven_requests WHERE request_id = ?`);
  const selectByKey = prepare(
    `SELECT * FROM driven_requests WHERE session_id = ? AND driver_key = ? ORDER BY position DESC LIMIT 1`,
  );
  const selectOpen = prepare(
    `SELECT * FROM driven_requests WHERE session_id = ? ORDER BY position`,
  );
  const openRequest = prepare(`UPDATE driven_requests SET state = 'open' WHERE request_id = ?`);
  const noteGiven = prepare(`UPDATE driven_requests SET given = ? WHERE request_id = ?`);
  const removeRequest = prepare(`DELETE FROM driven_requests WHERE request_id = ?`);

  const selectConversation = prepare(`SELECT text FROM conversations WHERE session_id = ?`);
  const insertConversation = prepare(
    `INSERT INTO conversations (session_id, text) VALUES (?, ?)
     ON CONFLICT (session_id) DO UPDATE SET text = excluded.text`,
  );

  const write = (work: () => unknown) => void transact(database, work);
  const get = (sessionId: string) => readSession(select.get(sessionId));
  const prompts = (sessionId: string) => selectPrompts.all(sessionId).map(readPrompt);
  const getRequest = (requestId: string) => readRequest(selectRequest.get(requestId));

  return {
    add({ sessionId, state, handle, cursor, ...facts }) {
      write(() => insert.run(sessionId, state, handle, cursor, JSON.stringify(facts)));
    },
    get,
    hasEnded: (sessionId) => selectEnded.get(sessionId) !== undefined,
    list: () => selectLive.all().map((row) => readSession(row)!),
    change(sessionId, changes) {
      write(() => {
        const known = get(sessionId);
        if (!known) throw new Error(`There is no session ${sessionId}.`);
        const { sessionId: _, state, handle, cursor, ...facts } = { ...known, ...changes };
        update.run(state, handle, cursor, JSON.stringify(facts), sessionId);
      });
    },
    remove(sessionId) {
      write(() => {
        for (const statement of [...ofSession, remove]) statement.run(sessionId);
      });
    },
    prompts,
    addPrompt(sessionId, { state, ...prompt }) {
      write(() => insertPrompt.run(sessionId, prompt.turnId, state, JSON.stringify(prompt)));
    },
    changePrompt(changed) {
      const { state: _, ...prompt } = changed;
      write(() => changePrompt.run(JSON.stringify(prompt), prompt.turnId));
    },
    orderPrompts(sessionId, turnIds) {
      write(() => {
        const known = new Map(prompts(sessionId).map((prompt) => [prompt.turnId, prompt]));
        for (const turnId of turnIds) {
          const { state, ...prompt } = known.get(turnId)!;
          // A new row comes behind all others.
          removePrompt.run(turnId);
          insertPrompt.run(sessionId, turnId, state, JSON.stringify(prompt));
        }
      });
    },
    markSent: (turnId) => write(() => markSent.run(turnId)),
    removePrompt: (turnId) => write(() => removePrompt.run(turnId)),
    request: getRequest,
    requestByKey: (sessionId, key) => readRequest(selectByKey.get(sessionId, key)),
    openRequests: (sessionId) => selectOpen.all(sessionId).map((row) => readRequest(row)!),
    addRequest({ requestId, sessionId, key, shownHash, state, asked }) {
      const text = JSON.stringify(asked);
      write(() => insertRequest.run(requestId, sessionId, key, shownHash, state, text));
    },
    openRequest: (requestId) => write(() => openRequest.run(requestId)),
    noteGiven: (requestId, given) => write(() => noteGiven.run(JSON.stringify(given), requestId)),
    removeRequest: (requestId) => write(() => removeRequest.run(requestId)),
    ...createStoredRules(database),
    conversation: (sessionId) => selectConversation.get(sessionId)?.["text"] as string | undefined,
    setConversation: (sessionId, text) => write(() => insertConversation.run(sessionId, text)),
    markEnded(sessionId) {
      write(() => {
        for (const statement of ofSession) statement.run(sessionId);
        end.run(sessionId, now());
      });
    },
    dropEnded: (before) => write(() => dropEnded.run(before)),
  };
}

type Row = Record<string, unknown> | undefined;

function readSession(row: Row): DrivenSession | undefined {
  if (!row) return undefined;
  const { session_id, state, handle, cursor, facts } = row;
  const known = JSON.parse(facts as string) as object;
  return { ...known, sessionId: session_id, state, handle, cursor } as DrivenSession;
}

function readPrompt({ state, prompt }: Record<string, unknown>): KeptPrompt {
  const known = JSON.parse(prompt as string) as Omit<KeptPrompt, "state">;
  return { ...known, state: state as KeptPrompt["state"] };
}

function readRequest(row: Row): KeptRequest | undefined {
  if (!row) return undefined;
  const { request_id, session_id, driver_key, shown_hash, state, asked, given } = row;
  return {
    requestId: request_id as string,
    sessionId: session_id as string,
    key: driver_key as string,
    shownHash: shown_hash as string,
    state: state as KeptRequest["state"],
    asked: JSON.parse(asked as string) as Asked,
    given: given === null ? null : (JSON.parse(given as string) as GivenAnswer),
  };
}
