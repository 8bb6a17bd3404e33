// Describes what one kind of agent can do on this host, and what keeps it from working.
import type { AgentKind, AgentKindRecord } from "@hawser/contract";
import { capabilitiesOf } from "../drivers/driver.ts";
import { whyForbidden } from "../policy/forbidden.ts";
import type { CommandContext } from "./command.ts";

export async function describeAgentKind(
  kind: AgentKind,
  { sessions, installs, policy, signal }: CommandContext,
): Promise<AgentKindRecord> {
  const driver = sessions.driver(kind);
  const found = installs?.readFacts().agents.find((agent) => agent.kind === kind);
  const problems = [...(found?.problems ?? [])];
  const add = (code: string, message: string) => {
    if (!problems.some((problem) => problem.code === code)) problems.push({ code, message });
  };
  const forbidden = whyForbidden(policy(), kind);
  if (forbidden !== undefined) add("policy_forbids", forbidden);
  if (!driver) add("no_driver", `This daemon has no driver for ${kind}. Update it.`);
  // These problems are known without asking the agent, which would say less about them.
  if (!driver || problems.length > 0) {
    const { installed = false, version = null } = found ?? {};
    const capabilities = driver ? capabilitiesOf(driver) : [];
    return { kind, installed, version, authenticated: false, problems, capabilities, options: [] };
  }
  return { kind, ...(await driver.readState(signal)) };
}
