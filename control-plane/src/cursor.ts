// A place in a listing, handed to the caller as an opaque text. It holds the sort key of the last
// row shown, so a page costs the same wherever it is, and rows added meanwhile are never shown
// twice.
import { Refusal } from "@hawser/contract";

function makeCursor(position: readonly string[]): string {
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The position in a cursor of `length` parts, of which the last is a row's id; any other text is refused. */
export function readCursor(cursor: string, length: number): string[] {
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (Array.isArray(position) && position.length === length && position.every(isCleanText)) {
      if (uuid.test(position.at(-1)!)) return position;
    }
  } catch {
    // Not JSON: refused below, like everything else that is no cursor.
  }
  throw new Refusal(
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
/** Sorts after every id: where a listing of the newest begins. */
export const lastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The position of a listing that runs from the newest id to the oldest. */
export function readIdCursor(cursor: string | undefined): string {
  return cursor === undefined ? lastId : readCursor(cursor, 1)[0]!;
}

/** Cuts the one row too many that was read to learn whether there is a next page. */
export function page<Row>(
  rows: Row[],
  limit: number,
  positionOf: (row: Row) => readonly string[],
): { rows: Row[]; nextCursor: string | null } {
  if (rows.length <= limit) return { rows, nextCursor: null };
  const shown = rows.slice(0, limit);
  return { rows: shown, nextCursor: makeCursor(positionOf(shown.at(-1)!)) };
}
