// Access to the service: the calling key, API keys, members, settings and the audit trail. None of these
// actions can grant a key more than the caller has.
import { z } from "zod";
import { action } from "../action.ts";
import { objectTo } from "../exactly-one.ts";
import { ApiKeyId, SessionId, SignInId, UserId } from "../ids.ts";
import { DateTime, Instant, TimeZone } from "../moments.ts";
import { Cursor, NextCursor, limit } from "../pages.ts";
import { PermissionName, PermissionSet, RoleName, agentKeyPermissions } from "../permissions.ts";
import {
  ApiKeyRecord,
  AuditEntry,
  KeyScope,
  LoginWay,
  MemberRecord,
  OrganizationRecord,
  SettingsRecord,
} from "../records/access.ts";
import { UserReference } from "../records/actor.ts";
import { SessionMode } from "../records/session-mode.ts";
import { TrustedRepositories } from "../records/trusted-repository.ts";
import { text } from "../text.ts";

const Name = text({ min: 1, max: 120 }).meta({ description: "A name for people." });

const Permissions = PermissionSet.meta({
  uniqueItems: true,
  description: "What the key may do; can be empty.",
});

const ExpiryTime = DateTime.check((context) => {
  if (!/(?:Z|[+-]\d\d:\d\d)$/.test(context.value)) {
    context.issues.push({
      code: "custom",
      input: context.value,
      message: "must say its offset from UTC, such as Z or +02:00",
    });
  }
}).meta({
  description: "ISO 8601 with an offset; if omitted, the key does not expire.",
});

const Days = z.int().min(1).max(3650);

const NewPolicy = z.strictObject({
  allowedCommands: z
    .array(text({ min: 1, max: 200 }))
    .max(100)
    .meta({ description: "Commands that an agent may run without a request." }),
  outsideWorktree: z
    .enum(["ask", "refuse"])
    .meta({ description: "If an agent wants to read or write outside its worktree." }),
});

