// What the actions that read a session's log do.
import { notFound, parseId, type sessionTurnActions } from "@hawser/contract";
import type { HandlersFor } from "../dispatch/handler.ts";
import { query } from "../postgres/statement.ts";
import { selectSession } from "../sessions/store.ts";
import { selectEntriesOf, selectMatchingOf, selectNewestOf, type LogRow } from "./follow-store.ts";
import { selectFoundOf, type FoundRow } from "./search-store.ts";
import { listSessionTurns } from "./turns.ts";
import { waitForSession, type SessionLogServices } from "./wait.ts";

type LogActions = Pick<
  typeof sessionTurnActions,
  "list_session_events" | "search_session_events" | "list_session_turns" | "wait_for_session"
>;

const largestListing = 4 * 1024 * 1024;
/** How many entries a filter looks at in one call. */
const mostLookedAt = 10_000;
/** How many entries a search for a text reads in one call; fewer if they are large. */
const mostSearched = 2_000;

export const sessionLogHandlers: HandlersFor<LogActions, SessionLogServices> = {
  async list_session_events({ sql }, input) {
    const { sessionId, after = 0, turnId, types, tail = false } = input;
    const { limit = 100, maxBytes = largestListing } = input;
    const id = parseId("session", sessionId);
    if (!id) throw notFound("session");
    const key = [sql.organizationId, id] as const;
    const page = (from: number) => [...key, from, limit, maxBytes] as const;
    const isFiltered = turnId !== undefined || types !== undefined;
    if (!tail && !isFiltered) {
      // Read entries first, so that lastSeq is never older than the page.
      const [rows, [session]] = await sql.together(
        query(selectEntriesOf(id), ...page(after)),
        query(selectSession, ...key),
      );
      if (!session) throw notFound("session");
      const lastSeq = session.applied_seq;
      // The entries of an expired period are gone, so an empty page is the last.
      const lastRead = rows.at(-1)?.seq;
      const isMore = lastRead !== undefined && lastRead < lastSeq;
      return answerOf(rows, lastSeq, isMore ? lastRead : null);
    }
    const session = await sql.first(selectSession, ...key);
    if (!session) throw notFound("session");
    const lastSeq = session.applied_seq;
    const from = tail ? Math.max(after, lastSeq - mostLookedAt) : after;
    const until = Math.min(lastSeq, from + mostLookedAt);
    const select = (tail ? selectNewestOf : selectMatchingOf)(id);
    const rows = await sql.rows(select, ...page(from), until, turnId ?? null, types ?? null);
    if (tail) return answerOf(rows, lastSeq, null);
    // A page that is not full has looked at everything up to `until`.
    const isFull = rows.length >= limit || bytesOf(rows) >= maxBytes;
    const readUntil = isFull ? rows.at(-1)!.seq : until;
    return answerOf(rows, lastSeq, readUntil < lastSeq ? readUntil : null);
  },

  async search_session_events({ sql }, { sessionId, query: text, after = 0, limit = 20 }) {
    const id = parseId("session", sessionId);
    if (!id) throw notFound("session");
    const key = [sql.organizationId, id] as const;
    const session = await sql.first(selectSession, ...key);
    if (!session) throw notFound("session");
    const until = Math.min(session.applied_seq, after + mostSearched);
    const rows = await sql.rows(selectFoundOf(id), ...key, after, until, text, limit);
    const matches = rows.flatMap(({ seq, at, turn_id: turnId, type, ...found }) =>
      seq === null ? [] : { seq, at, turnId, type, text: excerptOf(found) },
    );
    // The entries of an expired period are gone, so nothing is read, and nothing follows.
    const lastRead = rows[0]?.read_until ?? session.applied_seq;
    const readUntil = matches.length >= limit ? matches.at(-1)!.seq : lastRead;
    return { matches, nextAfter: readUntil < session.applied_seq ? readUntil : null };
  },

  list_session_turns: (context, input) => listSessionTurns(context, input),
  wait_for_session: (context, input) => waitForSession(context, input),
};

/** Begins and ends with whole words, unless they are very long. */
function excerptOf(found: Pick<FoundRow, "text" | "is_cut_before" | "is_cut_after">): string {
  let { text } = found;
  if (found.is_cut_before) text = `…${text.replace(/^\S{0,60}\s{1,40}/, "")}`;
  if (found.is_cut_after) text = `${text.replace(/\s{1,40}\S{0,60}$/, "")}…`;
  return text;
}

const bytesOf = (rows: LogRow[]) =>
  rows.reduce((sum, { update }) => sum + Buffer.byteLength(update), 0);

function answerOf(rows: LogRow[], lastSeq: number, nextAfter: number | null) {
  const events = rows.map(({ seq, at, turn_id: turnId, update }) => ({
    seq,
    at,
    turnId,
    update: JSON.parse(update) as Record<string, unknown>,
  }));
  return { events, lastSeq, hasMore: nextAfter !== null, nextAfter };
}
