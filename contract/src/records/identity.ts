// A user's own agent account on one host, for one kind. Credentials are no part of it.
import { z } from "zod";
import { Instant } from "../moments.ts";
import { UserReference } from "./actor.ts";
import { LinkableKind } from "./agent-kind.ts";

export const IdentityRecord = z
  .strictObject({
    user: UserReference,
    kind: LinkableKind,
    authenticated: z.boolean().meta({ description: "Whether the login is good now." }),
    account: z.string().nullable(),
    plan: z.string().nullable().meta({ description: "The subscription, where the agent tells." }),
    expiresAt: Instant.nullable().meta({ description: "When the login has to be renewed." }),
  })
  .meta({ id: "AgentIdentity", description: "A user's agent account on one host." });
export type IdentityRecord = z.infer<typeof IdentityRecord>;