export const accessActions = {
  whoami: action({
    summary: "Show who calls, and what the caller may do.",
    group: "access",
    permission: null,
    effect: "reads",
    reach: "records",
    input: z.strictObject({}),
    result: z.strictObject({
      organization: OrganizationRecord,
      apiKeyId: ApiKeyId.nullable().meta({ description: "Null for a signed-in person." }),
      signInId: SignInId.nullable().meta({ description: "Null for a key." }),
      scope: KeyScope,
      user: UserReference.nullable().meta({ description: "Null if the key belongs to no user." }),
      permissions: z.array(PermissionName).meta({ description: "What the key may do." }),
    }),
    refusals: [],
  }),

  list_api_keys: action({
    summary: "Page through the organization's API keys, the newest first, without their secrets.",
    group: "access",
    permission: "access:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({ cursor: Cursor.optional(), limit: limit({ max: 200, default: 50 }) }),
    result: z.strictObject({ apiKeys: z.array(ApiKeyRecord), nextCursor: NextCursor }),
    refusals: [],
    closedToAgents: true,
  }),

  create_api_key: action({
    summary: "Make an API key for a user, the organization, or the agent of a session.",
    details:
      "The key is shown only here. It has no permission that the caller or its user lacks. Only the user can create a user's key, except a new member's first. With `sessionId` it is an agent key: it may read, and start and prompt sessions.",
    group: "access",
    permission: "access:edit",
    ownNeedsNoPermission: true,
    effect: "changes",
    reach: "records",
    input: z
      .strictObject({
        name: Name,
        scope: z.enum(["user", "organization"]).meta({ description: "Whom the key speaks for." }),
        userId: UserId.meta({
          description: "In the scope user: whose key it is; default: the caller's.",
        }).optional(),
        sessionId: SessionId.meta({ description: "Binds the key to this session." }).optional(),
        permissions: Permissions,
        expiresAt: ExpiryTime.optional(),
      })
      .check((payload) => {
        const { scope, userId, sessionId, permissions } = payload.value;
        if (scope === "organization" && userId !== undefined) {
          objectTo(payload, ["userId"], "must be left out for a key of the organization");
        }
        if (sessionId !== undefined && !permissions.every((p) => agentKeyPermissions.includes(p))) {
          objectTo(
            payload,
            ["permissions"],
            `must be among ${agentKeyPermissions.join(", ")} for an agent's key`,
          );
        }
      }),
    result: z.strictObject({
      apiKey: ApiKeyRecord,
      key: z.string().meta({ description: "The key itself, shown only here." }),
    }),
    refusals: ["not_found", "user_key_required"],
    resultHoldsSecret: true,
    needsFreshSignIn: true,
    closedToAgents: true,
  }),

  rotate_api_key: action({
    summary: "Replace an API key's secret; the old one stays valid for a while.",
    details:
      "Only the user can rotate a user's key. The calling key needs every permission of the key; a key can always rotate itself.",
    group: "access",
    permission: "access:edit",
    ownNeedsNoPermission: true,
    effect: "changes",
    reach: "records",
    input: z.strictObject({
      apiKeyId: ApiKeyId,
      overlapMinutes: z
        .int()
        .min(0)
        .max(1440)
        .meta({ description: "How long the old secret stays valid.", default: 60 })
        .optional(),
    }),
    result: z.strictObject({
      apiKey: ApiKeyRecord,
      key: z.string().meta({ description: "The new secret, shown only here." }),
      previousExpiresAt: Instant.meta({ description: "When the old secret stops working." }),
    }),
    refusals: ["not_found"],
    resultHoldsSecret: true,
    needsFreshSignIn: true,
    closedToAgents: true,
  }),

  revoke_api_key: action({
    summary: "Revoke an API key, at once and for good.",
    details: "The calling key needs every permission of the key; a key can always revoke itself.",
    group: "access",
    permission: "access:edit",
    ownNeedsNoPermission: true,
    effect: "destroys",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ apiKeyId: ApiKeyId }),
    result: ApiKeyRecord,
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  list_members: action({
    summary: "Page through the organization's members, by e-mail address.",
    group: "access",
    permission: "access:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({ cursor: Cursor.optional(), limit: limit({ max: 200, default: 50 }) }),
    result: z.strictObject({ members: z.array(MemberRecord), nextCursor: NextCursor }),
    refusals: [],
    closedToAgents: true,
  }),

  add_member: action({
    summary: "Add a user to the organization.",
    group: "access",
    permission: "access:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({
      email: z
        .email("must be an e-mail address")
        .max(254, "must have at most 254 characters")
        .meta({ description: "The user's e-mail address." }),
      name: text({ max: 120 }).meta({ description: "The user's name." }).optional(),
      role: RoleName,
    }),
    result: MemberRecord,
    refusals: ["already_exists"],
    closedToAgents: true,
  }),

  update_member: action({
    summary: "Change a member's role.",
    details:
      "The member's keys never exceed the new role. Organization keys that the member created are revoked if they do.",
    group: "access",
    permission: "access:edit",
    effect: "changes",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ userId: UserId, role: RoleName }),
    result: MemberRecord,
    refusals: ["not_found", "last_owner"],
    needsFreshSignIn: true,
    closedToAgents: true,
  }),

  remove_member: action({
    summary: "Remove a member; their keys stop working and their schedules are paused.",
    details:
      "Keys that the member created for the organization or for others are revoked too, and those created with them.",
    group: "access",
    permission: "access:edit",
    effect: "destroys",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ userId: UserId }),
    result: z.strictObject({
      userId: UserId,
      removed: z.literal(true).meta({ description: "Always true." }),
      revokedApiKeyIds: z.array(ApiKeyId).meta({ description: "The keys that no longer work." }),
    }),
    refusals: ["not_found", "last_owner"],
    needsFreshSignIn: true,
    closedToAgents: true,
  }),

  get_settings: action({
    summary: "Show the organization's settings.",
    group: "access",
    permission: "access:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({}),
    result: SettingsRecord,
    refusals: [],
    closedToAgents: true,
  }),

  update_settings: action({
    summary: "Change the organization's settings; omitted fields keep their value.",
    group: "access",
    permission: "access:edit",
    effect: "changes",
    idempotent: true,
    reach: "records",
    input: z.strictObject({
      name: Name.optional(),
      timeZone: TimeZone.optional(),
      logRetentionDays: Days.meta({ description: "Counted from a session's end." }).optional(),
      auditRetentionDays: Days.meta({ description: "How long audit entries are kept." }).optional(),
      defaultAgentPolicy: NewPolicy.meta({
        description: "What agents may do without a request.",
      }).optional(),
      defaultMode: SessionMode.meta({
        description: "Mode that sessions begin in, unless highestMode is narrower.",
      }).optional(),
      highestMode: SessionMode.meta({
        description: "The widest mode of sessions, from their next prompt on.",
      }).optional(),
      trustedRepositories: TrustedRepositories.optional().meta({
        description: "Repositories whose configuration later sessions may use. Replaces the list.",
      }),
      allowedLogins: z
        .array(LoginWay)
        .meta({
          description: "How members may link their own accounts. Replaces the list.",
        })
        .optional(),
      fallbackMidTurn: z
        .boolean()
        .meta({ description: "Whether the next kind continues a turn whose quota is used up." })
        .optional(),
    }),
    result: SettingsRecord,
    refusals: [],
    closedToAgents: true,
  }),

  list_audit_entries: action({
    summary: "Page through the audit trail, the newest entry first.",
    group: "access",
    permission: "access:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({ cursor: Cursor.optional(), limit: limit({ max: 200, default: 50 }) }),
    result: z.strictObject({ entries: z.array(AuditEntry), nextCursor: NextCursor }),
    refusals: [],
    closedToAgents: true,
  }),
};
