// Which agents the policy file forbids, and why.
import type { AgentKind } from "@hawser/contract";
import type { Policy } from "./policy.ts";

/** Why agents of this kind may not work here, as a sentence; undefined if they may. */
export function whyForbidden(
  { agents, ownLogins }: Pick<Policy, "agents" | "ownLogins">,
  kind: AgentKind,
): string | undefined {
  if (!agents.has(kind)) return `The host's policy file does not name ${kind} among its agents.`;
  // The logins of the host's user are the only ones that agents have.
  if (!ownLogins) {
    return `The host's policy file says "own-logins = no", so ${kind} has no login that it may use. The host's owner can allow it with "own-logins = yes".`;
  }
  return undefined;
}
