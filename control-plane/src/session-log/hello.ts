// What a host is answered about its sessions' logs when it says hello.
//
// The host is the log's only writer and numbers its entries. The control plane answers how far it has
// applied them, and the host continues after that. Some journals cannot know which entries they lack:
// one that was restored from an older copy of the disk, and one that is not the journal the log was
// written from. Such a journal continues at appliedSeq + 1 with an entry `journal_reset`, for which it
// needs only appliedSeq. From then on the intake refuses late reports of the old journal; for this,
// hello records the journal under the lock that the intake takes.
//
// A session of an old journal that the new journal does not name is unknown to the host: its agent
// was ended, and nothing will be reported about it. It is shown in error.
import { formatId, parseId } from "@hawser/contract";
import type { Hello } from "@hawser/host-protocol";
import type { SystemTransaction } from "../postgres/database.ts";
import { withdrawRequestsOfLost } from "../requests/log-store.ts";
import type { ReportingHost } from "./apply-reports.ts";
import { statusAfter } from "../sessions/lifecycle.ts";
import {
  failOfLostJournals,
  lostJournal,
  lockSessions,
  selectOfOtherJournals,
  setJournals,
} from "./log-store.ts";

export interface ReceivedHello {
  host: ReportingHost;
  hello: Pick<Hello, "journalId" | "sessions">;
  /** The journal of the previous hello; null if unknown. */
  formerJournalId: string | null;
}

export interface HelloAnswers {
  /** The `sessions` of each reply, in the order of the hellos. */
  replies: { sessionId: string; appliedSeq: number }[][];
  /** Sessions that the host has lost with its journal, as input of `failLost`. */
  lost: LostSession[];
}

/** Ids are the stored ones. */
export interface LostSession extends ReportingHost {
  sessionId: string;
}

/**
 * Answers each hello with those sessions that it names and that belong to the host. A session that is
 * missing in the answer is unknown or deleted. Call it before the transaction writes the instances'
 * rows: a change of a session's status locks the session first and the instance after it.
 */
export async function answerHellos(
  tx: SystemTransaction,
  received: readonly ReceivedHello[],
): Promise<HelloAnswers> {
  const named = received.flatMap(({ host, hello }, index) =>
    hello.sessions.flatMap(({ sessionId: shownId, lastSeq }) => {
      const sessionId = parseId("session", shownId);
      const { journalId } = hello;
      return sessionId ? [{ index, host, journalId, shownId, sessionId, lastSeq }] : [];
    }),
  );
  const replies = received.map(() => [] as { sessionId: string; appliedSeq: number }[]);
  const unnamed = await findUnnamed(tx, received);
  const asked = [...named, ...unnamed];
  if (asked.length === 0) return { replies, lost: [] };
  // Lock all at once, so that they are locked in one order.
  const rows = await tx.rows(
    lockSessions,
    asked.map(({ host }) => host.organizationId),
    asked.map(({ host }) => host.instanceId),
    asked.map(({ sessionId }) => sessionId),
  );
  const known = rows
    .filter(({ position }) => position <= named.length)
    .toSorted((a, b) => a.position - b.position)
    .map(({ position, journal_id: formerId, applied_seq: appliedSeq }) => ({
      ...named[position - 1]!,
      formerId,
      appliedSeq,
    }));
  for (const { index, shownId, appliedSeq } of known) {
    replies[index]!.push({ sessionId: shownId, appliedSeq });
  }
  // Do not trust another journal that claims entries beyond what is applied: it may have counted from
  // zero. It becomes the log's own journal when it reports a `journal_reset` at the right position.
  const adopted = known.filter(
    ({ journalId, formerId, appliedSeq, lastSeq }) =>
      formerId !== journalId &&
      // Nothing is applied, so there is nothing to continue: this journal begins the log.
      (formerId === null ||
        appliedSeq === 0 ||
        lastSeq <= appliedSeq ||
        // The journal was considered lost, and nobody has written since.
        formerId === lostJournal(journalId)),
  );
  if (adopted.length > 0) {
    tx.later(
      setJournals,
      adopted.map(({ host }) => host.organizationId),
      adopted.map(({ sessionId }) => sessionId),
      adopted.map(({ journalId }) => journalId),
    );
  }
  const lost = rows
    .filter(
      ({ position, status }) => position > named.length && statusAfter(status, "journal_lost"),
    )
    .map(({ position, journal_id: formerId }) => ({
      ...unnamed[position - named.length - 1]!,
      formerId,
    }))
    // A report may have made it a session of the new journal in the meantime.
    .filter(({ journalId, formerId }) => formerId !== journalId)
    .map(({ host, sessionId }) => ({ ...host, sessionId }));
  return { replies, lost };
}

/**
 * The sessions that are not over, belong to another journal than the host has now, and are not named by
 * the host.
 */
async function findUnnamed(tx: SystemTransaction, received: readonly ReceivedHello[]) {
  const changed = received.filter(
    ({ hello, formerJournalId }) => hello.journalId !== formerJournalId,
  );
  if (changed.length === 0) return [];
  // If one host sent two hellos, the later one counts.
  const last = [...new Map(changed.map((each) => [each.host.instanceId, each])).values()];
  const rows = await tx.rows(
    selectOfOtherJournals,
    last.map(({ host }) => host.organizationId),
    last.map(({ host }) => host.instanceId),
    last.map(({ hello }) => hello.journalId),
  );
  const key = ({ instanceId }: ReportingHost, shownId: string) => `${instanceId} ${shownId}`;
  const named = new Set(
    received.flatMap(({ host, hello }) => hello.sessions.map((each) => key(host, each.sessionId))),
  );
  return rows
    .map(({ position, session_id: sessionId }) => {
      const { host, hello } = last[position - 1]!;
      return { host, journalId: hello.journalId, sessionId };
    })
    .filter(({ host, sessionId }) => !named.has(key(host, formatId("session", sessionId))));
}

/**
 * Shows the sessions in error, withdraws their requests, and returns those requests. Call it when the
 * instances are locked, because a changed status changes the session count of its instance.
 */
export async function failLost(
  tx: SystemTransaction,
  lost: readonly LostSession[],
): Promise<{ session_id: string; request_id: string }[]> {
  if (lost.length === 0) return [];
  const keys = [lost.map((each) => each.organizationId), lost.map((each) => each.sessionId)];
  tx.later(failOfLostJournals, ...keys);
  return tx.rows(withdrawRequestsOfLost, ...keys);
}
