// How much of a list a caller gets, and where the next part begins.
import { z } from "zod";

/** How many entries to return at most. Handlers apply the default; the schema only tells it. */
export function limit(bounds: { max: number; default: number }) {
  return z
    .int()
    .min(1)
    .max(bounds.max)
    .meta({ description: "How many to return at most.", default: bounds.default })
    .optional();
}

/** Where a page begins: the `nextCursor` of the one before it. */
export const Cursor = z
  .string()
  .meta({ description: "The `nextCursor` of the previous page; left out for the first." });

/** Where the next page begins. */
export const NextCursor = z.string().nullable().meta({ description: "Null on the last page." });
