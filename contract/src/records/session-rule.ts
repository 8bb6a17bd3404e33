// Rules that a session stores when somebody answers a request with `always`.
import { z } from "zod";
import { SessionId } from "../ids.ts";
import { Instant } from "../moments.ts";
import { UserReference } from "./actor.ts";

const StoredRule = z.strictObject({
  rule: z.string().meta({ description: "The exact rule, as the request showed it." }),
  by: UserReference.nullable().meta({
    description: "Who answered `always`; null if no user did, or if it is not known.",
  }),
  at: Instant.nullable().meta({ description: "When, by the host's clock; null if not known." }),
  uses: z.int().min(0).meta({ description: "How many calls it has allowed since." }),
});

export const SessionRules = z
  .strictObject({
    sessionId: SessionId,
    rules: z.array(StoredRule).meta({ description: "The newest first; at most 200." }),
    truncated: z.boolean().meta({ description: "True if older rules are missing here." }),
  })
  .meta({ id: "SessionRules", description: "The rules that `always` has stored in a session." });
export type SessionRules = z.infer<typeof SessionRules>;
