// How people get access: invitations, and the browsers in which a person is signed in.
import { z } from "zod";
import { action } from "../action.ts";
import { InvitationId, SignInId } from "../ids.ts";
import { Cursor, NextCursor, limit } from "../pages.ts";
import { RoleName } from "../permissions.ts";
import { InvitationRecord, SignInRecord } from "../records/people.ts";
import { text } from "../text.ts";

export const peopleActions = {
  create_invitation: action({
    summary: "Make a link with which a person can join the organization and sign in.",
    details:
      "Hand the link to the person; no mail is sent. It works once, for 72 hours, for an account with this e-mail address. A member who has no sign-in yet gets one, and keeps their role.",
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
    refusals: [],
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
};
