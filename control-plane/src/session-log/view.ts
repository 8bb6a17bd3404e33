// A session as one viewer sees it: its record, at first and when it changes, its log after a seq, and
// the text that is being written. The viewer sets the pace until it reaches the newest entry. From then
// on a viewer that does not keep up is cut off with `resync` before much waits for it.
import { formatId, parseId, type SessionRecord } from "@hawser/contract";
import type { Database } from "../postgres/database.ts";
import type { SessionViews, ViewFrame } from "../transports/session-stream.ts";
import { followLog, type Follower, type Follows } from "./follow.ts";
import { selectEntries, type LogRow } from "./follow-store.ts";
import { isOver } from "../sessions/lifecycle.ts";
import type { LiveWatch } from "./live-watch.ts";
import { sessionRecord } from "../sessions/record.ts";
import { selectSession } from "../sessions/store.ts";

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
        .rows(selectEntries, organizationId, sessionId, after, pageEntries, pageBytes)
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
      const sql = database.tenant(caller);
      const find = () => sql.first(selectSession, organizationId, sessionId);
      const row = await find();
      if (!row) return undefined;
      const waiting = createWaiting();
      const ended = new AbortController();
      const watched = { instanceId: formatId("instance", row.instance_id), sessionId: shownId };
      let unwatch = () => {};

      let notifyOfRecord = () => {};
      /** The record changed while there was no room for it. */
      let isRecordOwed = false;
      const sessionLog = {
        follow(follower: Follower) {
          notifyOfRecord = () => follower.recordChanged();
          return follows.follow({ organizationId, sessionId }, follower);
        },
        settled: () => follows.settled(),
        read: (from: number) => readShared(organizationId, sessionId, from),
        appliedSeq: async () => (await find())?.applied_seq,
      };
      let isAtNewest = after >= row.applied_seq;
      const watchLive = () => {
        if (isOver(row.status) || ended.signal.aborted) return;
        unwatch = live.watch(watched, (text) => {
          if (waiting.size() < readAhead)
            waiting.add({ event: "live", text: JSON.stringify({ sessionId: shownId, ...text }) });
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
          const record: SessionRecord | undefined = sessionRecord(await find());
          if (!record) return ended.abort();
          isRecordOwed = waiting.size() >= readAhead;
          if (!isRecordOwed) waiting.add({ event: "record", text: JSON.stringify(record) });
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
      return { next, close: end };
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
