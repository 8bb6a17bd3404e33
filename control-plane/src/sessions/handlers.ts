// What the actions on sessions do. turns.ts has the actions on their turns.
import { narrower, notFound, parseId, Refusal, type sessionActions } from "@hawser/contract";
import { onHost, type HandlersFor } from "../dispatch/handler.ts";
import { askHost, readFromHost } from "../hosts/ask-host.ts";
import { ownerIdOf } from "../identities/owner.ts";
import { deleteSession, endSession } from "./ending.ts";
import { getSessionDiff, revertSession } from "./files.ts";
import { findSession, hostOf, refuseOver, type SessionServices } from "./find-session.ts";
import { isOver } from "./lifecycle.ts";
import { readSessions, sessionListEntry } from "./listing.ts";
import { searchSessions } from "./overviews.ts";
import { pushSession } from "./push.ts";
import { putRead } from "./read-store.ts";
import { sessionRecord } from "./record.ts";
import { shareSession } from "./sharing.ts";
import { readRecordAndNotify, startSession } from "./start.ts";
import * as store from "./store.ts";

/** Forks are above this folder, because they read the log. */
type SessionActions = Omit<typeof sessionActions, "fork_session">;

export const sessionHandlers: HandlersFor<SessionActions, SessionServices> = {
  async list_sessions({ sql }, { limit = 50, ...filter }) {
    const rows = await readSessions(sql, filter, limit);
    return { sessions: rows.map(sessionListEntry) };
  },

  search_sessions: (context, input) => searchSessions(context, input),

  async get_session_summary(context, { sessionId }) {
    const row = await findSession(context.sql, sessionId);
    const host = hostOf(row);
    const live =
      host.isOnline && !isOver(row.status)
        ? await readFromHost(context, host, "describe_session", { sessionId }).catch(nullIfRefused)
        : null;
    return { ...sessionRecord(row), live };
  },

  start_session: startSession,
  end_session: endSession,
  delete_session: deleteSession,
  get_session_diff: getSessionDiff,
  revert_session: revertSession,
  push_session: pushSession,
  share_session: shareSession,

  set_session_mode: onHost({
    async prepare({ sql, caller }, { sessionId, mode }) {
      const row = await findSession(sql, sessionId);
      refuseOver(row);
      if (narrower(mode, row.highest_mode) !== mode) {
        const message = `The organization allows at most the mode ${row.highest_mode}. Set that mode or a narrower one, or ask an owner to raise highestMode with update_settings.`;
        throw new Refusal("mode_not_allowed", message);
      }
      return { ...hostOf(row), appliedSeq: row.applied_seq, ownerId: ownerIdOf(caller) };
    },
    ask: (context, wanted, { ownerId, ...host }) =>
      askHost(context, host, "set_session_mode", { ...wanted, ownerId }),
    conclude(context, { sessionId, mode }, { appliedSeq }) {
      const { sql } = context;
      const key = [sql.organizationId, parseId("session", sessionId)!];
      sql.later(store.lockSession, ...key);
      sql.later(store.setMode, ...key, mode, appliedSeq);
      return readRecordAndNotify(context, sessionId);
    },
  }),

  async mark_session_read({ sql, caller }, { sessionId, seq }) {
    const { session_id } = await findSession(sql, sessionId);
    if (caller.userId === null) {
      throw new Refusal(
        "user_key_required",
        "People read sessions, and this key belongs to the organization. Call with a key of a user.",
      );
    }
    const row = await sql.first(putRead, sql.organizationId, session_id, caller.userId, seq);
    if (!row) throw notFound("session");
    return { sessionId, readSeq: row.seq };
  },

  async rename_session(context, { sessionId, title }) {
    const { sql } = context;
    const row = await findSession(sql, sessionId);
    await sql.rows(store.renameSession, sql.organizationId, row.session_id, title);
    const host = hostOf(row);
    if (host.isOnline && !isOver(row.status)) {
      // The record decides the title; the agent's own title follows if the host can change it.
      sql.afterCommit(() => {
        readFromHost(context, host, "rename_session", { sessionId, title }).catch(() => {});
      });
    }
    return readRecordAndNotify(context, sessionId);
  },
};

function nullIfRefused(error: unknown): null {
  if (error instanceof Refusal) return null;
  throw error;
}
