// `npm run canary -- [--texts N] [--seed S] [--kind KIND]… [--index I]`: plays N generated shell texts as
// commands of each real agent, refuses every request, and fails if a command ran all the same. The seed
// repeats a run, and an index with it repeats one text.
import { randomInt } from "node:crypto";
import { readArguments } from "@hawser/testkit/read-arguments.ts";
import { playShellTexts } from "./canary.ts";
import { openBench } from "./kinds.ts";
import { AgentKind } from "@hawser/contract";

const { values } = readArguments({
  options: {
    texts: { type: "string", default: "5000" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
    kind: { type: "string", multiple: true, default: [...AgentKind.options] },
    index: { type: "string" },
  },
});

const perSession = 500;
const { seed, index } = values;
const from = index === undefined ? 0 : Number(index);
const to = index === undefined ? Number(values.texts) : from + 1;
console.log(`seed ${seed}`);
for (const kind of values.kind) {
  const started = performance.now();
  await using bench = await openBench(AgentKind.parse(kind));
  // A session for each 500 texts, so that the run shows how far it is.
  const total = { kind, texts: 0, unasked: 0, ran: 0 };
  for (let at = from; at < to; at += perSession) {
    const { texts, unasked, ran } = await playShellTexts(
      bench,
      seed,
      at,
      Math.min(to, at + perSession),
    );
    total.texts += texts;
    total.unasked += unasked;
    total.ran += ran.length;
    for (const found of ran.slice(0, 20)) console.log(JSON.stringify(found));
    console.log(`${kind} ${total.texts} of ${to - from}`);
  }
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(JSON.stringify({ ...total, seconds }));
  if (total.ran > 0) process.exitCode = 1;
}
