// One open session's log: pages of entries, live text, the record of the stream, and the rows made of them. Whoever
// draws it is told at most once per frame.
import type { Session } from "@hawser/client";
import type { ConnectionState } from "../../streams/connection.ts";
import { addPiece, type LiveItem, type LivePiece } from "../../streams/live-text.ts";
import type { SessionViewOptions } from "../../streams/view.ts";
import type { Entry, LogState, Row } from "./row.ts";
import { createRows } from "./rows.ts";

export interface LogPage {
  events: Entry[];
  lastSeq: number;
}

/** Entries that came in while the connection was away. */
export interface CaughtUp {
  count: number;
  from: number;
  to: number;
}

export interface LogSnapshot {
  phase: "loading" | "ready" | "failed";
  error: unknown;
  rows: readonly Row[];
  state: LogState;
  /** The newest record of the session that the stream has sent. */
  record: Session | undefined;
  connection: ConnectionState;
  hasOlder: boolean;
  caughtUp: CaughtUp | undefined;
  /** The newest entry after which the session's files may be others; 0 without one. */
  filesSeq: number;
}

type Follow = Pick<
  SessionViewOptions,
  "after" | "onEntry" | "onLive" | "onRecord" | "onOpen" | "onState" | "signal"
>;

export interface LogSource {
  /** The newest entries. */
  readLast: (limit: number, signal: AbortSignal) => Promise<LogPage>;
  /** Entries after a `seq`; may return fewer than `limit` if they are large. */
  readAfter: (after: number, limit: number, signal: AbortSignal) => Promise<LogPage>;
  follow: (options: Follow) => Promise<void>;
  /** Runs a function before the next frame is drawn. */
  onFrame: (draw: () => void) => void;
  later: (ms: number, run: () => void) => void;
  now: () => number;
}

export interface SessionLog {
  get: () => LogSnapshot;
  /** For `useSyncExternalStore`. */
  subscribe: (onChange: () => void) => () => void;
  /** Reads the newest page, then follows the session until `stop`. */
  start: () => void;
  stop: () => void;
  /** Reads the page before the first entry. No-op while one is read. */
  loadOlder: () => Promise<void>;
  /** Reads all entries back to one of them, and some before it. */
  loadBackTo: (seq: number) => Promise<void>;
  /** Undefined if it is not loaded. */
  entryAt: (seq: number) => Entry | undefined;
}

const pageSize = 200;
/** The most that the service returns at once. */
const largestPage = 500;
/** Entries that arrive this soon after a connection were missed while it was away. */
const catchingUpMs = 1_500;
const caughtUpShownMs = 10_000;

