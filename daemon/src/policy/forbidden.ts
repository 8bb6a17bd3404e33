// Why the policy file forbids something. If the file cannot be read, that is the reason, and not what the
// empty policy would forbid.
import type { AgentKind } from "@hawser/contract";
import { CommandRefusal } from "../command-refusal.ts";
import type { Policy } from "./policy.ts";

/** Throws a refusal if the policy file is missing or cannot be read. */
export function requireReadable(policy: Policy): Policy {
  const [problem] = policy.problems;
  if (problem) throw new CommandRefusal(problem.code, problem.message);
  return policy;
}

/**
 * Why agents of this kind may not work here, as a sentence; undefined if they may. `usesOwnLogin`: whether with
 * the login of the host's user, and not with a person's own account.
 */
export function whyForbidden(
  {
    agents,
    ownLogins,
    sharedLogins,
    problems,
  }: Pick<Policy, "agents" | "ownLogins" | "sharedLogins" | "problems">,
  kind: AgentKind,
  { usesOwnLogin } = { usesOwnLogin: true },
): string | undefined {
  if (problems[0]) return problems[0].message;
  if (!agents.has(kind))
    return `The host's policy file does not name ${kind} among its agents. The host's owner can add it to the line "agents = …".`;
  if (!usesOwnLogin && !sharedLogins) {
    return 'Agents of all people run as the same user of this host, so each could read the logins of the others. If the host\'s owner accepts that, write "shared-logins = yes" into its policy file. Or install the host with a Unix user for each person: the option --separate of the installer.';
  }
  if (usesOwnLogin && !ownLogins) {
    return `The host's policy file says "own-logins = no", so ${kind} has no login that it may use. The host's owner can allow it with "own-logins = yes".`;
  }
  return undefined;
}
