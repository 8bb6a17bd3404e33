// Grants: sharing single sessions with members whose role does not let them see or prompt sessions.
import { z } from "zod";
import { action } from "../action.ts";
import { SessionId, UserId } from "../ids.ts";
import { GrantLevel, SessionGrantRecord, SessionLinkRecord } from "../records/session-grant.ts";
import { neverLogged, text } from "../text.ts";

const revoked = z.literal(true).meta({ description: "Always true." });

export const sessionGrantActions = {
  grant_session: action({
    summary: "Let a member see, answer or prompt one session, whatever the member's role.",
    details:
      "Replaces the level that the member had, but no grant by link. The calling key needs sessions:view too.",
    group: "people",
    permission: "sessions:edit",
    effect: "changes",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ sessionId: SessionId, userId: UserId, level: GrantLevel }),
    result: SessionGrantRecord,
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  list_session_grants: action({
    summary: "List the grants and links of a session.",
    group: "people",
    permission: "sessions:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({ sessionId: SessionId }),
    result: z.strictObject({
      grants: z.array(SessionGrantRecord),
      links: z.array(SessionLinkRecord),
    }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  revoke_session_grant: action({
    summary: "Revoke what a member was granted on a session, by a caller or by links.",
    details: "No-op if nothing was granted. A link that is not revoked can be opened again.",
    group: "people",
    permission: "sessions:edit",
    effect: "destroys",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ sessionId: SessionId, userId: UserId }),
    result: z.strictObject({ sessionId: SessionId, userId: UserId, revoked }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  create_session_link: action({
    summary: "Make a link that grants a level on a session to every member who opens it.",
    details:
      "A session has one link of each level at most. The token is shown only here. The calling key needs sessions:view too.",
    group: "people",
    permission: "sessions:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({ sessionId: SessionId, level: GrantLevel }),
    result: z.strictObject({
      link: SessionLinkRecord,
      token: z.string().meta({ description: "What open_session_link takes, shown only here." }),
    }),
    refusals: ["not_found", "already_exists"],
    resultHoldsSecret: true,
    closedToAgents: true,
  }),

  revoke_session_link: action({
    summary: "Revoke a session's link of a level, with every grant that was got by opening it.",
    details: "No-op if there is no such link.",
    group: "people",
    permission: "sessions:edit",
    effect: "destroys",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ sessionId: SessionId, level: GrantLevel }),
    result: z.strictObject({ sessionId: SessionId, level: GrantLevel, revoked }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  open_session_link: action({
    summary: "Get what a link to a session grants to members of the organization.",
    group: "people",
    permission: null,
    effect: "changes",
    idempotent: true,
    reach: "records",
    input: z.strictObject({
      token: neverLogged(
        text({ min: 1, max: 200 }).meta({ description: "The token of create_session_link." }),
      ),
    }),
    result: z.strictObject({ sessionId: SessionId, level: GrantLevel }),
    refusals: ["not_found", "user_key_required"],
    closedToAgents: true,
  }),
};
