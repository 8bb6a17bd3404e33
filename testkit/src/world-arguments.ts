// The arguments of `npm run world`, checked before anything is started.
import { parseArgs } from "node:util";
import { AgentKind } from "@hawser/contract";
import { hasAgentProgram } from "./agent-programs.ts";

export interface WorldArguments {
  json: boolean;
  dev: boolean;
  help: boolean;
  nodes: number;
  hosts: number;
  nats: 1 | 3;
  kinds: AgentKind[];
}

export const worldUsage = `usage: npm run world -- [options]

  --kinds KINDS   the agents of the hosts, separated by commas: ${AgentKind.options.join(", ")}.
                  The default is every agent that "npm run setup" has fetched
  --nodes N       nodes of the control plane (default 1)
  --hosts N       hosts (default 1)
  --nats N        nats-servers: 1 or 3 (default 1)
  --json          print one line for programs
  --help          print this text

The nodes get HAWSER_WEBHOOK_NETWORKS from the environment. With 127.0.0.0/8, webhooks reach
receivers on this machine.

npm run dev is the same at http://127.0.0.1:8080, with PostgreSQL at port 8081.
`;

/** The settings of nodes that the world takes from its own environment. */
export function readWorldSettings(environment: NodeJS.ProcessEnv): Record<string, string> {
  const { HAWSER_WEBHOOK_NETWORKS } = environment;
  return HAWSER_WEBHOOK_NETWORKS ? { HAWSER_WEBHOOK_NETWORKS } : {};
}

/** A mistake in the arguments, printed without a stack trace. */
export class WrongArgument extends Error {}

export function readWorldArguments(args: string[]): WorldArguments {
  const values = parse(args);
  const hosts = wholeNumber("hosts", values.hosts, 0);
  if (values.nats !== "1" && values.nats !== "3") throw new WrongArgument("--nats must be 1 or 3.");
  return {
    json: values.json,
    dev: values.dev,
    help: values.help,
    nodes: wholeNumber("nodes", values.nodes, 1),
    hosts,
    nats: values.nats === "3" ? 3 : 1,
    kinds: hosts > 0 ? chooseKinds(values.kinds) : [],
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        json: { type: "boolean", default: false },
        dev: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
        nodes: { type: "string", default: "1" },
        hosts: { type: "string", default: "1" },
        nats: { type: "string", default: "1" },
        kinds: { type: "string" },
      },
    }).values;
  } catch (cause) {
    throw new WrongArgument((cause as Error).message.replace(/\.?$/, "."), { cause });
  }
}

function wholeNumber(name: string, text: string, least: number): number {
  if (/^\d{1,3}$/.test(text) && Number(text) >= least) return Number(text);
  throw new WrongArgument(`--${name} must be a whole number, at least ${least}.`);
}

function chooseKinds(wanted: string | undefined): AgentKind[] {
  if (wanted === undefined) return AgentKind.options.filter(hasAgentProgram);
  return wanted.split(",").map((text) => {
    const kind = AgentKind.safeParse(text).data;
    if (kind === undefined) {
      throw new WrongArgument(
        `--kinds: there is no agent "${text}". The agents are ${AgentKind.options.join(", ")}.`,
      );
    }
    if (!hasAgentProgram(kind)) {
      throw new WrongArgument(`--kinds: ${kind} is not fetched yet. Run: npm run setup`);
    }
    return kind;
  });
}
