// What the session actions do.
import type { sessionActions } from "@hawser/contract";
import { lastId, page, readIdCursor } from "../cursor.ts";
import type { HandlersFor } from "../dispatch/handler.ts";
import type { NotYet } from "../not-yet.ts";
import { readSessions, sessionListEntry } from "./listing.ts";

export const sessionHandlers: HandlersFor<typeof sessionActions, object, NotYet> = {
  async list_sessions({ sql }, { limit = 50, ...filter }) {
    const rows = await readSessions(sql, filter, lastId, limit);
    return { sessions: rows.map(sessionListEntry) };
  },

  async search_sessions({ sql }, { cursor, limit = 50, ...filter }) {
    const read = await readSessions(sql, filter, readIdCursor(cursor), limit + 1);
    const { rows, nextCursor } = page(read, limit, (row) => [row.session_id]);
    return { sessions: rows.map(sessionListEntry), nextCursor };
  },
};
