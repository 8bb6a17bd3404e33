// `npm run canary -- [--texts N] [--seed S] [--kind KIND]… [--index I]`: plays N generated shell texts as
// commands of each real agent, refuses every request, and fails if a command ran all the same. The seed
// repeats a run, and an index with it repeats one text.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { playShellTexts } from "./canary.ts";
import { openBench } from "./kinds.ts";
import { AgentKind } from "@hawser/contract";

const { values } = parseArgs({
  options: {
    texts: { type: "string", default: "5000" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
    kind: { type: "string", multiple: true, default: [...AgentKind.options] },
    index: { type: "string" },
  },
});

const { seed, index } = values;
const from = index === undefined ? 0 : Number(index);
const to = index === undefined ? Number(values.texts) : from + 1;
console.log(`seed ${seed}`);
for (const kind of values.kind) {
  const started = performance.now();
  await using bench = await openBench(AgentKind.parse(kind));
  const onTurn = (played: number) => {
    if (played % 500 === 0) console.log(`${kind} ${played} of ${to - from}`);
  };
  const run = await playShellTexts(bench, { seed, from, to, perTurn: 50, onTurn });
  const seconds = Math.round((performance.now() - started) / 1000);
  const { texts, refused, failed, ran } = run;
  console.log(JSON.stringify({ kind, texts, refused, failed, ran: ran.length, seconds }));
  for (const found of ran.slice(0, 20)) console.log(JSON.stringify(found));
  if (ran.length > 0) process.exitCode = 1;
}
