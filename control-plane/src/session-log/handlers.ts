// What the actions that read a session's log do.
import { notFound, parseId, type sessionTurnActions } from "@hawser/contract";
import type { HandlersFor } from "../dispatch/handler.ts";
import { query } from "../postgres/statement.ts";
import { selectSession } from "../sessions/store.ts";
import { selectEntriesOf } from "./follow-store.ts";
import { waitForSession, type SessionLogServices } from "./wait.ts";

type LogActions = Pick<typeof sessionTurnActions, "list_session_events" | "wait_for_session">;

const largestListing = 4 * 1024 * 1024;

export const sessionLogHandlers: HandlersFor<LogActions, SessionLogServices> = {
  async list_session_events({ sql }, { sessionId, after = 0, limit = 100 }) {
    const id = parseId("session", sessionId);
    if (!id) throw notFound("session");
    // Read entries first, so that lastSeq is never older than the page.
    const [rows, [session]] = await sql.together(
      query(selectEntriesOf(id), sql.organizationId, id, after, limit, largestListing),
      query(selectSession, sql.organizationId, id),
    );
    if (!session) throw notFound("session");
    const events = rows.map(({ seq, at, turn_id: turnId, update }) => ({
      seq,
      at,
      turnId,
      update: JSON.parse(update) as Record<string, unknown>,
    }));
    const lastSeq = session.applied_seq;
    // The entries of an expired period are gone, so an empty page is the last.
    const lastRead = events.at(-1)?.seq;
    return { events, lastSeq, hasMore: lastRead !== undefined && lastRead < lastSeq };
  },

  wait_for_session: (context, input) => waitForSession(context, input),
};
