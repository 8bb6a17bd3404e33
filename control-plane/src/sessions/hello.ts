// What a host is told about its sessions' logs when it says hello.
//
// The host is the log's only writer and counts its entries; the control plane says how far it has
// them, and the host goes on after that. A journal that does not reach so far (restored from an older
// copy of the disk), or that is not the one the log was written from (the former is gone), cannot
// know what it lacks: it goes on at appliedSeq + 1 with an entry `journal_reset`. All it needs for
// that is appliedSeq. From then on reports of the former journal, still under way somewhere, are
// refused by the intake; that is why hello notes the journal, under the lock the intake takes.
import { parseId } from "@hawser/contract";
import type { Hello } from "@hawser/host-protocol";
import type { SystemTransaction } from "../postgres/database.ts";
import type { ReportingHost } from "./apply-reports.ts";
import { lockSessions, setJournal } from "./log-store.ts";

/**
 * The `sessions` of the reply: each session of the host's own that the hello names. One that is not
 * in it is unknown or deleted. Call it before the transaction writes the instance's row: whoever
 * changes a session's status locks the session first and the instance after.
 */
export async function answerHello(
  tx: SystemTransaction,
  host: ReportingHost,
  hello: Pick<Hello, "journalId" | "sessions">,
): Promise<{ sessionId: string; appliedSeq: number }[]> {
  const named = hello.sessions.flatMap(({ sessionId: shownId, lastSeq }) => {
    const sessionId = parseId("session", shownId);
    return sessionId ? [{ shownId, sessionId, lastSeq }] : [];
  });
  if (named.length === 0) return [];
  const rows = await tx.rows(
    lockSessions,
    named.map(() => host.organizationId),
    named.map(() => host.instanceId),
    named.map(({ sessionId }) => sessionId),
  );
  const known = rows.map((row) => ({ ...row, ...named[row.place - 1]! }));
  // Another journal that claims entries beyond what is applied is not taken at its word: it may have
  // counted from nothing. It becomes the log's own by reporting a `journal_reset` in its place.
  const taken = known.filter(
    ({ journal_id: journalId, applied_seq: appliedSeq, lastSeq }) =>
      journalId !== hello.journalId &&
      // Nothing applied means nothing to continue: whoever speaks now begins the log.
      (journalId === null || appliedSeq === 0 || lastSeq <= appliedSeq),
  );
  if (taken.length > 0) {
    const sessionIds = taken.map(({ sessionId }) => sessionId);
    tx.later(setJournal, host.organizationId, sessionIds, hello.journalId);
  }
  return known.map((row) => ({ sessionId: row.shownId, appliedSeq: row.applied_seq }));
}
