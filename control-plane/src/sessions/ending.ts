// Ending and deleting sessions. Before the host is asked, a row records that the host owes the ending,
// so the ending happens even if this node dies. A host that cannot be reached, or that refuses, still
// owes it.
import { createHash } from "node:crypto";
import { Refusal, formatId, notFound, parseId, type sessionActions } from "@hawser/contract";
import {
  OutcomeUnknown,
  onHost,
  type AskContext,
  type ChangeContext,
  type HostHandler,
} from "../dispatch/handler.ts";
import { notifyAfterCommit } from "../events/viewers.ts";
import { askHost, type HostTarget } from "../hosts/ask-host.ts";
import { hostOf, type SessionServices } from "./find-session.ts";
import { oweEndings, settleEndings } from "./owed-store.ts";
import { readRecordAndNotify } from "./start.ts";
import * as store from "./store.ts";

/** The host's response to the command to end a session. */
type Ending =
  | { outcome: "ended" }
  /** The host cannot be reached. It cleans up when it is back. */
  | { outcome: "later"; reason: string }
  | { outcome: "refused"; reason: string; message: string };

export const endSession: HostHandler<(typeof sessionActions)["end_session"], SessionServices> =
  onHost({
    async prepare(context, { sessionId }) {
      const { sql } = context;
      const id = parseId("session", sessionId);
      const row = id && (await sql.first(store.lockSession, sql.organizationId, id));
      if (!row) throw notFound("session");
      const isEnded = row.status === "ended";
      if (!isEnded) await beginEnding(context, [row]);
      return { ...hostOf(row), isEnded };
    },
    ask: async (context, { sessionId }, { isEnded, ...host }): Promise<Ending> =>
      isEnded ? { outcome: "ended" } : askToEnd(context, host, sessionId, context.commandId),
    async conclude(context, { sessionId }, { isEnded }, ending) {
      const { sql } = context;
      const ids = [parseId("session", sessionId)!];
      if (!isEnded) {
        if (ending.outcome === "ended") {
          sql.later(store.setEnded, sql.organizationId, ids);
          sql.later(settleEndings, sql.organizationId, ids);
        } else {
          sql.later(store.setCleanupOwed, sql.organizationId, ids, ending.reason);
        }
      }
      return readRecordAndNotify(context, sessionId);
    },
  });

type Deleted = { sessionId: string; ending: Ending };

/** A session that was not deleted, and why. */
type Failure = { sessionId: string; reason: string };

export const deleteSession: HostHandler<
  (typeof sessionActions)["delete_session"],
  SessionServices
