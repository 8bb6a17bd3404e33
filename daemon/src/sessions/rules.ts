// The rules that `always` has stored in a session: showing them, and forgetting one. requests.ts stores and applies them.
import type { HostRules, PayloadOf } from "@hawser/host-protocol";
import { userIn, type Session } from "./session.ts";

/** An answer has to fit into one message. */
const mostRules = 200;
const mostCharacters = 200_000;

/** Throws refusals. */
export function listRules(session: Session): HostRules {
  session.require("read");
  return rulesOf(session);
}

/** The returned function forgets the rule, in the commit of the command's outcome. No-op if the session does not have it. */
export function forgetRule(
  session: Session,
  { rule, ownerId }: PayloadOf<"forget_session_rule">,
): () => HostRules {
  return () => {
    session.require("mode");
    const by = ownerId ? userIn(ownerId) : null;
    if (session.host.journal.driven.forget(session.id, rule)) {
      session.note({ sessionUpdate: "rule_forgotten", rule, by }, session.turnId);
    }
    return rulesOf(session);
  };
}

function rulesOf(session: Session): HostRules {
  const stored = session.host.journal.driven.storedRules(session.id, mostRules + 1);
  let characters = 0;
  const fitting = stored
    .slice(0, mostRules)
    .filter(({ rule }) => (characters += rule.length) <= mostCharacters);
  return {
    rules: fitting.map(({ at, ...rule }) => ({
      ...rule,
      at: at === null ? null : new Date(at).toISOString(),
    })),
    truncated: fitting.length < stored.length,
  };
}
