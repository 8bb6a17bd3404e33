// How people get access: invitations, and the browsers in which a person is signed in.
import { z } from "zod";
import { action } from "../action.ts";
import { objectTo } from "../exactly-one.ts";
import { InvitationId, SignInId, UserId } from "../ids.ts";
import { Instant } from "../moments.ts";
import { Cursor, NextCursor, limit } from "../pages.ts";
import { RoleName } from "../permissions.ts";
import {
  ConnectedIdentityRecord,
  GroupRole,
  InvitationRecord,
  SignInRecord,
  SignInSettingsRecord,
} from "../records/people.ts";
import { neverLogged, text } from "../text.ts";

export const peopleActions = {
  create_invitation: action({
    summary: "Make a link with which a person can join the organization and sign in.",
    details:
      "Hand the link to the person; no mail is sent. It works once, for 72 hours, for an account with this e-mail address. A member who has no sign-in yet gets one, and keeps their role. An organization can make 1,000 invitations in four days.",
    group: "people",
    permission: "access:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({
      email: z
        .email("must be an e-mail address")
        .max(254, "must have at most 254 characters")
        .meta({ description: "The person's e-mail address." }),
      name: text({ max: 120 }).meta({ description: "The person's name." }).optional(),
      role: RoleName,
    }),
    result: z.strictObject({
      invitation: InvitationRecord,
      url: z.string().meta({ description: "The link, shown only here." }),
    }),
    refusals: ["limit_reached"],
    resultHoldsSecret: true,
    needsFreshSignIn: true,
    closedToAgents: true,
  }),

  list_invitations: action({
    summary: "Page through the open invitations, the newest first.",
    group: "people",
    permission: "access:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({ cursor: Cursor.optional(), limit: limit({ max: 200, default: 50 }) }),
    result: z.strictObject({
      invitations: z.array(InvitationRecord),
      nextCursor: NextCursor,
    }),
    refusals: [],
    closedToAgents: true,
  }),

  revoke_invitation: action({
    summary: "Withdraw an invitation: its link stops working at once.",
    group: "people",
    permission: "access:edit",
    effect: "destroys",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ invitationId: InvitationId }),
    result: InvitationRecord,
    refusals: ["not_found", "already_accepted"],
    closedToAgents: true,
  }),

  list_sign_ins: action({
    summary: "List the browsers in which you are signed in, the newest sign-in first.",
    details: "Needs no permission. Lists at most 200.",
    group: "people",
    permission: null,
    effect: "reads",
    reach: "records",
    input: z.strictObject({}),
    result: z.strictObject({ signIns: z.array(SignInRecord) }),
    refusals: ["user_key_required"],
    closedToAgents: true,
  }),

  revoke_sign_in: action({
    summary: "Sign out of one of your browsers.",
    details: "Needs no permission. The browser's open streams end within five seconds.",
    group: "people",
    permission: null,
    effect: "destroys",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ signInId: SignInId }),
    result: z.strictObject({
      signInId: SignInId,
      revoked: z.literal(true).meta({ description: "Always true." }),
    }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  get_sign_in_settings: action({
    summary:
      "Show the organization's identity provider, and whether signing in with it is required.",
    group: "people",
    permission: "access:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({}),
    result: SignInSettingsRecord,
    refusals: [],
    closedToAgents: true,
  }),

  update_sign_in_settings: action({
    summary: "Change the organization's identity provider; omitted fields keep their value.",
    details:
      "The caller needs every permission. Asks the provider for its discovery document. A changed issuer, client or secret ends the sign-ins that were made with the former one. Requiring the provider needs a sign-in with it first, and an excepted owner who has a password or a passkey.",
    group: "people",
    permission: "access:edit",
    effect: "changes",
    idempotent: true,
    reach: "records",
    input: z
      .strictObject({
        issuer: text({ min: 1, max: 500 })
          .nullable()
          .meta({
            description:
              "The provider's address, as its discovery document names it; null removes the provider.",
          })
          .optional(),
        clientId: text({ min: 1, max: 500 })
          .meta({ description: "The name of this service at the provider." })
          .optional(),
        clientSecret: neverLogged(
          text({ min: 1, max: 1000 }).meta({
            description: "Needed for the first time, and with another issuer or client.",
          }),
        ).optional(),
        groupsClaim: text({ min: 1, max: 200 })
          .nullable()
          .meta({
            description: "The claim that lists a person's groups; null: groups are not used.",
          })
          .optional(),
        groupRoles: z
          .array(GroupRole)
          .max(50, "must have at most 50 entries")
          .meta({ description: "The first entry whose group a person has decides." })
          .optional(),
        required: z
          .boolean()
          .meta({ description: "Whether other ways of signing in do not reach the organization." })
          .optional(),
        exceptUserIds: z
          .array(UserId)
          .max(20, "must have at most 20 entries")
          .meta({ description: "Owners who may sign in otherwise. Replaces the list." })
          .optional(),
      })
      .check((payload) => {
        const { issuer, ...others } = payload.value;
        if (issuer !== null) return;
        const given = Object.entries(others).filter(([, value]) => value !== undefined);
        for (const [name] of given) {
          objectTo(payload, [name], "must be left out when the provider is removed");
        }
      }),
    result: SignInSettingsRecord,
    refusals: ["not_found", "provider_failed", "provider_untested", "last_owner"],
    needsFreshSignIn: true,
    closedToAgents: true,
  }),

  list_connected_identities: action({
    summary: "Page through the people of identity providers who are connected to members.",
    details: "Also shows those of former providers.",
    group: "people",
    permission: "access:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      userId: UserId.meta({ description: "Only this member's." }).optional(),
      cursor: Cursor.optional(),
      limit: limit({ max: 200, default: 50 }),
    }),
    result: z.strictObject({
      identities: z.array(ConnectedIdentityRecord),
      nextCursor: NextCursor,
    }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  remove_connected_identity: action({
    summary: "Let a person of an identity provider no longer sign in as a member.",
    details:
      "The caller needs every permission of the member's role. Ends the sign-ins that were made with it. The member stays a member.",
    group: "people",
    permission: "access:edit",
    effect: "destroys",
    reach: "records",
    input: z.strictObject({
      userId: UserId,
      issuer: text({ min: 1, max: 500 }).meta({ description: "From list_connected_identities." }),
      subject: text({ min: 1, max: 255 }).meta({ description: "From list_connected_identities." }),
    }),
    result: z.strictObject({
      userId: UserId,
      removed: z.literal(true).meta({ description: "Always true." }),
    }),
    refusals: ["not_found", "last_owner"],
    needsFreshSignIn: true,
    closedToAgents: true,
  }),

  create_device_sign_in: action({
    summary: "Make a link with which you sign in on your phone.",
    details:
      "Needs no permission, and a browser in which you are signed in. The link works once, for two minutes, and replaces the one before. The phone that opens it shows four digits for confirm_device_sign_in.",
    group: "people",
    permission: null,
    effect: "changes",
    reach: "records",
    input: z.strictObject({}),
    result: z.strictObject({
      url: z.string().meta({ description: "The link, shown only here." }),
      expiresAt: Instant.meta({ description: "Until when a phone can open it." }),
    }),
    refusals: ["sign_in_first"],
    resultHoldsSecret: true,
    needsFreshSignIn: true,
    closedToAgents: true,
  }),

  confirm_device_sign_in: action({
    summary: "Let the phone in that shows these digits.",
    details:
      "Needs no permission, and the browser that made the link. After three wrong digits, make another link.",
    group: "people",
    permission: null,
    effect: "changes",
    reach: "records",
    input: z.strictObject({
      digits: neverLogged(
        z
          .string()
          .regex(/^\d{4}$/, "must be four digits")
          .meta({ description: "What the phone shows." }),
      ),
    }),
    result: z.strictObject({
      state: z.enum(["confirmed", "wrong", "not_opened", "over"]).meta({
        description:
          "not_opened: no phone has opened the link yet. over: there is no link, it is too old, or was used.",
      }),
      triesLeft: z.int().meta({ description: "How often digits can still be typed." }),
      device: z
        .string()
        .nullable()
        .meta({ description: "Only if confirmed: the phone, as it calls itself." }),
    }),
    refusals: ["sign_in_first"],
    needsFreshSignIn: true,
    closedToAgents: true,
  }),
};
