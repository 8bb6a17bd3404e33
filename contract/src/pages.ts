// Paging: how many entries a caller gets, and where the next page begins.
import { z } from "zod";
import { text } from "./text.ts";

/** Maximum number of entries. Handlers apply the default; the schema only documents it. */
export function limit(bounds: { max: number; default: number }) {
  return z
    .int()
    .min(1)
    .max(bounds.max)
    .meta({ description: "Page size.", default: bounds.default })
    .optional();
}

/** Start of a page: the `nextCursor` of the previous page. */
export const Cursor = z.string().meta({ description: "`nextCursor` of the previous page." });

/** Start of the next page. */
export const NextCursor = z.string().nullable().meta({ description: "Null on the last page." });

/** A text to search for. An empty one matches everything. */
export const SearchText = text({ max: 200 });
