// What every command of the host protocol says about itself.
import type { RefusalCode } from "@hawser/contract";
import type { z } from "zod";

export interface CommandKind {
  /** What only looks is not written to the host's journal: asked again, it is looked again. */
  effect: "reads" | "changes";
  payload: z.ZodObject;
  result: z.ZodObject;
  deadlineMs: number;
  /** Refusals of the host's that callers get by their own code; any other becomes `host_refused`. */
  refusals?: readonly RefusalCode[];
}
