// `npm run scale -- <what…> [--json] [--quick]`: shows how costs grow with hosts, viewers and nodes, and
// prints each figure as soon as its experiment has ended.
import { readArguments } from "@hawser/testkit/read-arguments.ts";
import { experiments, runExperiment } from "./experiments.ts";
import { jsonLine, tableHead, tableRow } from "./figure.ts";
import { say } from "./stage.ts";

const { values, positionals } = readArguments({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
  },
});

const usage = `usage: npm run scale -- <what…> [--json] [--quick]

  ${"all".padEnd(16)} every experiment
${Object.entries(experiments)
  .map(([name, { summary }]) => `  ${name.padEnd(16)} ${summary}`)
  .join("\n")}

  --json    a line of JSON per figure instead of the table
  --quick   small numbers: shows that the experiments run; goals that depend on the numbers are not judged
`;

const chosen = positionals.includes("all") ? Object.keys(experiments) : positionals;
if (chosen.length === 0 || !chosen.every((name) => Object.hasOwn(experiments, name))) {
  process.stderr.write(usage);
  process.exit(2);
}
if (!values.json) console.log(tableHead);
for (const name of chosen) {
  const startedAt = performance.now();
  say(`${name}: ${experiments[name]!.summary}`);
  const figures = await runExperiment(experiments[name]!, values.quick ? "small" : "large");
  for (const figure of figures) console.log(values.json ? jsonLine(figure) : tableRow(figure));
  say(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
}
if (values.quick) {
  say("QUICK RUN: the numbers are small. Leave --quick out to measure.");
}
