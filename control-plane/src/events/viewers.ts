// Notifies viewers that records have changed: the viewers of the organization and the followers of each
// session. The one place that decides who is notified of what. A notice may be lost.
import { sessionAppliedSubject } from "@hawser/host-protocol";
import type { TenantTransaction } from "../postgres/database.ts";
import type { NumberedNotices } from "./notices.ts";
import type { OrganizationFeed } from "./organization-feed.ts";

/** The records that changed, by the ids that callers see. */
export interface Changes {
  instances?: readonly string[];
  sessions?: readonly string[];
  requests?: readonly string[];
  /** Session logs that have grown, with the seq of their newest entry. */
  sessionLogs?: readonly { sessionId: string; seq: number }[];
}

export interface Viewers {
  /** Call it after the commit. */
  notify(organizationId: string, changes: Changes): void;
}

/** What the followers of one session receive. */
export interface SessionNotice {
  /** The log has at least this many entries. */
  seq?: number;
  /** The record has changed. */
  record?: true;
}

export function createViewers(
  feed: Pick<OrganizationFeed, "changed">,
  notices: Pick<NumberedNotices, "publish">,
): Viewers {
  const notifyFollowers = (sessionId: string, notice: SessionNotice) =>
    notices.publish(sessionAppliedSubject(sessionId), notice);
  return {
    notify(organizationId, { instances = [], sessions = [], requests = [], sessionLogs = [] }) {
      for (const id of instances) feed.changed(organizationId, "instance", id);
      for (const { sessionId, seq } of sessionLogs)
        notifyFollowers(sessionId, sessions.includes(sessionId) ? { seq, record: true } : { seq });
      const notified = new Set(sessionLogs.map(({ sessionId }) => sessionId));
      for (const id of sessions) {
        feed.changed(organizationId, "session", id);
        if (!notified.has(id)) notifyFollowers(id, { record: true });
      }
      for (const id of requests) feed.changed(organizationId, "request", id);
    },
  };
}

/** Notifies viewers once the transaction has committed. */
export function notifyAfterCommit(
  { sql, viewers }: { sql: TenantTransaction; viewers: Viewers },
  changes: Changes,
): void {
  sql.afterCommit(() => viewers.notify(sql.organizationId, changes));
}
