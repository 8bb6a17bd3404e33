// Records of access: the organization, its members, API keys, settings and audit entries.
import { z } from "zod";
import { ApiKeyId, AuditId, OrganizationId, SessionId, SignInId, UserId } from "../ids.ts";
import { CreatedAt, Instant } from "../moments.ts";
import { PermissionName, RoleName } from "../permissions.ts";
import { restriction } from "../received.ts";
import { Caller, UserReference } from "./actor.ts";
import { SessionMode } from "./session-mode.ts";
import { TrustedRepository } from "./trusted-repository.ts";

export const OrganizationRecord = z
  .strictObject({
    organizationId: OrganizationId,
    name: z.string().meta({ description: "The organization's name." }),
  })
  .meta({ id: "Organization", description: "The organization a key belongs to." });
export type OrganizationRecord = z.infer<typeof OrganizationRecord>;

export const MemberRecord = z
  .strictObject({
    userId: UserId,
    email: z.string().meta({ description: "The user's e-mail address." }),
    name: z.string().nullable().meta({ description: "Null if none was set." }),
    role: RoleName.meta({ description: "The name of the member's role." }),
    createdAt: CreatedAt,
  })
  .meta({ id: "Member", description: "A user of the organization." });
export type MemberRecord = z.infer<typeof MemberRecord>;

export const RoleRecord = z
  .strictObject({
    name: RoleName.meta({ description: "The role's name." }),
    builtIn: z.boolean().meta({ description: "Whether every organization has it." }),
    permissions: z.array(PermissionName).meta({ description: "What its members may do." }),
    memberCount: z.int().min(0).meta({ description: "How many members have it." }),
  })
  .meta({ id: "Role", description: "A named set of permissions." });
export type RoleRecord = z.infer<typeof RoleRecord>;

/** Whom a key speaks for. An agent key is bound to a session and has few permissions. */
export const KeyScope = z.enum(["user", "organization", "agent"]).meta({
  description: "Whom the key speaks for. An agent key is bound to one session.",
});
export type KeyScope = z.infer<typeof KeyScope>;

export const ApiKeyRecord = z
  .strictObject({
    apiKeyId: ApiKeyId,
    name: z.string().meta({ description: "A name for people." }),
    scope: KeyScope,
    user: UserReference.nullable().meta({
      description: "Whose key it is; null if it belongs to no user.",
    }),
    sessionId: SessionId.nullable().meta({
      description: "The session of an agent key.",
    }),
    permissions: z.array(PermissionName).meta({ description: "What the key may do." }),
    createdBy: Caller.nullable().meta({ description: "Null if made by bootstrap." }),
    createdAt: CreatedAt,
    expiresAt: Instant.nullable().meta({ description: "Null if it does not expire." }),
    lastUsedAt: Instant.nullable().meta({ description: "Null if it was never used." }),
    revokedAt: Instant.nullable().meta({ description: "Null if it is not revoked." }),
  })
  .meta({ id: "ApiKey", description: "An API key, without its secret." });
export type ApiKeyRecord = z.infer<typeof ApiKeyRecord>;

/** What agents may do without a request, unless the host's policy is stricter. */
export const AgentPolicy = restriction(
  z.strictObject({
    allowedCommands: z
      .array(z.string())
      .meta({ description: "Commands that an agent may run without a request." }),
    outsideWorktree: z.enum(["ask", "refuse"]).meta({
      description: "If an agent wants to read or write outside its worktree.",
    }),
  }),
);
export type AgentPolicy = z.infer<typeof AgentPolicy>;

/** A way to use agents with the account of a member. */
export const LoginWay = z.enum(["subscription", "api_key", "gateway", "cloud"]).meta({
  description:
    "subscription: with start_agent_login. The others: with link_agent_identity; cloud is bedrock and vertex.",
});
export type LoginWay = z.infer<typeof LoginWay>;

export const SettingsRecord = z
  .strictObject({
    name: z.string().meta({ description: "The organization's name." }),
    timeZone: z.string().meta({ description: "A time zone of the IANA database." }),
    logRetentionDays: z
      .int()
      .min(1)
      .meta({ description: "How long a session's log is kept, counted from its end." }),
    auditRetentionDays: z.int().min(1).meta({ description: "How long audit entries are kept." }),
    defaultAgentPolicy: AgentPolicy.meta({ description: "What agents may do without a request." }),
    defaultMode: SessionMode,
    highestMode: SessionMode,
    trustedRepositories: z.array(TrustedRepository).meta({
      description: "Repositories whose own configuration agents may use.",
    }),
    allowedLogins: z.array(LoginWay).meta({
      description: "How members may use accounts of their own on hosts; empty: not at all.",
    }),
    fallbackMidTurn: z.boolean().meta({
      description: "Whether the next kind continues a turn whose quota is used up.",
    }),
  })
  .meta({ id: "Settings", description: "The organization's settings." });
export type SettingsRecord = z.infer<typeof SettingsRecord>;

export const AuditEntry = z
  .strictObject({
    auditId: AuditId,
    at: Instant.meta({ description: "When the call was made." }),
    action: z.string().meta({ description: "The action, or the path of another route." }),
    outcome: z.string().meta({
      description:
        "`done`; the code of the refusal; or `accepted`, when a host was asked and a later entry records the outcome.",
    }),
    actor: z
      .strictObject({
        type: z
          .enum(["user", "organization_key", "agent_key", "host", "sender"])
          .meta({ description: "What the actor is. `sender` has sent an event to a trigger." }),
        id: z.string().meta({
          description:
            "The id of the user, the key, or the session of the agent; empty for a host or sender.",
        }),
        name: z.string().meta({ description: "Its name, to show to people." }),
      })
      .meta({ description: "Who made the call." }),
    apiKeyId: ApiKeyId.nullable(),
    signInId: SignInId.nullable().meta({ description: "Null unless a signed-in person called." }),
    accountOf: UserReference.nullable().meta({
      description: "The other member whose agent account the call uses; null if it uses none.",
    }),
    input: z.record(z.string(), z.unknown()).meta({
      description: "The input; secrets are omitted, and long texts replaced by their length.",
    }),
    records: z
      .record(z.string(), z.string())
      .meta({ description: "Ids of the records that the call created or changed." }),
    callId: z.string().meta({ description: "Identifies the call in the service's logs." }),
  })
  .meta({ id: "AuditEntry", description: "A call that changed something, or tried to." });
export type AuditEntry = z.infer<typeof AuditEntry>;