export function createSessionLog(source: LogSource): SessionLog {
  const listeners = new Set<() => void>();
  let entries: Entry[] = [];
  let rows = createRows();
  /** Kept beside the rows, because rows are made again when an older page arrives. */
  const lives = new Map<string, LiveItem>();
  let phase: LogSnapshot["phase"] = "loading";
  let error: unknown;
  let record: Session | undefined;
  let connection: ConnectionState = { is: "connecting", since: undefined };
  let caughtUp: CaughtUp | undefined;
  let lostAt: number | undefined;
  let filesSeq = 0;
  let catchingUntil = 0;
  let running: AbortController | undefined;
  let older: Promise<void> | undefined;
  let snapshot: LogSnapshot | undefined;
  let isDrawing = false;

  const changed = () => {
    snapshot = undefined;
    if (isDrawing) return;
    isDrawing = true;
    source.onFrame(() => {
      isDrawing = false;
      for (const listener of listeners) listener();
    });
  };
  const addEntry = (entry: Entry) => {
    entries.push(entry);
    rows.add(entry);
    if (mayChangeFiles(entry)) filesSeq = entry.seq;
    const { messageId, shellId } = entry.update as { messageId?: string; shellId?: string };
    if (messageId !== undefined) lives.delete(messageId);
    if (entry.update.sessionUpdate === "shell" && shellId !== undefined) lives.delete(shellId);
    if (source.now() < catchingUntil && lostAt !== undefined) {
      caughtUp = { count: (caughtUp?.count ?? 0) + 1, from: lostAt, to: source.now() };
    }
    changed();
  };
  const rebuild = (all: Entry[]) => {
    entries = all;
    rows = createRows();
    for (const entry of all) rows.add(entry);
    for (const item of lives.values()) rows.addLive({ ...item, offset: 0 });
    changed();
  };
  const followFrom = (signal: AbortSignal) =>
    source.follow({
      after: entries.at(-1)?.seq ?? 0,
      signal,
      onEntry: (entry) => addEntry(entry),
      onLive(piece: LivePiece) {
        lives.set(piece.itemId, addPiece(lives.get(piece.itemId), piece));
        rows.addLive(piece);
        changed();
      },
      onRecord(next) {
        record = next as Session;
        changed();
      },
      onOpen(isAgain) {
        if (!isAgain) return;
        caughtUp = undefined;
        catchingUntil = source.now() + catchingUpMs;
        source.later(catchingUpMs, changed);
        source.later(caughtUpShownMs, () => {
          caughtUp = undefined;
          changed();
        });
      },
      onState(state) {
        if (connection.is === "live" && state.is === "connecting") lostAt = state.since;
        connection = state;
        changed();
      },
    });
  const run = async (signal: AbortSignal) => {
    try {
      if (entries.length === 0) {
        const page = await source.readLast(pageSize, signal);
        for (const entry of page.events) addEntry(entry);
      }
      phase = "ready";
      error = undefined;
      changed();
      await followFrom(signal);
    } catch (failure) {
      if (signal.aborted) return;
      phase = entries.length === 0 ? "failed" : "ready";
      error = failure;
      changed();
    }
  };
  const readOlder = async (back: number) => {
    const first = entries[0]?.seq ?? 1;
    const signal = running?.signal ?? new AbortController().signal;
    const page: Entry[] = [];
    for (let after = Math.max(0, back); after < first - 1; after = page.at(-1)!.seq) {
      const limit = Math.min(first - 1 - after, largestPage);
      const { events } = await source.readAfter(after, limit, signal);
      // The service always returns at least one; without any this would never end.
      if (events.length === 0) return;
      page.push(...events.filter(({ seq }) => seq < first));
    }
    rebuild([...page, ...entries]);
  };

  const log: SessionLog = {
    get: () =>
      (snapshot ??= {
        phase,
        error,
        rows: rows.rows(),
        state: rows.state(),
        record,
        connection,
        hasOlder: (entries[0]?.seq ?? 1) > 1,
        caughtUp: source.now() < catchingUntil ? undefined : caughtUp,
        filesSeq,
      }),
    subscribe(onChange) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
    start() {
      if (running) return;
      running = new AbortController();
      phase = entries.length === 0 ? "loading" : "ready";
      void run(running.signal);
    },
    stop() {
      running?.abort();
      running = undefined;
    },
    loadOlder() {
      const first = entries[0]?.seq ?? 1;
      if (first <= 1) return Promise.resolve();
      older ??= readOlder(first - 1 - pageSize).finally(() => (older = undefined));
      return older;
    },
    async loadBackTo(seq) {
      await older;
      if ((entries[0]?.seq ?? 1) <= Math.max(1, seq)) return;
      older = readOlder(seq - 1 - pageSize / 4).finally(() => (older = undefined));
      await older;
    },
    entryAt: (seq) => entries[seq - (entries[0]?.seq ?? 1)],
  };
  return log;
}

function mayChangeFiles({ update }: Entry): boolean {
  if (update.sessionUpdate === "tool_call_update") {
    const content = update["content"] as { type: string }[] | undefined;
    return content?.some(({ type }) => type === "patch") === true;
  }
  return ["shell", "turn_finished", "session_reverted"].includes(update.sessionUpdate);
}
