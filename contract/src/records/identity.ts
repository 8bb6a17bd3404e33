// A user's agent account of one kind on one host. The record contains no credentials.
import { z } from "zod";
import { Instant } from "../moments.ts";
import { UserReference } from "./actor.ts";
import { LinkableKind } from "./agent-kind.ts";

export const IdentityRecord = z
  .strictObject({
    user: UserReference,
    kind: LinkableKind,
    authenticated: z.boolean().meta({ description: "Whether the login is valid now." }),
    account: z
      .string()
      .nullable()
      .meta({ description: "The account's name, if the agent reports it." }),
    plan: z.string().nullable().meta({ description: "The subscription, if the agent reports it." }),
    expiresAt: Instant.nullable().meta({ description: "When the login expires." }),
    utilizationAt: Instant.nullable().meta({
      description: "When the agent reported `utilization`.",
    }),
    utilization: z
      .number()
      .nullable()
      .meta({ description: "How much of the account's quota is used, in percent." }),
    warning: z.string().nullable().meta({
      description: "What to do if the login has expired or expires within three days.",
    }),
  })
  .meta({ id: "AgentIdentity", description: "A user's agent account on one host." });
export type IdentityRecord = z.infer<typeof IdentityRecord>;
