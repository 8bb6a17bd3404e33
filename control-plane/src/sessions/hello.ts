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
import { lockSessions, setJournals } from "./log-store.ts";

export interface SaidHello {
  host: ReportingHost;
  hello: Pick<Hello, "journalId" | "sessions">;
}

/**
 * The `sessions` of the reply to each hello: those of the host's own that it names. One that is not
 * in it is unknown or deleted. Call it before the transaction writes the instances' rows: whoever
 * changes a session's status locks the session first and the instance after.
 */
export async function answerHellos(
  tx: SystemTransaction,
  said: readonly SaidHello[],
): Promise<{ sessionId: string; appliedSeq: number }[][]> {
  const named = said.flatMap(({ host, hello }, index) =>
    hello.sessions.flatMap(({ sessionId: shownId, lastSeq }) => {
      const sessionId = parseId("session", shownId);
      const { journalId } = hello;
      return sessionId ? [{ index, host, journalId, shownId, sessionId, lastSeq }] : [];
    }),
  );
  const replies = said.map(() => [] as { sessionId: string; appliedSeq: number }[]);
  if (named.length === 0) return replies;
  const rows = await tx.rows(
    lockSessions,
    named.map(({ host }) => host.organizationId),
    named.map(({ host }) => host.instanceId),
    named.map(({ sessionId }) => sessionId),
  );
  const known = rows
    .toSorted((a, b) => a.place - b.place)
    .map(({ place, journal_id: formerId, applied_seq: appliedSeq }) => ({
      ...named[place - 1]!,
      formerId,
      appliedSeq,
    }));
  for (const { index, shownId, appliedSeq } of known) {
    replies[index]!.push({ sessionId: shownId, appliedSeq });
  }
  // Another journal that claims entries beyond what is applied is not taken at its word: it may have
  // counted from nothing. It becomes the log's own by reporting a `journal_reset` in its place.
  const taken = known.filter(
    ({ journalId, formerId, appliedSeq, lastSeq }) =>
      formerId !== journalId &&
      // Nothing applied means nothing to continue: whoever speaks now begins the log.
      (formerId === null || appliedSeq === 0 || lastSeq <= appliedSeq),
  );
  if (taken.length > 0) {
    tx.later(
      setJournals,
      taken.map(({ host }) => host.organizationId),
      taken.map(({ sessionId }) => sessionId),
      taken.map(({ journalId }) => journalId),
    );
  }
  return replies;
}
