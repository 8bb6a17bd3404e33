// Following a session: its log and its record. Both are read from PostgreSQL; notices among nodes only report
// that there is something to read. So a follower receives the entries in their order, each once, even if
// notices are lost, repeated or out of order. A lost notice delays an entry or a change of the record until
// the next comparison; if a later notice shows the gap, the comparison runs at once.
import { formatId } from "@hawser/contract";
import { sessionAppliedSubject } from "@hawser/host-protocol";
import type { NoticeSubscription, NumberedNotices } from "../events/notices.ts";
import type { SessionNotice } from "../events/viewers.ts";
import { oneAtATime } from "../one-at-a-time.ts";
import type { Database } from "../postgres/database.ts";
import { sessionRecord } from "../sessions/record.ts";
import { selectSessionVersion } from "../sessions/store.ts";
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

/** A session's record as all followers on a node share it. */
export interface FollowedRecord {
  /** Differs if the text differs. */
  version: string;
  appliedSeq: number;
  /** JSON, as callers see it. */
  text: string;
}

export interface Follows {
  /** Follows until the returned function is called. */
  follow(session: SessionKey, follower: Follower): () => void;
  /** Resolves once no current follower can miss a notice, or after a short wait if the fabric is away. */
  settled(): Promise<void>;
  /**
   * The record of a followed session; undefined if the session was deleted. It is read once per change, and
   * kept for all followers on this node.
   */
  readRecord(session: SessionKey): Promise<FollowedRecord | undefined>;
  /** Reports a change of which no notice has arrived: the followers on this node read the record again. */
  recordChanged(session: SessionKey): void;
  /** Compares all followed sessions with the database, in one query: how far their logs are, and their records. */
  compare(): Promise<void>;
}

interface FollowedSession extends SessionKey {
  followers: Set<Follower>;
  subscription: NoticeSubscription;
  /** How many entries the log has, as far as this node knows. */
  seq: number;
  /** Counts the changes of the record that this node knows of. */
  changes: number;
  /** The last read of the record, and how many changes were known when it began. */
  read?: { changes: number; record: Promise<FollowedRecord | undefined> } | undefined;
  /** The version of the record that the last read returned. */
  version?: string | undefined;
}

interface FollowParts {
  database: Pick<Database, "system" | "tenant">;
  notices: NumberedNotices;
}

/** Subscribes once per followed session, however many followers it has on this node. */
export function createFollows({ database, notices }: FollowParts): Follows {
  // The key contains the organization, because a follower may know only the id and must not affect
  // other organizations.
  const followed = new Map<string, FollowedSession>();

  function open({ organizationId, sessionId }: SessionKey): FollowedSession {
    const subject = sessionAppliedSubject(formatId("session", sessionId));
    const subscription = notices.subscribe(subject, {
      take(notice) {
        const { seq, record } = notice as SessionNotice;
        if (seq !== undefined) applied(session, seq);
        if (record) recordChanged(session);
      },
      // If this fails, the next periodic comparison finds the same.
      lost: () => void compare().catch(() => {}),
    });
    const followers = new Set<Follower>();
    const session: FollowedSession = {
      organizationId,
      sessionId,
      followers,
      subscription,
      seq: 0,
      changes: 0,
    };
    followed.set(keyOf(organizationId, sessionId), session);
    return session;
  }

  function applied(session: FollowedSession, seq: number): void {
    session.seq = Math.max(session.seq, seq);
    for (const each of session.followers) each.applied(seq);
  }

  function recordChanged(session: FollowedSession): void {
    session.changes += 1;
    for (const each of session.followers) each.recordChanged();
  }

  async function read({ organizationId, sessionId }: SessionKey) {
    const sql = database.tenant(organizationId);
    const row = await sql.first(selectSessionVersion, organizationId, sessionId);
    if (!row) return undefined;
    return {
      version: row.record_version,
      appliedSeq: row.applied_seq,
      text: JSON.stringify(sessionRecord(row)),
    };
  }

  /** Shares one read. A read that began before the last known change may be outdated, so it is not shared. */
  function readShared(session: FollowedSession): Promise<FollowedRecord | undefined> {
    if (session.read?.changes === session.changes) return session.read.record;
    const started = { changes: session.changes, record: read(session) };
    session.read = started;
    void rememberVersion(session, started);
    return started.record;
  }

  async function rememberVersion(
    session: FollowedSession,
    started: NonNullable<FollowedSession["read"]>,
  ): Promise<void> {
    const isLast = () => session.read === started;
    try {
      const record = await started.record;
      if (isLast()) session.version = record?.version;
    } catch {
      // Its readers have the error. The next one reads again.
      if (isLast()) session.read = undefined;
    }
  }

  const compare = oneAtATime(async () => {
    const asked = [...followed.values()];
    if (asked.length === 0) return;
    const rows = await database.system.rows(
      selectFollowed,
      asked.map(({ organizationId }) => organizationId),
      asked.map(({ sessionId }) => sessionId),
    );
    const found = new Map(rows.map((row) => [keyOf(row.organization_id, row.session_id), row]));
    for (const session of asked) {
      const row = found.get(keyOf(session.organizationId, session.sessionId));
      if (!row) {
        for (const each of session.followers) each.gone();
        continue;
      }
      // Without a version no follower has read the record.
      if (session.version !== undefined && session.version !== row.record_version) {
        session.version = row.record_version;
        recordChanged(session);
      }
      applied(session, row.applied_seq);
    }
  });

  return {
    follow({ organizationId, sessionId }, follower) {
      const key = keyOf(organizationId, sessionId);
      const session = followed.get(key) ?? open({ organizationId, sessionId });
      session.followers.add(follower);
      if (session.seq > 0) follower.applied(session.seq);
      return () => {
        session.followers.delete(follower);
        if (session.followers.size > 0 || followed.get(key) !== session) return;
        followed.delete(key);
        session.subscription.unsubscribe();
      };
    },
    settled: () => notices.settled(),
    readRecord(key) {
      const session = followed.get(keyOf(key.organizationId, key.sessionId));
      return session ? readShared(session) : read(key);
    },
    recordChanged(key) {
      const session = followed.get(keyOf(key.organizationId, key.sessionId));
      if (session) recordChanged(session);
    },
    compare,
  };
}

const keyOf = (organizationId: string, sessionId: string) => `${organizationId} ${sessionId}`;

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
