// A session as one viewer sees it: its record, at first and when it changes, its log after a seq, and
// the text that is being written. The viewer sets the pace until it reaches the newest entry. From then
// on a viewer that does not keep up is cut off with `resync` before much waits for it.
import { formatId, notFound, parseId } from "@hawser/contract";
import { unavailable } from "../dispatch/unavailable.ts";
import { DatabaseUnavailable, type Database } from "../postgres/database.ts";
import type { SessionViews, ViewFrame } from "../transports/session-stream.ts";
import { followLog, type Follower, type Follows } from "./follow.ts";
import { selectEntriesOf, type LogRow } from "./follow-store.ts";
import { isOver } from "../sessions/lifecycle.ts";
import type { LiveWatch } from "./live-watch.ts";
import { selectSessionVersion } from "../sessions/store.ts";

interface ViewParts {
  database: Pick<Database, "tenant">;
  follows: Follows;
  live: LiveWatch;
}

const pageEntries = 500;
const pageBytes = 256 * 1024;
/** Limits of what waits for a viewer, in characters: before it reaches the newest entry, and after. */
const readAhead = 512 * 1024;
const mostWaiting = 2 * 1024 * 1024;
const mostAtOnce = 256 * 1024;

export function createSessionViews({ database, follows, live }: ViewParts): SessionViews {
  const sharedReads = new Map<string, Promise<LogRow[]>>();

  /** Viewers that wait for the same entries share one read. */
  function readShared(organizationId: string, sessionId: string, after: number) {
    const key = `${sessionId} ${after}`;
    let read = sharedReads.get(key);
    if (!read) {
      read = database
        .tenant(organizationId)
        .rows(selectEntriesOf(sessionId), organizationId, sessionId, after, pageEntries, pageBytes)
        .finally(() => sharedReads.delete(key));
      sharedReads.set(key, read);
    }
    return read;
  }

  return {
    async open(caller, shownId, after) {
      const { organizationId } = caller;
      const sessionId = parseId("session", shownId);
      if (!sessionId) return undefined;
      // The caller's own read decides whether the caller reaches the session. All later reads are shared. Only a
      // grant can end before the session, which refusalOf finds out.
      const sql = database.tenant(caller);
      const row = await sql.first(selectSessionVersion, organizationId, sessionId);
      if (!row) return undefined;
      const session = { organizationId, sessionId };
      const waiting = createWaiting();
      const ended = new AbortController();
      const watched = { instanceId: formatId("instance", row.instance_id), sessionId: shownId };
      let unwatch = () => {};

      let notifyOfRecord = () => {};
      /** The record changed while there was no room for it. */
      let isRecordOwed = false;
      let shownVersion: string | undefined;
      const sessionLog = {
        follow(follower: Follower) {
          notifyOfRecord = () => follower.recordChanged();
          return follows.follow(session, follower);
        },
        settled: () => follows.settled(),
        read: (from: number) => readShared(organizationId, sessionId, from),
        async appliedSeq() {
          const record = await follows.readRecord(session);
          // What the other viewers share may be older than what this caller has just read.
          if (record && record.version !== row.record_version) follows.recordChanged(session);
          return record && Math.max(record.appliedSeq, row.applied_seq);
        },
      };
      let isAtNewest = after >= row.applied_seq;
      const watchLive = () => {
        if (isOver(row.status) || ended.signal.aborted) return;
        unwatch = live.watch(watched, (text) => {
          if (waiting.size() < readAhead) waiting.add({ event: "live", text });
        });
      };
      const following = followLog(sessionLog, {
        after,
        signal: ended.signal,
        async entries(rows, isNewest) {
          if (isAtNewest && waiting.size() > mostWaiting) return cut();
          for (const entry of rows) waiting.add(entryFrame(shownId, entry));
          // Send live text only after the entries that precede it.
          if (isNewest && !isAtNewest) {
            isAtNewest = true;
            watchLive();
          }
          if (!isAtNewest) await waiting.below(readAhead);
        },
        async recordChanged() {
          const record = await follows.readRecord(session);
          if (!record) return ended.abort();
          if (record.version === shownVersion) return;
          isRecordOwed = waiting.size() >= readAhead;
          if (isRecordOwed) return;
          shownVersion = record.version;
          waiting.add({ event: "record", text: record.text });
        },
      });
      if (isAtNewest) watchLive();
      // Whatever the reason for the end, the viewer connects again and continues.
      void following.catch(() => {}).finally(end);

      function cut(): void {
        waiting.add({ event: "resync", text: JSON.stringify({ sessionId: shownId }) });
        end();
      }
      function end(): void {
        ended.abort();
        unwatch();
        waiting.end();
      }
      async function next(): Promise<ViewFrame[]> {
        const frames = await waiting.take(mostAtOnce);
        if (isRecordOwed && waiting.size() < readAhead) {
          isRecordOwed = false;
          notifyOfRecord();
        }
        return frames;
      }
      function close(): void {
        end();
        // Whoever may no longer view the session gets nothing of what waited.
        waiting.drop();
      }
      return { next, close };
    },
    async refusalOf(caller, shownId) {
      if (caller.grantedAt === undefined) return undefined;
      const sessionId = parseId("session", shownId);
      try {
        const sql = database.tenant(caller);
        const row = await sql.first(selectSessionVersion, caller.organizationId, sessionId);
        return row ? undefined : notFound("session");
      } catch (error) {
        if (error instanceof DatabaseUnavailable) return unavailable(error);
        throw error;
      }
    },
  };
}

function entryFrame(sessionId: string, { seq, at, turn_id, update }: LogRow): ViewFrame {
  const head = JSON.stringify({ sessionId, seq, at, turnId: turn_id });
  return { event: "entry", id: seq, text: `${head.slice(0, -1)},"update":${update}}` };
}

/** Frames that wait for one viewer. */
function createWaiting() {
  const queue = { frames: [] as ViewFrame[], size: 0, isOver: false };
  let wakeReader = () => {};
  let wakeWriter = () => {};
  return {
    size: () => queue.size,
    add(frame: ViewFrame): void {
      if (queue.isOver) return;
      queue.frames.push(frame);
      queue.size += frame.text.length;
      wakeReader();
    },
    end(): void {
      queue.isOver = true;
      wakeReader();
      wakeWriter();
    },
    drop(): void {
      queue.frames = [];
      queue.size = 0;
    },
    /** Resolves when less than the limit is left, or when the queue is closed. */
    async below(limit: number): Promise<void> {
      while (queue.size > limit && !queue.isOver)
        await new Promise<void>((resolve) => (wakeWriter = resolve));
    },
    async take(limit: number): Promise<ViewFrame[]> {
      while (queue.frames.length === 0 && !queue.isOver)
        await new Promise<void>((resolve) => (wakeReader = resolve));
      let count = 0;
      for (let taken = 0; count < queue.frames.length && taken < limit; count++)
        taken += queue.frames[count]!.text.length;
      const given = queue.frames.slice(0, count);
      queue.frames = queue.frames.slice(count);
      for (const { text } of given) queue.size -= text.length;
      wakeWriter();
      return given;
    },
  };
}
