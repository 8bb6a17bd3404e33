// `npm run faults -- link [--fault F1,F2…] [--seed S] [--commands N] [--entries M] [--seconds T]
// [--json] [--verbose]`: injects each fault of the host link into a working product, and fails when
// the history of the run breaks a promise. The seed repeats the choices, not the machine's timing.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { linkFaults } from "./link.ts";
import { runFault, type RunResult } from "./run.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    fault: { type: "string" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
    commands: { type: "string", default: "200" },
    entries: { type: "string", default: "2000" },
    seconds: { type: "string", default: "20" },
    json: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
  },
});

const wanted = values.fault?.split(",");
const unknown = wanted?.filter((id) => !linkFaults.some((fault) => fault.id === id)) ?? [];
if (positionals.length !== 1 || positionals[0] !== "link" || unknown.length > 0) {
  const ids = linkFaults.map(({ id, title }) => `  ${id.padEnd(4)} ${title}`).join("\n");
  process.stderr.write(
    `usage: npm run faults -- link [--fault F1,F2] [--seed S] [--commands 200] [--entries 2000]\n` +
      `                             [--seconds 20] [--json] [--verbose]\n\n${ids}\n`,
  );
  process.exit(2);
}

if (!values.json) console.log(`seed ${values.seed}`);
for (const fault of linkFaults.filter(({ id }) => !wanted || wanted.includes(id))) {
  const result = await runFault(fault, {
    seed: values.seed,
    commands: Number(values.commands),
    entries: Number(values.entries),
    seconds: Number(values.seconds),
    ...(values.verbose && { onNote: (line: string) => console.error(`  ${fault.id} ${line}`) }),
  });
  if (values.json) console.log(JSON.stringify(result));
  else print(result);
  if (result.violations.length > 0) process.exitCode = 1;
}

function print(result: RunResult): void {
  const { done, failed, unknown } = result.commands;
  const count = result.violations.length;
  console.log(
    [
      `${result.fault}: ${result.injections.length} injections`,
      `commands ${done} done / ${failed} failed visibly / ${unknown} unknown`,
      `${result.entries} entries applied`,
      `online after ${result.onlineMs} ms, quiet after ${result.quietMs} ms`,
      count === 0 ? "history good" : `${count} VIOLATIONS`,
      `${result.seconds} s`,
    ].join(", "),
  );
  for (const [rule, all] of Map.groupBy(result.violations, ({ rule }) => rule)) {
    console.log(`  ${rule}: ${all.length}`);
    for (const { lines } of all.slice(0, 3)) console.log(`    ${lines.join("\n    ")}`);
  }
  if (count === 0) return;
  const again = `--fault ${result.fault} --seed ${result.seed}`;
  console.log(`  again: npm run faults -- link ${again}\n  injected:`);
  for (const line of result.injections) console.log(`    ${line}`);
}
