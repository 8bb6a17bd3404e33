// `npm run bench -- <what> [--json] [--quick]`: measures, and prints a figure as soon as it has it.
// Also the two tools that explain a figure: `plans` and `profile`.
import { parseArgs } from "node:util";
import { tableHead, tableRow, type Figure, type Goal } from "./figure.ts";
import { measureAgents } from "./agents.ts";
import { measureLink } from "./link.ts";
import { showPlans } from "./plans.ts";
import { profileReads } from "./profile.ts";
import { measureRead } from "./read.ts";
import { measureSession } from "./session.ts";

const groups: Record<string, (quick: boolean) => AsyncGenerator<[Figure, Goal]>> = {
  read: measureRead,
  link: measureLink,
  session: measureSession,
  agents: measureAgents,
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
  agents    first words and memory of each kind of agent beside its bare program
  plans     the plans PostgreSQL uses for listings, with the pages each reads
  profile   where a node spends its time under the loads of \`read\`

  --json    a line of JSON per figure instead of the table
  --quick   small tables and short rounds, to try it out; the figures mean nothing
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
  },
});

const what = positionals[0] ?? "";
const chosen = what === "all" ? Object.values(groups) : groups[what] ? [groups[what]] : [];
if (positionals.length === 1 && tools[what]) {
  await tools[what](values.quick);
} else if (positionals.length === 1 && chosen.length > 0) {
  if (!values.json) console.log(tableHead);
  for (const group of chosen) {
    for await (const [figure, goal] of group(values.quick)) {
      console.log(values.json ? JSON.stringify(figure) : tableRow(figure, goal));
    }
  }
} else {
  process.stderr.write(usage);
  process.exitCode = 2;
}
