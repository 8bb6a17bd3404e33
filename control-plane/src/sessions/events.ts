// Telling those who watch that sessions and requests changed: the viewers of the organization, and the
// followers of the session. Told after the commit; a notice may be lost.
import { formatId, parseId } from "@hawser/contract";
import type { OrganizationFeed } from "../events/organization-feed.ts";
import type { Changed } from "../session-log/apply-reports.ts";
import type { SessionEvents } from "./ask-host.ts";
import type { Follows } from "../session-log/follow.ts";

interface IntakeEvents {
  /** What the intake has taken in, by stored ids. */
  applied: (
    sessionId: string,
    organizationId: string,
    appliedSeq: number,
    changed: Changed,
  ) => void;
}

export function openSessionEvents(
  feed: OrganizationFeed,
  follows: Follows,
): SessionEvents & IntakeEvents {
  const requestChanged = (organizationId: string, requestId: string) =>
    feed.changed(organizationId, "request", requestId);
  return {
    follows,
    requestChanged,
    sessionChanged(organizationId, sessionId) {
      feed.changed(organizationId, "session", sessionId);
      follows.tell(parseId("session", sessionId)!, { record: true });
    },
    applied(sessionId, organizationId, seq, { record, requestIds }) {
      follows.tell(sessionId, record ? { seq, record } : { seq });
      if (record) feed.changed(organizationId, "session", formatId("session", sessionId));
      for (const requestId of requestIds) requestChanged(organizationId, requestId);
    },
  };
}
