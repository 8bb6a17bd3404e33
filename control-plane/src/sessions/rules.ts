// What the actions on the stored rules of a session do. The host has the rules; this adds the names of its people.
import type { SessionRules, sessionRuleActions } from "@hawser/contract";
import type { HostRules } from "@hawser/host-protocol";
import { onHost, type HandlersFor } from "../dispatch/handler.ts";
import { askHost, readFromHost } from "../hosts/ask-host.ts";
import { ownerIdOf } from "../identities/owner.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { findSession, hostOf, refuseOver, type SessionServices } from "./find-session.ts";
import { isOver } from "./lifecycle.ts";
import { readNames } from "./names.ts";

export const sessionRuleHandlers: HandlersFor<typeof sessionRuleActions, SessionServices> = {
  async list_session_rules(context, { sessionId }) {
    const { sql } = context;
    const row = await findSession(sql, sessionId);
    if (isOver(row.status)) return { sessionId, rules: [], truncated: false };
    const stored = await readFromHost(context, hostOf(row), "list_session_rules", { sessionId });
    return rulesRecord(sql, sessionId, stored);
  },

  forget_session_rule: onHost({
    async prepare({ sql, caller }, { sessionId }) {
      const row = await findSession(sql, sessionId);
      refuseOver(row);
      return { ...hostOf(row), ownerId: ownerIdOf(caller) };
    },
    ask: (context, wanted, { ownerId, ...host }) =>
      askHost(context, host, "forget_session_rule", { ...wanted, ownerId }),
    conclude: ({ sql }, { sessionId }, _intent, stored) => rulesRecord(sql, sessionId, stored),
  }),
};

async function rulesRecord(
  sql: TenantSql,
  sessionId: string,
  { rules, truncated }: HostRules,
): Promise<SessionRules> {
  const named = await readNames(
    sql,
    rules.map(({ by }) => by),
  );
  return { sessionId, rules: rules.map((rule) => ({ ...rule, by: named(rule.by) })), truncated };
}
