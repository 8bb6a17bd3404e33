// Properties of every command of the host protocol.
import type { RefusalCode } from "@hawser/contract";
import type { z } from "zod";

export interface CommandKind {
  /** A command that only reads is not recorded in the host's journal; a repeated one reads again. */
  effect: "reads" | "changes";
  payload: z.ZodObject;
  result: z.ZodObject;
  deadlineMs: number;
  /** Refusals of the host that callers receive with their own code; any other becomes `host_refused`. */
  refusals?: readonly RefusalCode[];
}
