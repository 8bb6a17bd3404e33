// Sharing: the owner of a session's account allows others to prompt the session, which spends the owner's quota.
// What the agent may do is still decided by the owner alone: requests, wider modes and shell commands.
import { userIn, type Session } from "./session.ts";
import { isGuest, notYours, type Person } from "./strangers.ts";

/** Replaces the list of those who may prompt the session besides its owner; null: every person. Throws refusals. */
export function shareSession(
  session: Session,
  ownerId: string,
  guests: readonly string[] | null,
): void {
  const record = session.require("mode");
  if (record.ownerId === undefined) {
    throw notYours(
      "This session uses the login of the host's user, so it needs no sharing: everybody who may prompt sessions can prompt it.",
    );
  }
  if (record.ownerId !== ownerId) {
    throw notYours(
      "Only the owner of the session's agent account, whom accountOf names, can share the session.",
    );
  }
  session.commit(() => {
    session.change({ guests });
    session.note({ sessionUpdate: "session_shared", userIds: guests && guests.map(userIn) });
  });
}

/** No-op if the session is not shared. */
export function endSharing(session: Session): void {
  const { guests = [] } = session.record ?? {};
  if (guests?.length === 0) return;
  session.change({ guests: [] });
  session.note({ sessionUpdate: "session_shared", userIds: [] });
}

/** Throws a refusal unless this person may prompt the session. */
export function requirePrompter(session: Session, who: Person): void {
  if (!isGuest(session.record ?? {}, who)) session.requireOwner(who);
}
