// `npm run fuzz -- [--cases N] [--seed S] [--action NAME]… [--index I]…`: sends every action N
// generated requests, and fails when one is answered otherwise than the interface has it. The seed
// repeats a run, and an index with it repeats one case.
import { randomInt } from "node:crypto";
import { readArguments } from "@hawser/testkit/read-arguments.ts";
import { startWorld } from "@hawser/testkit/world.ts";
import { environment, fuzz } from "./fuzz.ts";
import type { ActionRun, Failure } from "./run.ts";

const { values } = readArguments({
  options: {
    cases: { type: "string", default: "2000" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
    action: { type: "string", multiple: true },
    index: { type: "string", multiple: true },
  },
});

const { seed, action: actions, index: indexes } = values;
console.log(`seed ${seed}`);
await using world = await startWorld({ environment });
const runs = await fuzz(world, {
  seed,
  cases: indexes ? indexes.map(Number) : Number(values.cases),
  ...(actions && { actions }),
  onAction: report,
});
const failures = runs.flatMap((run) => run.failures);
for (const failure of fewOfEach(failures)) console.log(JSON.stringify(failure, null, 2));
const cases = runs.reduce((sum, run) => sum + run.cases, 0);
console.log(`${Math.max(0, cases - failures.length)} passed, ${failures.length} failed`);
if (failures.length > 0) process.exitCode = 1;

function report({ action, cases, refused, accepted, ms, failures }: ActionRun): void {
  const mark = failures.length > 0 ? `, ${failures.length} FAILED` : "";
  console.log(
    `${action.padEnd(30)} ${cases} cases, ${refused} to refuse, ${accepted} done, ${ms} ms${mark}`,
  );
}

/** At most three failures that look alike, with how to repeat them. */
function fewOfEach(failures: Failure[]): object[] {
  const seen = new Map<string, number>();
  return failures.flatMap((failure) => {
    const kind = `${failure.action} ${failure.mutation} ${failure.got.slice(0, 40)}`;
    const count = (seen.get(kind) ?? 0) + 1;
    seen.set(kind, count);
    const { action, index } = failure;
    const repeat = `npm run fuzz -- --seed ${seed} --action ${action} --index ${index}`;
    return count > 3 ? [] : [{ ...failure, ...(index !== undefined && { repeat }) }];
  });
}
