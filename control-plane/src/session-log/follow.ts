// Following a session's log. Entries are read from PostgreSQL; notices among nodes only report that
// there is more to read. So a follower receives the entries in their order, each once, even if notices
// are lost, repeated or out of order. A lost notice delays an entry at most until the next comparison.
// The comparison does not detect changes of the record, so the record is read again whenever notices
// may have been lost.
import { formatId } from "@hawser/contract";
import { sessionAppliedSubject } from "@hawser/host-protocol";
import type { Notices } from "../events/organization-feed.ts";
import type { SessionNotice } from "../events/viewers.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { selectFollowed, type LogRow } from "./follow-store.ts";

/** What a follower receives. */
export interface Follower {
  /** The log has at least this many entries. */
  applied(seq: number): void;
  recordChanged(): void;
  /** The session was deleted. */
  gone(): void;
}

/** A session by its stored ids. */
export interface SessionKey {
  organizationId: string;
  sessionId: string;
}

export interface Follows {
  /** Follows until the returned function is called. */
  follow(session: SessionKey, follower: Follower): () => void;
  /** Resolves once no current follower can miss a notice, or after a short wait if the fabric is away. */
  settled(): Promise<void>;
  /** Reads from the database how far all followed session logs are, in one query. */
  compare(): Promise<void>;
  /** Call it after notices may have been lost: compares, and makes every follower read the record again. */
  catchUp(): Promise<void>;
}

/** Subscribes once per followed session, however many followers it has on this node. */
export function createFollows(
  system: SystemSql,
  notices: Notices & { flush(): Promise<void> },
): Follows {
  // The key contains the organization, because a follower may know only the id and must not affect
  // other organizations.
  const followed = new Map<
    string,
    SessionKey & { followers: Set<Follower>; unsubscribe: () => void }
  >();
  const settled = () => withShortLimit(notices.flush());

  async function compare(): Promise<void> {
    const asked = [...followed.values()];
    if (asked.length === 0) return;
    const rows = await system.rows(
      selectFollowed,
      asked.map(({ organizationId }) => organizationId),
      asked.map(({ sessionId }) => sessionId),
    );
    const found = new Map(
      rows.map((row) => [keyOf(row.organization_id, row.session_id), row.applied_seq]),
    );
    for (const { organizationId, sessionId, followers } of asked) {
      const seq = found.get(keyOf(organizationId, sessionId));
      for (const each of followers) {
        if (seq === undefined) each.gone();
        else each.applied(seq);
      }
    }
  }

  return {
    follow({ organizationId, sessionId }, follower) {
      const key = keyOf(organizationId, sessionId);
      let session = followed.get(key);
      if (!session) {
        const followers = new Set<Follower>();
        const subject = sessionAppliedSubject(formatId("session", sessionId));
        const unsubscribe = notices.subscribe(subject, {}, ({ data }) => {
          const { seq, record } = JSON.parse(Buffer.from(data).toString()) as SessionNotice;
          for (const each of followers) {
            if (seq !== undefined) each.applied(seq);
            if (record) each.recordChanged();
          }
        });
        session = { organizationId, sessionId, followers, unsubscribe };
        followed.set(key, session);
      }
      const { followers, unsubscribe } = session;
      followers.add(follower);
      return () => {
        followers.delete(follower);
        if (followers.size > 0 || followed.get(key)?.followers !== followers) return;
        followed.delete(key);
        unsubscribe();
      };
    },
    settled,
    compare,
    async catchUp() {
      // Wait for the subscriptions first: otherwise a record could change unnoticed after it was read.
      await settled();
      for (const { followers } of followed.values())
        for (const each of followers) each.recordChanged();
      await compare();
    },
  };
}

const keyOf = (organizationId: string, sessionId: string) => `${organizationId} ${sessionId}`;

const longestFlushMs = 250;

/**
 * Limits the wait, because without the fabric a flush never ends. The comparison finds what notices
 * cannot report.
 */
async function withShortLimit(flushed: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, longestFlushMs)));
  await Promise.race([flushed.catch(() => {}), late]);
  clearTimeout(timer);
}

/** A session's log as one follower reads it. */
export interface FollowedLog {
  follow(follower: Follower): () => void;
  settled(): Promise<void>;
  /** The next page of entries after a seq, in their order. */
  read(after: number): Promise<LogRow[]>;
  /** The seq of the newest entry; undefined if the session was deleted. */
  appliedSeq(): Promise<number | undefined>;
}

interface Following {
  after: number;
  signal: AbortSignal;
  /** Reading continues when it resolves. `isNewest`: no later entry is known. */
  entries: (rows: LogRow[], isNewest: boolean) => Promise<void> | void;
  /** Called once at the beginning too, because this follower has not received earlier notices. */
  recordChanged: () => Promise<void> | void;
}

/** Delivers a session log's entries after a seq, until the session is deleted or `signal` aborts. */
export async function followLog(sessionLog: FollowedLog, following: Following): Promise<void> {
  const { signal, entries, recordChanged } = following;
  let at = following.after;
  const noticed = { seq: 0, isChanged: true, isGone: false };
  let wake = () => {};
  const unfollow = sessionLog.follow({
    applied(seq) {
      noticed.seq = Math.max(noticed.seq, seq);
      wake();
    },
    recordChanged() {
      noticed.isChanged = true;
      wake();
    },
    gone() {
      noticed.isGone = true;
      wake();
    },
  });
  const stop = () => wake();
  signal.addEventListener("abort", stop);
  try {
    await sessionLog.settled();
    const applied = await sessionLog.appliedSeq();
    if (applied === undefined) return;
    noticed.seq = Math.max(noticed.seq, applied);
    while (!signal.aborted && !noticed.isGone) {
      if (noticed.isChanged) {
        noticed.isChanged = false;
        await recordChanged();
      } else if (at < noticed.seq) {
        const rows = await sessionLog.read(at);
        // The notice reported more than there is: there is nothing to wait for.
        if (rows.length === 0) noticed.seq = at;
        else {
          at = rows.at(-1)!.seq;
          await entries(rows, at >= noticed.seq);
        }
      } else {
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  } finally {
    signal.removeEventListener("abort", stop);
    unfollow();
  }
}
