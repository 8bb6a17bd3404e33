// Following a session's log. PostgreSQL is what is read; notices among nodes only say that there is
// more to read. So entries come in their order, each once, whatever happens to notices: lost, repeated
// or out of order. A lost one costs at most the time between two comparisons. Whether the record has
// changed no comparison tells; so it is looked at again whenever notices may have been lost.
import { formatId } from "@hawser/contract";
import { sessionAppliedSubject } from "@hawser/host-protocol";
import type { Notices } from "../events/organization-feed.ts";
import type { SessionNotice } from "../events/viewers.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { selectFollowed, type LogRow } from "./follow-store.ts";

/** What one who follows is told. */
export interface Follower {
  /** The log has at least so many entries. */
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
  /** Until the returned function is called. */
  follow(session: SessionKey, follower: Follower): () => void;
  /** Resolves once whoever follows now misses no notice any more, or soon if the fabric is away. */
  settled(): Promise<void>;
  /** Asks the database how far all followed sessions are, in one query. */
  compare(): Promise<void>;
  /** After notices may have been lost: compares, and has everyone look at the record again. */
  catchUp(): Promise<void>;
}

/** One subscription per session that is followed on this node, by however many. */
export function createFollows(
  system: SystemSql,
  notices: Notices & { flush(): Promise<void> },
): Follows {
  // By the organization too: who follows may only have heard of the id, and must not speak for others.
  const followed = new Map<
    string,
    SessionKey & { followers: Set<Follower>; unsubscribe: () => void }
  >();
  const settled = () => withinReason(notices.flush());

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
      // Looked at before notices come again, a record could change unseen in between.
      await settled();
      for (const { followers } of followed.values())
        for (const each of followers) each.recordChanged();
      await compare();
    },
  };
}

const keyOf = (organizationId: string, sessionId: string) => `${organizationId} ${sessionId}`;

const longestFlushMs = 250;

/** Without the fabric nobody would ever be settled; then the comparison tells what notices cannot. */
async function withinReason(flushed: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, longestFlushMs)));
  await Promise.race([flushed.catch(() => {}), late]);
  clearTimeout(timer);
}

/** A log as one follower sees it. */
export interface FollowedLog {
  follow(follower: Follower): () => void;
  settled(): Promise<void>;
  /** The entries after a seq, in their order, as many as make a page. */
  read(after: number): Promise<LogRow[]>;
  /** How far it is; nothing when the session is gone. */
  appliedSeq(): Promise<number | undefined>;
}

interface Following {
  after: number;
  signal: AbortSignal;
  /** Reading goes on when it is done; `isNewest`: nothing is known to come after these. */
  entries: (rows: LogRow[], isNewest: boolean) => Promise<void> | void;
  /** Also once at the beginning: what was told before, nobody here has heard. */
  recordChanged: () => Promise<void> | void;
}

/** Gives a log's entries from a seq on, and goes on until the session is gone or `signal` says so. */
export async function followLog(log: FollowedLog, following: Following): Promise<void> {
  const { signal, entries, recordChanged } = following;
  let at = following.after;
  const told = { seq: 0, isChanged: true, isGone: false };
  let wake = () => {};
  const unfollow = log.follow({
    applied(seq) {
      told.seq = Math.max(told.seq, seq);
      wake();
    },
    recordChanged() {
      told.isChanged = true;
      wake();
    },
    gone() {
      told.isGone = true;
      wake();
    },
  });
  const stop = () => wake();
  signal.addEventListener("abort", stop);
  try {
    await log.settled();
    const applied = await log.appliedSeq();
    if (applied === undefined) return;
    told.seq = Math.max(told.seq, applied);
    while (!signal.aborted && !told.isGone) {
      if (told.isChanged) {
        told.isChanged = false;
        await recordChanged();
      } else if (at < told.seq) {
        const rows = await log.read(at);
        // Told of more than there is: nothing to wait for.
        if (rows.length === 0) told.seq = at;
        else {
          at = rows.at(-1)!.seq;
          await entries(rows, at >= told.seq);
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
