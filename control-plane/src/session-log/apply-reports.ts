// Writes a group of reports in one transaction, and returns the result of each.
//
// A session's entries are stored in the order of their seq, each once and without a gap, even if they
// arrive twice, late or out of order. A host can only write to its own sessions.
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

/** A report that waits to be written. */
export interface ReadReport {
  host: ReportingHost;
  journalId: string;
  /** The entries of each session. An id that cannot be a session's is skipped, like an unknown session. */
  parts: { shownId: string; sessionId: string; entries: Entry[] }[];
  entryCount: number;
  /** Length in characters of JSON. */
  size: number;
}

interface Entry extends Pick<LogEntry, "seq" | "at" | "turnId"> {
  update: string;
  isReset: boolean;
  /** The state change that the entry causes. */
  effect: Effect | undefined;
}

export function readReport(host: ReportingHost, { journalId, sessions }: Report): ReadReport {
  const read: ReadReport = { host, journalId, parts: [], entryCount: 0, size: 0 };
  for (const { sessionId: shownId, entries: reported } of sessions) {
    const sessionId = parseId("session", shownId);
    if (!sessionId) continue;
    const entries = reported.map(({ seq, at, turnId, update }) => {
      const isReset = update.sessionUpdate === "journal_reset";
      return { seq, at, turnId, update: JSON.stringify(update), isReset, effect: effectOf(update) };
    });
    read.parts.push({ shownId, sessionId, entries });
    read.entryCount += entries.length;
    for (const { update } of entries) read.size += update.length;
  }
  return read;
}

/** A session as the transaction found it, and the entries that are added to it. */
export interface SessionIntake {
  organizationId: string;
  instanceId: string;
  sessionId: string;
  status: SessionStatus;
  appliedSeq: number;
  journalId: string | null;
  added: Entry[];
  /** Bytes of the added updates, as JSON. */
  addedBytes: number;
}

/**
 * What changed besides the log: whether the record may have changed, and the changed requests by the
 * ids that callers see.
 */
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
  for (const { position, applied_seq: appliedSeq, journal_id: journalId, status } of rows) {
    const { host, sessionId, journals } = asked[position - 1]!;
    const session = { ...host, sessionId, status, appliedSeq, journalId, added: [], addedBytes: 0 };
    // Start with the journal that the log is written from: its remaining entries precede a reset.
    if (journalId !== null) addEntries(session, journalId, journals.get(journalId) ?? []);
    for (const [another, entries] of journals) addEntries(session, another, entries);
    sessions.set(keyOf(host, sessionId), session);
  }
  store(
    tx,
    [...sessions.values()].filter(({ added }) => added.length > 0),
  );
  const causing = [...sessions.values()].flatMap((session) => {
    const effects = session.added.flatMap(({ effect, seq, at, turnId }) =>
      effect ? { effect, seq, at, turnId } : [],
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

/** Contains the instance, so that the reports of two hosts about one session are never merged. */
const keyOf = ({ instanceId }: ReportingHost, sessionId: string) => `${instanceId} ${sessionId}`;

interface Asked {
  host: ReportingHost;
  sessionId: string;
  /** The reported entries, by journal. */
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
 * Adds the entries that follow without a gap, and skips repeats. A journal that is not the log's own
 * did not know what was applied when it counted its entries, so its entries are accepted only from a
 * `journal_reset` on.
 */
function addEntries(session: SessionIntake, journalId: string, entries: readonly Entry[]): void {
  for (const entry of entries.toSorted((a, b) => a.seq - b.seq)) {
    if (entry.seq <= session.appliedSeq) continue;
    if (entry.seq > session.appliedSeq + 1) return;
    const isOwn = session.journalId === null || session.journalId === journalId;
    if (!isOwn && !entry.isReset) return;
    // Daemons cut longer entries; viewers and pages rely on that limit.
    const bytes = Buffer.byteLength(entry.update);
    if (bytes > largestEntry) throw new Error(`An entry is larger than ${largestEntry} bytes.`);
    session.added.push(entry);
    session.addedBytes += bytes;
    session.appliedSeq = entry.seq;
    session.journalId = journalId;
  }
}

/** Sends the statements together with the commit. */
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
 * Confirms nothing to a journal that is not the log's own, because `appliedSeq` counts other entries
 * than that journal does. Its host learns from a hello where to continue.
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
  return { applied: [...applied].map(([sessionId, appliedSeq]) => ({ sessionId, appliedSeq })) };
}
