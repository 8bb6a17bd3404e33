// Stores the reports of hosts in PostgreSQL. One transaction per report would cost ten times as much as
// its rows, so the reports of many hosts are collected for some milliseconds and written together.
//
// A host is answered when its report is committed, or is known not to be; then the host sends it again.
// A report that cannot be stored neither fails nor delays the reports of other hosts.
import { formatId } from "@hawser/contract";
import type { Report, ReportReply } from "@hawser/host-protocol";
import type { Viewers } from "../events/viewers.ts";
import type { Log } from "../log.ts";
import {
  DatabaseUnavailable,
  LockTimeout,
  StatementTimeout,
  type SystemDatabase,
} from "../postgres/database.ts";
import {
  applyReports,
  readReport,
  type Applied,
  type Changed,
  type ReadReport,
  type ReportingHost,
} from "./apply-reports.ts";

export interface Intake {
  /** Never throws. The host is answered `failed` if the report was not stored; the reason is logged. */
  accept(host: ReportingHost, report: Report): Promise<ReportReply>;
  /** Writes the queued reports, and accepts no more. */
  close(): Promise<void>;
}

export interface IntakeOptions {
  database: Pick<SystemDatabase, "waitingAtMost">;
  /** Called after the commit, with stored ids. */
  onApplied: (
    sessionId: string,
    organizationId: string,
    appliedSeq: number,
    changed: Changed,
  ) => void;
  /** Called after the commit, before the hosts are answered. */
  countBytes?: (organizationId: string, bytes: number) => void;
  log: Log;
  /** Maximum number of entries of a group; the last report may exceed it. */
  maxEntries?: number;
  /** A group is written when it has this many entries, or has waited this long. */
  enoughEntries?: number;
  maxWaitMs?: number;
}

/** Notifies viewers of the entries that were stored and of the records they changed. */
export function notifyOfApplied(viewers: Viewers): IntakeOptions["onApplied"] {
  return (storedId, organizationId, seq, { record, requestIds }) => {
    const sessionId = formatId("session", storedId);
    viewers.notify(organizationId, {
      sessionLogs: [{ sessionId, seq }],
      sessions: record ? [sessionId] : [],
      requests: requestIds,
    });
  };
}

/**
 * Two groups are written at once. Two store a third to a half more than one; three store no more than
 * two. All reports of a host use the same lane, so they never overtake each other.
 */
const laneCount = 2;

export function createIntake(options: IntakeOptions): Intake {
  const lanes = Array.from({ length: laneCount }, () => createLane(options));
  return {
    accept(host, report) {
      // The last digits of an id are random.
      const number = parseInt(host.instanceId.slice(-4), 16);
      return lanes[number % laneCount]!.accept(host, report);
    },
    close: async () => void (await Promise.all(lanes.map((lane) => lane.close()))),
  };
}

/** Maximum size of a group in characters of JSON, for one statement; the last report may exceed it. */
const largestGroup = 8 * 1024 * 1024;
/** Maximum size of the queue while PostgreSQL is slow. Hosts keep the rest in their journals. */
const largestQueue = 64 * 1024 * 1024;

/** How long a group waits for a locked row. The other reports of its lane wait as long. */
const lockMs = 500;

const failed: ReportReply = { failed: true };

interface Waiting extends ReadReport {
  answer: (reply: ReportReply) => void;
}

/** Counts the statements of one group that timed out or got no answer in a row while the group is halved. */
interface Timeouts {
  inARow: number;
  /** Up to this many can be one report's fault. More mean that the database is slow for everyone. */
  most: number;
}

