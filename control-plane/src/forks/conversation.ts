// The conversation that the agent of a fork reads. A long one is cut: the beginning of the first prompt stays,
// because it says what the work is about, and the newest passages.
import type { UpdateOf } from "@hawser/contract";
import type { TenantSql } from "../postgres/statement.ts";
import { selectMatchingOf, selectNewestOf } from "../session-log/follow-store.ts";
import { passagesOf, quoted, saidTypes } from "../session-log/transcript.ts";
import { selectFork } from "./store.ts";

export interface Conversation {
  text: string;
  isCut: boolean;
}

/** The largest conversation, in bytes. A command to a host has to fit into one message of NATS. */
const largest = 200_000;
const longestBeginning = 20_000;
/** How many entries a page looks at. */
const pageWindow = 10_000;
const pageEntries = 500;
const pageBytes = 1024 * 1024;
/** Bounds what one fork reads. Most entries are tool calls, of which little is retold. */
const mostPages = 8;
/** How many forks of forks are followed. */
const mostOriginals = 8;

type Entry = { sessionUpdate: string };

/** A session's log up to an entry. */
interface Place {
  sessionId: string;
  untilSeq: number;
}

/** What was said in a session up to this entry of its log, also in the sessions that it was forked from. */
export async function readConversation(
  sql: TenantSql,
  sessionId: string,
  untilSeq: number,
): Promise<Conversation> {
  const passages: string[] = [];
  let summary: string | undefined;
  let isCut = false;
  let pages = mostPages;
  let place: Place | undefined = { sessionId, untilSeq };
  let oldest = place;
  for (let depth = 0; place && !isCut && summary === undefined; depth++) {
    oldest = place;
    const read = await readEntries(sql, place, pages);
    pages = read.pagesLeft;
    passages.unshift(...passagesOf(read.entries));
    summary = read.entries.find(isSummary)?.summary;
    place = await originalOf(sql, place.sessionId);
    isCut =
      read.isCut ||
      bytesOf(passages) + Buffer.byteLength(summary ?? "") > largest ||
      (place !== undefined && depth === mostOriginals);
  }
  const before =
    summary === undefined ? [] : [`## Summary of what was said before\n\n${quoted(summary)}`];
  const text = isCut
    ? cut(before[0] ?? (await readFirstPrompt(sql, oldest)), passages)
    : [...before, ...passages].join("\n\n");
  // A cut can leave half of a character, which PostgreSQL does not store.
  return { text: text.toWellFormed(), isCut };
}

/** Reads from the end, as many pages as are left. */
async function readEntries(
  sql: TenantSql,
  { sessionId, untilSeq }: Place,
  pages: number,
): Promise<{ entries: Entry[]; isCut: boolean; pagesLeft: number }> {
  const types = [...saidTypes, "session_forked"];
  const entries: Entry[] = [];
  let until = untilSeq;
  let left = pages;
  for (; until > 0 && left > 0; left--) {
    const from = Math.max(0, until - pageWindow);
    const page = [sql.organizationId, sessionId, from, pageEntries, pageBytes, until] as const;
    const rows = await sql.rows(selectNewestOf(sessionId), ...page, null, types);
    entries.unshift(...rows.map(({ update }) => JSON.parse(update) as Entry));
    // A page also ends because of its number of entries or its bytes.
    until = rows[0] ? rows[0].seq - 1 : from;
  }
  return { entries, isCut: until > 0, pagesLeft: left };
}

async function originalOf(sql: TenantSql, sessionId: string): Promise<Place | undefined> {
  const fork = await sql.first(selectFork, sql.organizationId, sessionId);
  return fork && { sessionId: fork.forked_from, untilSeq: fork.forked_at_seq };
}

/** The first prompt that was not reverted among the first entries. */
async function readFirstPrompt(
  sql: TenantSql,
  { sessionId, untilSeq }: Place,
): Promise<string | undefined> {
  const until = Math.min(untilSeq, pageWindow);
  const page = [sql.organizationId, sessionId, 0, pageEntries, pageBytes, until] as const;
  const types = ["user_message_chunk", "session_reverted"];
  const rows = await sql.rows(selectMatchingOf(sessionId), ...page, null, types);
  return passagesOf(rows.map(({ update }) => JSON.parse(update) as Entry))[0];
}

/** Whole passages, except for a first prompt or a newest passage that is longer than its share. */
function cut(first: string | undefined, passages: readonly string[]): string {
  const beginning = (first ?? "").slice(0, longestBeginning).toWellFormed();
  let room = largest - Buffer.byteLength(beginning);
  const kept: string[] = [];
  for (const passage of passages.toReversed()) {
    const bytes = Buffer.byteLength(passage);
    if (bytes > room && kept.length > 0) break;
    // A single passage of more than the whole room: its end says most about where the work stands.
    const end = () => passage.slice(-Math.floor(room / 3)).toWellFormed();
    kept.unshift(bytes > room ? `> ${end()}` : passage);
    room -= bytes;
    if (room <= 0) break;
  }
  return [beginning, "(The passages in between are left out.)", ...kept].join("\n\n");
}

const bytesOf = (passages: readonly string[]) =>
  passages.reduce((sum, passage) => sum + Buffer.byteLength(passage), 0);

const isSummary = (entry: Entry): entry is UpdateOf<"session_forked"> & { summary: string } =>
  entry.sessionUpdate === "session_forked" &&
  typeof (entry as UpdateOf<"session_forked">).summary === "string";