> = onHost({
  async prepare(context, input) {
    const { sql } = context;
    const wanted = [...new Set(input.sessionIds ?? [input.sessionId!])];
    const ids = new Map(wanted.map((shown) => [parseId("session", shown), shown]));
    const known = [...ids.keys()].filter((id) => id !== null);
    const rows = await sql.rows(store.lockSessionsById, sql.organizationId, known);
    const there = new Set(rows.map((row) => formatId("session", row.session_id)));
    const failed: Failure[] = wanted
      .filter((shown) => !there.has(shown))
      .map((shown) => ({ sessionId: shown, reason: notFound("session").message }));
    if (rows.length === 0) throw nothingDeleted(input, failed);
    const open = rows.filter(({ status }) => status !== "ended");
    if (open.length > 0) await beginEnding(context, open);
    const found = rows.map((row) => ({
      ...hostOf(row),
      sessionId: formatId("session", row.session_id),
      isEnded: row.status === "ended",
    }));
    return { found, failed };
  },
  async ask(context, input, { found, failed }) {
    const endings = await Promise.all(
      found.map(async ({ sessionId, isEnded, ...host }): Promise<Deleted> => {
        if (isEnded) return { sessionId, ending: { outcome: "ended" } };
        const ownId = commandIdFor(context.commandId, sessionId);
        return { sessionId, ending: await askToEnd(context, host, sessionId, ownId) };
      }),
    );
    const refused = endings.flatMap(asFailure);
    if (refused.length === found.length) throw nothingDeleted(input, [...failed, ...refused]);
    return endings;
  },
  conclude(context, _input, { failed }, endings) {
    const { sql, sessionRequests } = context;
    const kept = endings.flatMap(asFailure);
    const keptIds = new Set(kept.map(({ sessionId }) => sessionId));
    const gone = endings.filter(({ sessionId }) => !keptIds.has(sessionId));
    for (const { sessionId, ending } of endings) {
      if (ending.outcome !== "refused") continue;
      const ids = [parseId("session", sessionId)!];
      sql.later(store.setCleanupOwed, sql.organizationId, ids, ending.reason);
    }
    const idsOf = (some: Deleted[]) => some.map(({ sessionId }) => parseId("session", sessionId)!);
    sessionRequests.delete(sql, idsOf(gone));
    sql.later(store.deleteSessions, sql.organizationId, idsOf(gone));
    const cleanedUp = gone.filter(({ ending }) => ending.outcome === "ended");
    sql.later(settleEndings, sql.organizationId, idsOf(cleanedUp));
    notifyAfterCommit(context, { sessions: endings.map(({ sessionId }) => sessionId) });
    const deleted = gone.map(({ sessionId }) => sessionId);
    return { deleted, failed: [...failed, ...kept] };
  },
  /** Every host refused. The sessions are over nevertheless, and their hosts still owe the clean-up. */
  async undo(context, _input, { found }) {
    const { sql } = context;
    const open = found.filter(({ isEnded }) => !isEnded).map(({ sessionId }) => sessionId);
    const ids = open.map((sessionId) => parseId("session", sessionId)!);
    await sql.rows(store.setCleanupOwed, sql.organizationId, ids, "host_refused");
    notifyAfterCommit(context, { sessions: open });
  },
});

/** Withdraws the sessions' requests, and records that the hosts owe the endings. */
async function beginEnding(
  context: ChangeContext & SessionServices,
  rows: store.SessionRow[],
): Promise<void> {
  const { sql, sessionRequests } = context;
  const ids = rows.map(({ session_id }) => session_id);
  sql.later(
    oweEndings,
    sql.organizationId,
    ids,
    rows.map(({ instance_id }) => instance_id),
  );
  notifyAfterCommit(context, { requests: await sessionRequests.withdraw(sql, ids) });
}

async function askToEnd(
  context: AskContext & SessionServices,
  host: HostTarget,
  sessionId: string,
  commandId: string,
): Promise<Ending> {
  try {
    await askHost({ ...context, commandId }, host, "end_session", { sessionId });
    return { outcome: "ended" };
  } catch (error) {
    if (error instanceof OutcomeUnknown) return { outcome: "later", reason: "host_silent" };
    if (!(error instanceof Refusal)) throw error;
    const { code, message } = error;
    if (code === "host_offline" || code === "unavailable")
      return { outcome: "later", reason: "host_offline" };
    return { outcome: "refused", reason: code, message };
  }
}

function asFailure({ sessionId, ending }: Deleted): Failure[] {
  return ending.outcome === "refused" ? [{ sessionId, reason: ending.message }] : [];
}

function nothingDeleted(
  { sessionIds }: { sessionIds?: string[] | undefined },
  failed: Failure[],
): Refusal {
  const fieldOf = (id: string) =>
    sessionIds ? `sessionIds[${sessionIds.indexOf(id)}]` : "sessionId";
  return new Refusal("nothing_deleted", "None of these sessions could be deleted.", {
    fields: failed.map(({ sessionId, reason }) => ({ field: fieldOf(sessionId), message: reason })),
  });
}

/** Each session of a call has its own command id, which is the same at every retry. */
function commandIdFor(callCommandId: string, sessionId: string): string {
  const bytes = createHash("sha256").update(`${callCommandId} ${sessionId}`).digest();
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20, 32)].join("-");
}
