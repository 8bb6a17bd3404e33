// Describes what one kind of agent can do on this host, and what keeps it from working.
import type { AgentKind, AgentKindRecord, AgentProblem } from "@hawser/contract";
import { AgentNotReady, capabilitiesOf, type Driver } from "../drivers/driver.ts";
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
    const state = { installed, version, authenticated: false, problems, capabilities, options: [] };
    return { kind, ...state, ...noChoices };
  }
  const state = await driver.readState(signal);
  const choices = state.problems.length > 0 ? noChoices : await readChoices(driver, signal);
  return { kind, ...state, problems: state.problems.map((each) => advise(kind, each)), ...choices };
}

/** Adds the actions that may help. The driver knows only what the program has printed. */
function advise(kind: AgentKind, problem: AgentProblem): AgentProblem {
  if (problem.code !== "does_not_start") return problem;
  const name = kind === "opencode" ? kind : "agent_kind";
  const advice = `Call restart_${name}; if that does not help, call update_${name}.`;
  return { ...problem, message: `${problem.message} ${advice}` };
}

type Choices = Pick<AgentKindRecord, "variants" | "modes" | "commands">;

const noChoices: Choices = { variants: [], modes: [], commands: [] };

/** What a prompt to this kind may name. Empty if the agent has stopped since its state was read. */
async function readChoices(driver: Driver, signal: AbortSignal): Promise<Choices> {
  try {
    const [{ providers }, modes, commands] = await Promise.all([
      driver.listModels(signal),
      driver.listModes(signal),
      driver.abilities.commands?.list(undefined, signal) ?? [],
    ]);
    const models = providers.flatMap(({ providerId, models: listed }) =>
      listed.map((model) => ({ providerId, ...model })),
    );
    const names = commands.map(({ name }) => name);
    return {
      variants: models.filter((model) => model.variants.length > 0),
      modes,
      commands: names,
    };
  } catch (error) {
    if (error instanceof AgentNotReady) return noChoices;
    throw error;
  }
}
