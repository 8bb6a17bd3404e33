// What a host is told about its sessions' logs when it says hello.
//
// The host is the log's only writer and counts its entries; the control plane says how far it has
// them, and the host goes on after that. A journal that does not reach so far (restored from an older
// copy of the disk), or that is not the one the log was written from (the former is gone), cannot
// know what it lacks: it goes on at appliedSeq + 1 with an entry `journal_reset`. All it needs for
// that is appliedSeq. From then on reports of the former journal, still under way somewhere, are
// refused by the intake; that is why hello notes the journal, under the lock the intake takes.
//
// A session of a former journal that the new one does not name is known to nobody on the host: its agent
// was ended, and nothing will ever be reported of it. It is shown in error.
import { formatId, parseId } from "@hawser/contract";
import type { Hello } from "@hawser/host-protocol";
import type { SystemTransaction } from "../postgres/database.ts";
import { withdrawRequestsOfLost } from "../requests/log-store.ts";
import type { ReportingHost } from "./apply-reports.ts";
import { statusAfter } from "../sessions/lifecycle.ts";
import {
  failOfLostJournals,
  goneJournal,
  lockSessions,
  selectOfOtherJournals,
  setJournals,
} from "./log-store.ts";

export interface SaidHello {
  host: ReportingHost;
  hello: Pick<Hello, "journalId" | "sessions">;
  /** The journal of its hello before; null when that is not known. */
  formerJournalId: string | null;
}

export interface HelloAnswers {
  /** The `sessions` of each reply. */
  replies: { sessionId: string; appliedSeq: number }[][];
  /** Sessions that the host has lost with its journal, for `failLost`. */
  lost: LostSession[];
}

/** By stored ids. */
export interface LostSession extends ReportingHost {
  sessionId: string;
}

const lostReason =
  "The host has lost its journal, and this session with it. Its files are where they were: end it, and start another one.";

/**
 * What each hello is answered: those of the host's own sessions that it names. One that is not in it
 * is unknown or deleted. Call it before the transaction writes the instances' rows: whoever changes a
 * session's status locks the session first and the instance after.
 */
export async function answerHellos(
  tx: SystemTransaction,
  said: readonly SaidHello[],
): Promise<HelloAnswers> {
  const named = said.flatMap(({ host, hello }, index) =>
    hello.sessions.flatMap(({ sessionId: shownId, lastSeq }) => {
      const sessionId = parseId("session", shownId);
      const { journalId } = hello;
      return sessionId ? [{ index, host, journalId, shownId, sessionId, lastSeq }] : [];
    }),
  );
  const replies = said.map(() => [] as { sessionId: string; appliedSeq: number }[]);
  const unnamed = await findUnnamed(tx, said);
  const asked = [...named, ...unnamed];
  if (asked.length === 0) return { replies, lost: [] };
  // All at once, so that they are locked in one order.
  const rows = await tx.rows(
    lockSessions,
    asked.map(({ host }) => host.organizationId),
    asked.map(({ host }) => host.instanceId),
    asked.map(({ sessionId }) => sessionId),
  );
  const known = rows
    .filter(({ place }) => place <= named.length)
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
      (formerId === null ||
        appliedSeq === 0 ||
        lastSeq <= appliedSeq ||
        // It was thought lost, and nobody has written since.
        formerId === goneJournal(journalId)),
  );
  if (taken.length > 0) {
    tx.later(
      setJournals,
      taken.map(({ host }) => host.organizationId),
      taken.map(({ sessionId }) => sessionId),
      taken.map(({ journalId }) => journalId),
    );
  }
  const lost = rows
    .filter(({ place, status }) => place > named.length && statusAfter(status, "journal_lost"))
    .map(({ place, journal_id: formerId }) => ({ ...unnamed[place - named.length - 1]!, formerId }))
    // A report may have made it the new journal's meanwhile.
    .filter(({ journalId, formerId }) => formerId !== journalId)
    .map(({ host, sessionId }) => ({ ...host, sessionId }));
  return { replies, lost };
}

/** The open sessions of another journal than the host has now, which it does not name. */
async function findUnnamed(tx: SystemTransaction, said: readonly SaidHello[]) {
  const changed = said.filter(({ hello, formerJournalId }) => hello.journalId !== formerJournalId);
  if (changed.length === 0) return [];
  // Of two hellos of one host the later counts.
  const last = [...new Map(changed.map((each) => [each.host.instanceId, each])).values()];
  const rows = await tx.rows(
    selectOfOtherJournals,
    last.map(({ host }) => host.organizationId),
    last.map(({ host }) => host.instanceId),
    last.map(({ hello }) => hello.journalId),
  );
  const key = ({ instanceId }: ReportingHost, shownId: string) => `${instanceId} ${shownId}`;
  const named = new Set(
    said.flatMap(({ host, hello }) => hello.sessions.map((each) => key(host, each.sessionId))),
  );
  return rows
    .map(({ place, session_id: sessionId }) => {
      const { host, hello } = last[place - 1]!;
      return { host, journalId: hello.journalId, sessionId };
    })
    .filter(({ host, sessionId }) => !named.has(key(host, formatId("session", sessionId))));
}

/**
 * Shows them in error, with nothing left to wait for, and gives the requests that were withdrawn. Call
 * it when their instances are locked: a changed status changes its instance's count.
 */
export async function failLost(
  tx: SystemTransaction,
  lost: readonly LostSession[],
): Promise<{ session_id: string; request_id: string }[]> {
  if (lost.length === 0) return [];
  const keys = [lost.map((each) => each.organizationId), lost.map((each) => each.sessionId)];
  tx.later(failOfLostJournals, ...keys, lostReason);
  return tx.rows(withdrawRequestsOfLost, ...keys);
}
