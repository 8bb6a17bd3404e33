// A user's agent account of one kind on one host, and the key for which its secret is sealed. The records contain
// no credentials.
import { z } from "zod";
import { Instant } from "../moments.ts";
import { UserReference } from "./actor.ts";
import { LinkableKind } from "./agent-kind.ts";

/** How an account is used: by a login, or by a secret that the user has linked. */
export const IdentityWay = z.enum(["subscription", "api_key", "gateway", "bedrock", "vertex"]);
export type IdentityWay = z.infer<typeof IdentityWay>;

/** The ways that need a secret instead of a login. */
export const LinkWay = IdentityWay.exclude(["subscription"]).meta({
  description:
    "api_key: a key of the agent's maker. gateway: an address with the maker's interface. vertex: claude_code only.",
});
export type LinkWay = z.infer<typeof LinkWay>;

/** The public key of a host, as a JSON Web Key. */
export const SealingKey = z
  .strictObject({
    kty: z.literal("RSA").meta({ description: "The type of the key." }),
    alg: z.literal("RSA-OAEP-256").meta({ description: "The algorithm that it is for." }),
    use: z.literal("enc").meta({ description: "Encryption." }),
    n: z.string().max(1024).meta({ description: "The modulus." }),
    e: z.string().max(16).meta({ description: "The exponent." }),
  })
  .meta({ id: "SealingKey", description: "A JSON Web Key: only the host can open what it seals." });
export type SealingKey = z.infer<typeof SealingKey>;

export const IdentityRecord = z
  .strictObject({
    user: UserReference,
    kind: LinkableKind,
    way: IdentityWay.nullable().meta({
      description:
        "subscription: by start_agent_login. The others: by link_agent_identity. Null if the host's daemon is too old to report it.",
    }),
    authenticated: z.boolean().meta({
      description: "Whether the login is valid now. For a linked secret: whether the host has it.",
    }),
    account: z.string().nullable().meta({
      description:
        "The account's name, if the agent reports it. For a linked secret: the gateway's host, or the secret's last characters.",
    }),
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
