// Writes a group of reports in one transaction, and says what became of each.
//
// A session's entries are stored in the order of their seq, each once and without a hole, whatever
// came twice, late or in another order. A host reaches no session but its own.
import { parseId } from "@hawser/contract";
import { largestEntry, type LogEntry, type Report, type ReportReply } from "@hawser/host-protocol";
import type { SessionStatus } from "@hawser/contract";
import type { SystemTransaction } from "../postgres/database.ts";
import { applyEffects, effectOf, type Effect } from "./entry-effects.ts";
import { insertEntries, lockSessions, moveApplied } from "./log-store.ts";

/** A host by the stored ids of its organization and instance. */
export interface ReportingHost {
  organizationId: string;
  instanceId: string;
}

/** A report as it waits to be written. */
export interface ReadReport {
  host: ReportingHost;
  journalId: string;
  /** Of each session it names; what cannot be a session's id is an unknown session's, and left out. */
  parts: { shownId: string; sessionId: string; entries: Entry[] }[];
  entryCount: number;
  /** In characters of JSON. */
  size: number;
}

interface Entry extends Pick<LogEntry, "seq" | "at" | "turnId"> {
  update: string;
  isReset: boolean;
  /** The state it causes. */
  effect: Effect | undefined;
}

export function readReport(host: ReportingHost, { journalId, sessions }: Report): ReadReport {
  const read: ReadReport = { host, journalId, parts: [], entryCount: 0, size: 0 };
  for (const { sessionId: shownId, entries: told } of sessions) {
    const sessionId = parseId("session", shownId);
    if (!sessionId) continue;
    const entries = told.map(({ seq, at, turnId, update }) => {
      const isReset = update.sessionUpdate === "journal_reset";
      return { seq, at, turnId, update: JSON.stringify(update), isReset, effect: effectOf(update) };
    });
    read.parts.push({ shownId, sessionId, entries });
    read.entryCount += entries.length;
    for (const { update } of entries) read.size += update.length;
  }
  return read;
}

/** A session as the transaction found it, and what is added to it. */
export interface SessionIntake {
  organizationId: string;
  instanceId: string;
  sessionId: string;
  status: SessionStatus;
  appliedSeq: number;
  journalId: string | null;
  added: Entry[];
}

/** What changed beside the log: whether the record may have, and requests by their shown ids. */
export interface Changed {
  record: boolean;
  requestIds: string[];
}

export interface Applied {
  sessions: (SessionIntake & { changed: Changed })[];
  replyTo(report: ReadReport): ReportReply;
}

export async function applyReports(
  tx: SystemTransaction,
  reports: readonly ReadReport[],
): Promise<Applied> {
  const asked = [...sessionsOf(reports).values()];
  const rows = await tx.rows(
    lockSessions,
    asked.map(({ host }) => host.organizationId),
    asked.map(({ host }) => host.instanceId),
    asked.map(({ sessionId }) => sessionId),
  );
  const sessions = new Map<string, SessionIntake>();
  for (const { place, applied_seq: appliedSeq, journal_id: journalId, status } of rows) {
    const { host, sessionId, journals } = asked[place - 1]!;
    const session = { ...host, sessionId, status, appliedSeq, journalId, added: [] };
    // The journal that the log is written from comes first: what it still has precedes a reset.
    if (journalId !== null) addEntries(session, journalId, journals.get(journalId) ?? []);
    for (const [another, entries] of journals) addEntries(session, another, entries);
    sessions.set(keyOf(host, sessionId), session);
  }
  store(
    tx,
    [...sessions.values()].filter(({ added }) => added.length > 0),
  );
  const causing = [...sessions.values()].flatMap((session) => {
    const effects = session.added.flatMap(({ effect, at, turnId }) =>
      effect ? { effect, at, turnId } : [],
    );
    return effects.length > 0 ? { ...session, effects } : [];
  });
  const requests = applyEffects(tx, causing);
  const changedRecords = new Set(causing.map(({ sessionId }) => sessionId));
  return {
    sessions: [...sessions.values()].map((session) => ({
      ...session,
      changed: {
        record: changedRecords.has(session.sessionId),
        requestIds: [...(requests.get(session.sessionId) ?? [])],
      },
    })),
    replyTo: (report) => replyTo(report, sessions),
  };
}

