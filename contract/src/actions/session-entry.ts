// Reading one entry of a session's log in whole.
import { z } from "zod";
import { action } from "../action.ts";
import { SessionId } from "../ids.ts";
import { Cursor, NextCursor } from "../pages.ts";

export const sessionEntryActions = {
  read_session_entry: action({
    summary: "Read a whole entry of a session's log, also one that was cut because it is large.",
    details:
      "An entry that was cut has `hawser/whole` in its `_meta`. The joined texts of all pages are the entry's `update` as JSON.",
    group: "reading",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      sessionId: SessionId,
      seq: z.int().min(1).meta({ description: "The entry, as list_session_events numbers it." }),
      cursor: Cursor.optional(),
      maxBytes: z
        .int()
        .min(1_000)
        .max(1_048_576)
        .meta({ description: "Maximum size of a page.", default: 65_536 })
        .optional(),
    }),
    result: z.strictObject({
      seq: z.int().min(1).meta({ description: "The entry." }),
      size: z.int().min(0).meta({ description: "Size of the whole `update`, in bytes." }),
      omitted: z.string().nullable().meta({
        description:
          "Why the whole is not stored, as a stable word; the text is then the entry as it was cut. Null if it is stored.",
      }),
      text: z.string().meta({ description: "A part of the `update` as JSON." }),
      nextCursor: NextCursor,
    }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),
};
