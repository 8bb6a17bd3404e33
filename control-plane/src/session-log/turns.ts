// Listing the turns of a session, the newest first. The log has no index of turns, so a call looks at a window of
// entries, and a page can be empty before the end.
import type { InputOf, ResultOf, TurnRecord, sessionTurnActions } from "@hawser/contract";
import { foreignCursor, readCursor, searchedPage } from "../cursor.ts";
import type { ReadContext } from "../dispatch/handler.ts";
import { findSession } from "../sessions/find-session.ts";
import { readNames } from "../sessions/names.ts";
import { selectTurnEndOf, selectTurnEntriesOf, type TurnEntryRow } from "./turn-store.ts";

type ListTurns = (typeof sessionTurnActions)["list_session_turns"];

/** How many entries a call looks at. */
const mostLookedAt = 10_000;
/** Characters of a prompt. */
const longestPrompt = 200;

export async function listSessionTurns(
  { sql }: ReadContext,
  { sessionId, cursor, limit = 50 }: InputOf<ListTurns>,
): Promise<ResultOf<ListTurns>> {
  const { session_id: id, applied_seq: lastSeq } = await findSession(sql, sessionId);
  const key = [sql.organizationId, id] as const;
  const before = cursor === undefined ? lastSeq + 1 : readPosition(cursor);
  const from = Math.max(1, before - mostLookedAt);
  const entries = await sql.rows(selectTurnEntriesOf(id), ...key, from, before, longestPrompt);
  const found = turnsIn(entries, from === 1);
  const newest = found[0];
  // Only the newest turn of the window can end behind it.
  if (newest?.lastSeq === null && before <= lastSeq) {
    const window = [before, before + mostLookedAt, newest.turnId] as const;
    const end = await sql.first(selectTurnEndOf(id), ...key, ...window);
    if (end) Object.assign(newest, { lastSeq: end.seq, outcome: end.outcome });
  }
  const { rows: turns, nextCursor } = await searchedPage(
    found,
    limit,
    ({ firstSeq }) => [String(firstSeq), id],
    () => Promise.resolve(from > 1 ? [String(from), id] : undefined),
  );
  const named = await readNames(
    sql,
    turns.map(({ by }) => by),
  );
  return { turns: turns.map((turn) => ({ ...turn, by: named(turn.by) })), nextCursor };
}

/** The page begins before this entry. */
function readPosition(cursor: string): number {
  const [seq] = readCursor(cursor, 2);
  if (!/^[1-9]\d{0,14}$/.test(seq!)) throw foreignCursor();
  return Number(seq);
}

/** `by` is the id of the user. */
type FoundTurn = Omit<TurnRecord, "by"> & { by: string | null };

/**
 * The turns that start in a window, the newest first. `isWhole`: no entry precedes the window. Entries behind the end
 * of a turn count as its own, because an agent reports what a turn has cost when it is over.
 */
function turnsIn(entries: readonly TurnEntryRow[], isWhole: boolean): FoundTurn[] {
  const turns: FoundTurn[] = [];
  /** The session's costs at the end of each turn, and before the first; undefined if they are not reported there. */
  const totals: (number | null | undefined)[] = [];
  let end: TurnEntryRow | undefined, prompt: TurnEntryRow | undefined;
  let total: number | null | undefined;
  for (const entry of entries) {
    if (entry.type === "usage_update" && total === undefined) total = entry.cost_usd;
    if (entry.type === "turn_finished") end ??= entry;
    if (entry.type === "user_message_chunk") prompt = entry;
    if (entry.type !== "turn_started" || entry.turn_id === null) continue;
    turns.push({
      turnId: entry.turn_id,
      messageId: entry.message_id,
      firstSeq: entry.seq,
      lastSeq: end?.seq ?? null,
      prompt: prompt?.text ?? null,
      by: prompt?.by ?? null,
      startedAt: entry.at,
      outcome: end?.outcome ?? null,
      costUsd: null,
    });
    totals.push(total);
    end = prompt = total = undefined;
  }
  totals.push(total ?? (isWhole ? 0 : undefined));
  for (const [at, turn] of turns.entries()) {
    const after = totals[at];
    const earlier = totals.slice(at + 1).find((each) => each !== undefined);
    if (typeof after !== "number" || typeof earlier !== "number") continue;
    // A resumed agent can begin to count again.
    if (after >= earlier) turn.costUsd = after - earlier;
  }
  return turns;
}