/** With the instance, so that what two hosts say of one session is never put together. */
const keyOf = ({ instanceId }: ReportingHost, sessionId: string) => `${instanceId} ${sessionId}`;

interface Asked {
  host: ReportingHost;
  sessionId: string;
  /** What is told of it, by the journal that tells. */
  journals: Map<string, Entry[]>;
}

function sessionsOf(reports: readonly ReadReport[]): Map<string, Asked> {
  const asked = new Map<string, Asked>();
  for (const { host, journalId, parts } of reports) {
    for (const { sessionId, entries } of parts) {
      const key = keyOf(host, sessionId);
      const known = asked.get(key);
      if (!known) {
        asked.set(key, { host, sessionId, journals: new Map([[journalId, entries]]) });
      } else {
        const before = known.journals.get(journalId) ?? [];
        known.journals.set(journalId, [...before, ...entries]);
      }
    }
  }
  return asked;
}

/**
 * Takes what follows without a hole; repeats are passed over. A journal that is not the log's own has
 * counted without knowing what is applied, unless it goes on with the entry that says it knows.
 */
function addEntries(session: SessionIntake, journalId: string, entries: readonly Entry[]): void {
  for (const entry of entries.toSorted((a, b) => a.seq - b.seq)) {
    if (entry.seq <= session.appliedSeq) continue;
    if (entry.seq > session.appliedSeq + 1) return;
    const isOwn = session.journalId === null || session.journalId === journalId;
    if (!isOwn && !entry.isReset) return;
    // A daemon cuts what is longer; viewers and pages are made for what it leaves.
    if (Buffer.byteLength(entry.update) > largestEntry)
      throw new Error(`An entry is larger than ${largestEntry} bytes.`);
    session.added.push(entry);
    session.appliedSeq = entry.seq;
    session.journalId = journalId;
  }
}

/** Sent together with the commit. */
function store(tx: SystemTransaction, moved: readonly SessionIntake[]): void {
  if (moved.length === 0) return;
  const rows = moved.flatMap(({ added, ...session }) => added.map((entry) => ({ session, entry })));
  tx.later(
    insertEntries,
    rows.map(({ session }) => session.sessionId),
    rows.map(({ entry }) => entry.seq),
    rows.map(({ session }) => session.organizationId),
    rows.map(({ entry }) => entry.at),
    rows.map(({ entry }) => entry.turnId ?? ""),
    `[${rows.map(({ entry }) => entry.update).join(",")}]`,
  );
  tx.later(
    moveApplied,
    moved.map(({ organizationId }) => organizationId),
    moved.map(({ sessionId }) => sessionId),
    moved.map(({ appliedSeq }) => appliedSeq),
    moved.map(({ journalId }) => journalId),
  );
}

/**
 * Nothing is confirmed to a journal that is not the log's own: `appliedSeq` counts other entries than
 * that journal's. Its host learns by a hello where to go on.
 */
function replyTo(report: ReadReport, sessions: ReadonlyMap<string, SessionIntake>): ReportReply {
  const applied = new Map<string, number>();
  for (const { shownId, sessionId } of report.parts) {
    const session = sessions.get(keyOf(report.host, sessionId));
    if (!session) continue;
    if (session.journalId !== null && session.journalId !== report.journalId)
      return { failed: true };
    applied.set(shownId, session.appliedSeq);
  }
  const told = [...applied].map(([sessionId, appliedSeq]) => ({ sessionId, appliedSeq }));
  return { applied: told };
}
