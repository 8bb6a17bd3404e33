// What keeps an agent from working on this host, each problem with its remedy.
import type { AgentKind, AgentProblem } from "@hawser/contract";
import { whyForbidden } from "../policy/forbidden.ts";
import type { Policy } from "../policy/policy.ts";
import type { Current } from "./current.ts";

interface Found {
  current: Current | undefined;
  /** Whether its files differ from when it was installed. */
  isBroken: boolean;
  /** Why the last attempt to install it failed. */
  failure: string | undefined;
}

export function problemsOf(
  kind: AgentKind,
  policy: Policy,
  { current, isBroken, failure }: Found,
): AgentProblem[] {
  const problems: AgentProblem[] = [];
  const add = (code: string, message: string) => problems.push({ code, message });
  const forbidden = whyForbidden(policy, kind);
  if (forbidden !== undefined) add("policy_forbids", forbidden);
  const ask = kind === "opencode" ? "update_opencode" : "install_agent_kind";
  const cure = policy.installs
    ? `Call ${ask} to install it.`
    : policy.problems.length > 0
      ? "It can be installed when the host's policy file can be read again."
      : 'The host\'s policy file must say "installs = yes" before it can be installed.';
  const last = failure === undefined ? "" : ` The last try failed: ${failure}`;
  if (isBroken) {
    add("broken", `Files of ${kind} ${current!.version} are missing or changed. ${cure}${last}`);
  } else if (!current) {
    add("not_installed", `${kind} is not installed. ${cure}${last}`);
  }
  return problems;
}
