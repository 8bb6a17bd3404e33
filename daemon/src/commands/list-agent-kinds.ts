// list_agent_kinds: what each kind of agent can do here, and what stands in its way.
import { AgentKind, type AgentKindRecord } from "@hawser/contract";
import { capabilitiesOf } from "../drivers/driver.ts";
import type { Command, CommandContext } from "./command.ts";

export const listAgentKinds: Command<"list_agent_kinds"> = {
  repeatable: true,
  endsHost: false,
  async run(_payload, context) {
    const agentKinds = await Promise.all(AgentKind.options.map((kind) => look(kind, context)));
    return { agentKinds };
  },
};

async function look(kind: AgentKind, context: CommandContext): Promise<AgentKindRecord> {
  const { sessions, installs, policy, signal } = context;
  const driver = sessions.driver(kind);
  const found = installs?.look().agents.find((agent) => agent.kind === kind);
  const problems = [...(found?.problems ?? [])];
  const add = (code: string, message: string) => {
    if (!problems.some((problem) => problem.code === code)) problems.push({ code, message });
  };
  if (!policy().agents.has(kind)) {
    add("policy_forbids", `The host's policy file does not name ${kind} among its agents.`);
  }
  if (!driver) add("no_driver", `This daemon has no driver for ${kind}. Update it.`);
  // What stands in the way before the agent could be asked; it would only say less about it.
  if (!driver || problems.length > 0) {
    const { installed = false, version = null } = found ?? {};
    const capabilities = driver ? capabilitiesOf(driver) : [];
    return { kind, installed, version, authenticated: false, problems, capabilities, options: [] };
  }
  return { kind, ...(await driver.readState(signal)) };
}
