// Commands about the rules that a session has stored.
import { Instant, SessionId, UserId } from "@hawser/contract";
import { z } from "zod";
import type { CommandKind } from "./command-kind.ts";
import { OwnerId } from "./identity-commands.ts";

const HostRules = z.strictObject({
  /** The newest first. */
  rules: z.array(
    z.strictObject({
      rule: z.string(),
      by: UserId.nullable(),
      at: Instant.nullable(),
      uses: z.int().min(0),
    }),
  ),
  truncated: z.boolean(),
});
export type HostRules = z.infer<typeof HostRules>;

export const sessionRuleCommands = {
  list_session_rules: {
    effect: "reads",
    payload: z.strictObject({ sessionId: SessionId }),
    result: HostRules,
    deadlineMs: 5_000,
    refusals: ["not_found"],
  },
  /** Holds for the agent's next call. */
  forget_session_rule: {
    effect: "changes",
    payload: z.strictObject({
      sessionId: SessionId,
      rule: z.string(),
      /** Who forgets it; null or undefined if no person does. */
      ownerId: OwnerId.nullable().optional(),
    }),
    result: HostRules,
    deadlineMs: 5_000,
    refusals: ["session_ended"],
  },
} as const satisfies Record<string, CommandKind>;
