// Reading one entry of a session's log in whole, in pages. What was too large for the log is a blob, which the entry names.
import {
  Refusal,
  notFound,
  type InputOf,
  type ResultOf,
  type sessionEntryActions,
} from "@hawser/contract";
import { WholeUpdate, wholeUpdate } from "@hawser/host-protocol";
import { readBlobRange } from "../blobs/blobs.ts";
import { foreignCursor, readCursor } from "../cursor.ts";
import type { HandlersFor, ReadContext } from "../dispatch/handler.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { findSession } from "../sessions/find-session.ts";
import { selectEntriesOf } from "./follow-store.ts";

type Read = (typeof sessionEntryActions)["read_session_entry"];

const usualPage = 64 * 1024;

export const sessionEntryHandlers: HandlersFor<typeof sessionEntryActions, object> = {
  read_session_entry: readSessionEntry,
};

async function readSessionEntry(
  { sql }: ReadContext,
  { sessionId, seq, cursor, maxBytes = usualPage }: InputOf<Read>,
): Promise<ResultOf<Read>> {
  const { session_id: id } = await findSession(sql, sessionId);
  const from = cursor === undefined ? 0 : readOffset(cursor);
  const [entry] = await sql.rows(selectEntriesOf(id), sql.organizationId, id, seq - 1, 1, 1);
  if (entry?.seq !== seq) {
    const message = "The session's log has no entry with this number, or it was removed.";
    throw new Refusal("not_found", message);
  }
  const { size, bytes, omitted } = await readPart(sql, entry.update, from, maxBytes);
  const text = wholeCharacters(bytes, from + bytes.length >= size);
  const next = from + Buffer.byteLength(text);
  const isLast = next >= size || text === "";
  return { seq, size, omitted, text, nextCursor: isLast ? null : makeCursor(next, id) };
}

interface PartOfEntry {
  size: number;
  bytes: Buffer;
  omitted: string | null;
}

async function readPart(
  sql: TenantSql,
  update: string,
  from: number,
  length: number,
): Promise<PartOfEntry> {
  const { _meta: meta } = JSON.parse(update) as { _meta?: Record<string, unknown> };
  const whole = WholeUpdate.safeParse(meta?.[wholeUpdate]).data;
  if (whole && "sha256" in whole) {
    const part = await readBlobRange(sql, whole.sha256, from, length);
    // A host may name what it never sent.
    if (!part) throw notFound("blob");
    return { ...part, omitted: null };
  }
  const own = Buffer.from(update);
  return {
    size: own.length,
    bytes: own.subarray(from, from + length),
    omitted: whole?.omitted ?? null,
  };
}

/** Without the character that the end of the page cuts. */
function wholeCharacters(bytes: Buffer, isEnd: boolean): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: !isEnd });
}

const makeCursor = (offset: number, id: string) =>
  Buffer.from(JSON.stringify([String(offset), id])).toString("base64url");

function readOffset(cursor: string): number {
  const [offset] = readCursor(cursor, 2);
  if (!/^[1-9]\d{0,9}$/.test(offset!)) throw foreignCursor();
  return Number(offset);
}
