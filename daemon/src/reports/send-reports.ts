// Sends the journal's unapplied entries, one report at a time, and marks those that the control plane has
// applied. Entries that are appended while a report is under way are sent with the next one. After a
// failure each session is reported on its own, so that one bad session does not delay the others.
import { ReportReply, largestReport, type Report } from "@hawser/host-protocol";
import { backOff } from "../link/back-off.ts";
import { Forgotten } from "../link/forgotten.ts";
import { waitBefore, type Ask } from "../link/up-call.ts";
import type { Journal } from "../journal/journal.ts";
import type { SessionEnd } from "../journal/session-log.ts";
import { describe, type Log } from "../log.ts";
import { pause } from "../pause.ts";

export interface ReportOptions {
  journal: Pick<Journal, "id" | "log">;
  ask: Ask;
  /** Sends hello for sessions that the last hello did not name. */
  introduce: (sessions: SessionEnd[]) => Promise<void>;
  isOnline: () => boolean;
  onForget: () => void;
  log: Log;
}

export interface Reports {
  /** Call it when entries were appended. */
  wake: () => void;
  /** Call it when the link is online. */
  hurry: () => void;
  stop: () => Promise<void>;
}

/** Room for the envelope and the ids of many sessions. */
const limits = { bytes: largestReport - 32 * 1024, entries: 500 };
const retry = { firstMs: 500, longestMs: 15_000 };

export function startReports(options: ReportOptions): Reports {
  const { journal, ask, introduce, isOnline, onForget, log } = options;
  const stopped = new AbortController();
  let running: Promise<void> | undefined;
  let isAwake = false;
  let nudge = new AbortController();

  async function send(sessionId?: string): Promise<"sent" | "nothing" | "failed"> {
    const sessions = journal.log.unapplied(limits, sessionId);
    if (sessions.length === 0) return "nothing";
    const report: Report = { journalId: journal.id, sessions };
    const reply = await ask("report", report, ReportReply);
    if (stopped.signal.aborted) return "nothing";
    if ("failed" in reply) return "failed";
    journal.log.applied(reply.applied);
    const known = new Set(reply.applied.map(({ sessionId }) => sessionId));
    for (const { sessionId } of sessions) {
      if (known.has(sessionId)) continue;
      log.warn("the control plane does not know a session; its entries are not sent", {
        sessionId,
      });
      journal.log.abandon(sessionId);
    }
    const first = new Map(sessions.map(({ sessionId, entries }) => [sessionId, entries[0]!.seq]));
    const moved = reply.applied.some(
      ({ sessionId, appliedSeq }) => appliedSeq >= (first.get(sessionId) ?? Infinity),
    );
    return moved || known.size < sessions.length ? "sent" : "failed";
  }

  async function sendApart(): Promise<void> {
    for (const sessionId of journal.log.unappliedSessions()) {
      if ((await send(sessionId)) === "failed") {
        log.warn("a report was not applied", { sessionId });
      }
    }
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (isOnline() && !stopped.signal.aborted) {
      isAwake = false;
      let waitMs = backOff(failures + 1, retry);
      try {
        const newcomers = journal.log.newcomers();
        if (newcomers.length > 0) await introduce(newcomers);
        const outcome = await send();
        if (outcome === "nothing") return;
        if (outcome === "sent") {
          failures = 0;
          continue;
        }
        await sendApart();
      } catch (error) {
        if (stopped.signal.aborted) return;
        if (error instanceof Forgotten) return onForget();
        log.warn("a report was not accepted", { error: describe(error) });
        waitMs = waitBefore(error, waitMs);
      }
      failures += 1;
      await pause(waitMs, AbortSignal.any([stopped.signal, nudge.signal]));
    }
  }

  function wake(): void {
    isAwake = true;
    if (running || stopped.signal.aborted || !isOnline()) return;
    running = run().finally(() => {
      running = undefined;
      // An entry was appended after the last read.
      if (isAwake) wake();
    });
  }

  return {
    wake,
    hurry() {
      nudge.abort();
      nudge = new AbortController();
      wake();
    },
    async stop() {
      stopped.abort();
      await running;
    },
  };
}