function createLane(options: IntakeOptions): Intake {
  const { onApplied, log, maxEntries = 500, maxWaitMs = 10 } = options;
  const database = options.database.waitingAtMost(lockMs);
  const { enoughEntries = maxEntries / 4, countBytes = () => {} } = options;
  let queue: Waiting[] = [];
  let queuedEntries = 0;
  let queuedSize = 0;
  let timer: NodeJS.Timeout | undefined;
  let soon: NodeJS.Immediate | undefined;
  /** The queue has waited long enough, and is written next. */
  let due = false;
  let writing: Promise<void> | undefined;
  let closed = false;
  /** Hosts whose last report could not be stored. Their reports are written separately until one succeeds. */
  const separate = new Set<string>();

  function write(): void {
    soon = undefined;
    due = true;
    if (!writing && queue.length > 0) writing = writeGroups();
  }

  /** Writes one group at a time, while the next one is collected. */
  async function writeGroups(): Promise<void> {
    while (queue.length > 0 && due) {
      const group = cutGroup();
      const isSeparate = ({ host }: Waiting) => separate.has(host.instanceId);
      const alone = Map.groupBy(group.filter(isSeparate), ({ host }) => host.instanceId);
      await writeTogether(group.filter((report) => !isSeparate(report)));
      for (const reports of alone.values()) await writeTogether(reports);
    }
    writing = undefined;
  }

  function cutGroup(): Waiting[] {
    let count = 0;
    let entries = 0;
    let size = 0;
    for (const report of queue) {
      if (entries >= maxEntries || size >= largestGroup) break;
      count += 1;
      entries += report.entryCount;
      size += report.size;
    }
    const group = queue.slice(0, count);
    queue = queue.slice(count);
    queuedEntries -= entries;
    queuedSize -= size;
    clearTimeout(timer);
    timer = undefined;
    due = closed || queue.length > 0;
    return group;
  }

  async function writeTogether(
    reports: Waiting[],
    timeouts: Timeouts = { inARow: 0, most: Math.ceil(Math.log2(reports.length)) + 1 },
  ): Promise<void> {
    if (reports.length === 0) return;
    if (timeouts.inARow > timeouts.most) return giveUp(reports);
    let applied: Applied;
    try {
      applied = await database.systemTransaction((tx) => applyReports(tx, reports));
      timeouts.inARow = 0;
    } catch (error) {
      if (error instanceof DatabaseUnavailable) timeouts.inARow += 1;
      return writeSeparately(reports, error, timeouts);
    }
    for (const { organizationId, addedBytes } of applied.sessions) {
      if (addedBytes > 0) countBytes(organizationId, addedBytes);
    }
    for (const report of reports) {
      separate.delete(report.host.instanceId);
      report.answer(applied.replyTo(report));
    }
    for (const { sessionId, organizationId, appliedSeq, added, changed } of applied.sessions) {
      if (added.length > 0) notify(sessionId, organizationId, appliedSeq, changed);
    }
  }

  /**
   * Halves the failed group until the unfit report stands alone. This costs the others a few
   * transactions instead of one each.
   */
  async function writeSeparately(
    reports: Waiting[],
    error: unknown,
    timeouts: Timeouts,
  ): Promise<void> {
    const isTimeout = error instanceof StatementTimeout || error instanceof LockTimeout;
    const mayBeUnfit = isTimeout && timeouts.inARow <= timeouts.most;
    if (error instanceof DatabaseUnavailable && !mayBeUnfit) {
      giveUp(reports, error);
    } else if (reports.length === 1) {
      const { host, answer } = reports[0]!;
      log.error({ err: error, ...host }, "a report cannot be stored");
      separate.add(host.instanceId);
      answer(failed);
    } else {
      const half = reports.length >> 1;
      await writeTogether(reports.slice(0, half), timeouts);
      await writeTogether(reports.slice(half), timeouts);
    }
  }

  function giveUp(reports: Waiting[], error?: unknown): void {
    log.warn({ err: error, reports: reports.length }, "reports could not be stored");
    for (const report of reports) report.answer(failed);
  }

  function notify(
    sessionId: string,
    organizationId: string,
    appliedSeq: number,
    changed: Changed,
  ): void {
    try {
      onApplied(sessionId, organizationId, appliedSeq, changed);
    } catch (error) {
      log.error({ err: error, sessionId }, "the notice of applied entries failed");
    }
  }

  return {
    accept(host, report) {
      const read = readReport(host, report);
      if (read.entryCount === 0) return Promise.resolve({ applied: [] });
      if (closed || queuedSize > largestQueue) return Promise.resolve(failed);
      return new Promise((answer) => {
        queue.push({ ...read, answer });
        queuedEntries += read.entryCount;
        queuedSize += read.size;
        // Hosts that were answered together report again together, so wait for the rest of them.
        if (queuedEntries >= enoughEntries) soon ??= setImmediate(write);
        else timer ??= setTimeout(write, maxWaitMs);
      });
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      write();
      await writing;
    },
  };
}
