// A position in a listing, which the caller receives as an opaque text. It contains the sort key of the
// last row shown, so every page costs the same, and rows that are added in the meantime are never shown
// twice.
import { Refusal } from "@hawser/contract";

function makeCursor(position: readonly string[]): string {
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The position in a cursor of `length` parts, the last of which is a row's id. Throws `invalid_input`
 * for any other text.
 */
export function readCursor(cursor: string, length: number): string[] {
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (Array.isArray(position) && position.length === length && position.every(isCleanText)) {
      if (uuid.test(position.at(-1)!)) return position;
    }
  } catch {
    // Not JSON: refused below, like every other text that is not a cursor.
  }
  throw foreignCursor();
}

/** The refusal of a text that is no cursor of the action. */
export function foreignCursor(): Refusal {
  return new Refusal(
    "invalid_input",
    "The cursor is not one this action gave. Start again without it.",
    {
      fields: [{ field: "cursor", message: "is not one this action gave" }],
    },
  );
}

function isCleanText(part: unknown): part is string {
  return typeof part === "string" && part.isWellFormed() && !part.includes("\0");
}

/** Sorts before every id. */
export const firstId = "00000000-0000-0000-0000-000000000000";
/** Sorts after every id: a listing of the newest rows starts here. */
export const lastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The position of a listing that runs from the newest id to the oldest. */
export function readIdCursor(cursor: string | undefined): string {
  return cursor === undefined ? lastId : readCursor(cursor, 1)[0]!;
}

/** Cuts off the extra row that was read to learn whether there is a next page. */
export function page<Row>(
  rows: Row[],
  limit: number,
  positionOf: (row: Row) => readonly string[],
): { rows: Row[]; nextCursor: string | null } {
  if (rows.length <= limit) return { rows, nextCursor: null };
  const shown = rows.slice(0, limit);
  return { rows: shown, nextCursor: makeCursor(positionOf(shown.at(-1)!)) };
}

/** How many rows a search for a text looks at in one call. */
export const mostSearched = 20_000;

/**
 * A page of a search. If fewer rows than the limit match, the next page begins behind the last row that was
 * looked at; `end` reads its position, undefined if there are no more rows.
 */
export async function searchedPage<Row>(
  found: Row[],
  limit: number,
  positionOf: (row: Row) => readonly string[],
  end: () => Promise<readonly string[] | undefined>,
): Promise<{ rows: Row[]; nextCursor: string | null }> {
  if (found.length > limit) return page(found, limit, positionOf);
  const last = await end();
  return { rows: found, nextCursor: last ? makeCursor(last) : null };
}
