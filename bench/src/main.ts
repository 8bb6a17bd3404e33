// `npm run bench -- <what> [--json] [--quick]`: measures, and prints each figure as soon as it is
// known. Two more commands explain a figure: `plans` and `profile`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readArguments } from "@hawser/testkit/read-arguments.ts";
import { AgentKind } from "@hawser/contract";
import { jsonLine, tableHead, tableRow, type Figure, type Goal } from "./figure.ts";
import { measureAgents } from "./agents.ts";
import { measureLink } from "./link.ts";
import { showPlans } from "./plans.ts";
import { profileReads } from "./profile.ts";
import { measureRead } from "./read.ts";
import { measureSchedules } from "./schedules.ts";
import { measureSession } from "./session.ts";
import { measureTunnel } from "./tunnel.ts";

interface Group {
  measure: (quick: boolean) => AsyncGenerator<[Figure, Goal]>;
  /** Names of its figures in order. A run that does not produce exactly these fails. */
  figures: string[];
}

const groups: Record<string, Group> = {
  read: {
    measure: measureRead,
    figures: ["list_sessions", "get_instance", "signed_in_calls", "list_latency_growth"],
  },
  link: {
    measure: measureLink,
    figures: [
      "link_command_latency",
      "link_command_throughput",
      "link_hosts_memory",
      "link_hosts_command_p99",
      "link_hosts_back",
      "link_intake",
    ],
  },
  session: {
    measure: measureSession,
    figures: [
      "session_first_text",
      "session_fan_out",
      "session_log_first_page",
      "session_log_all",
      "session_event_p99",
      "session_node_memory",
    ],
  },
  schedules: {
    measure: measureSchedules,
    figures: ["schedules_claim", "schedules_idle_sweep"],
  },
  tunnel: {
    measure: measureTunnel,
    figures: ["tunnel_requests", "tunnel_bytes", "tunnel_events", "tunnel_first_byte"],
  },
  agents: {
    measure: measureAgents,
    figures: AgentKind.options.flatMap((kind) =>
      ["first_text", "daemon", "memory"].map((figure) => `agents_${figure}_${kind}`),
    ),
  },
};
const tools: Record<string, (quick: boolean) => Promise<void>> = {
  plans: showPlans,
  profile: profileReads,
};

const usage = `usage: npm run bench -- <what> [--json] [--quick]

  all       every group of figures
  read      reads beside the bare engine, and listings of a growing table
  link      commands to hosts, many hosts, and what they report, beside bare NATS and PostgreSQL
  session   first words, fan-out, long logs and many sessions
  schedules times of schedules that are due, claimed beside the bare claim
  tunnel    requests of exposures, beside a bare reverse proxy
  agents    first words and memory of each kind of agent beside its bare program
  plans     the plans PostgreSQL uses for listings, with the pages each reads
  profile   where a node spends its time under the loads of \`read\`

  --json    a line of JSON per figure instead of the table
  --quick   each figure once, with small counts: shows that the bench runs; the figures are no measurements
`;

const { values, positionals } = readArguments({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
  },
});

const quickNotice =
  "QUICK RUN: every figure was taken once, with small counts. These figures are no measurements, " +
  "and no goal is checked. Leave --quick out to measure.";

const diskNotice =
  "PostgreSQL waits for its disk at every commit (fsync is on), for the product and for the bare engine.";

const what = positionals[0] ?? "";
const chosen = what === "all" ? Object.values(groups) : groups[what] ? [groups[what]] : [];
if (positionals.length === 1 && tools[what]) {
  await tools[what](values.quick);
} else if (positionals.length === 1 && what === "all" && values.quick) {
  await runInPairs(Object.keys(groups));
} else if (positionals.length === 1 && chosen.length > 0) {
  process.stderr.write(`${diskNotice}\n`);
  if (values.quick) process.stderr.write(`${quickNotice}\n`);
  if (!values.json) console.log(tableHead);
  for (const group of chosen) await print(group, values.quick, values.json);
  if (values.quick) process.stderr.write(`${quickNotice}\n`);
} else {
  process.stderr.write(usage);
  process.exitCode = 2;
}

/**
 * Quick figures are no measurements, so two groups run at once, each in a process of its own. Every group
 * runs, even if another fails.
 */
async function runInPairs(names: string[]): Promise<void> {
  const options = ["--quick", ...(values.json ? ["--json"] : [])];
  const worker = async () => {
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      const args = [import.meta.filename, name, ...options];
      const child = spawn(process.execPath, args, { stdio: "inherit" });
      const [code] = (await once(child, "exit")) as [number | null];
      if (code !== 0) process.exitCode = 1;
    }
  };
  await Promise.all([worker(), worker()]);
}

/** Prints a group's figures. Throws if one is missing or is not a number. */
async function print({ measure, figures }: Group, quick: boolean, json: boolean): Promise<void> {
  const produced: string[] = [];
  for await (const [figure, goal] of measure(quick)) {
    if (![figure.ours, figure.bare, figure.held].every(Number.isFinite)) {
      throw new Error(`${figure.name} is not a number: ${JSON.stringify(figure)}.`);
    }
    produced.push(figure.name);
    console.log(json ? jsonLine(figure, quick) : tableRow(figure, goal, quick));
  }
  if (produced.join() !== figures.join()) {
    throw new Error(`Expected the figures ${figures.join(", ")}, but got ${produced.join(", ")}.`);
  }
}
