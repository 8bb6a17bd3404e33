// The rules that a session stores when somebody answers a request with `always`. The host has them.
import { z } from "zod";
import { action } from "../action.ts";
import { hostRefusals } from "../errors.ts";
import { SessionId } from "../ids.ts";
import { SessionRules } from "../records/session-rule.ts";
import { text } from "../text.ts";

export const sessionRuleActions = {
  list_session_rules: action({
    summary: "List the rules that the answer `always` has stored in a session.",
    details: "Calls that they cover are allowed without a request. An ended session has none.",
    group: "reading",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({ sessionId: SessionId }),
    result: SessionRules,
    refusals: ["not_found", ...hostRefusals],
    closedToAgents: true,
  }),

  forget_session_rule: action({
    summary: "Forget a rule that the answer `always` has stored in a session.",
    details:
      "A person is asked again about the next call that it covered. No-op if the session does not have the rule.",
    group: "reading",
    permission: "sessions:edit",
    openToGrants: "edit",
    effect: "changes",
    idempotent: true,
    reach: "host",
    input: z.strictObject({
      sessionId: SessionId,
      rule: text({ min: 1 }).meta({ description: "A `rule` of list_session_rules." }),
    }),
    result: SessionRules,
    refusals: ["not_found", "session_ended", ...hostRefusals],
    closedToAgents: true,
  }),
};
