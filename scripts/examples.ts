// `npm run examples [pattern…]`: runs acceptance scenarios, records their calls, and writes one request and its
// result for each action into control-plane/src/examples.json. The OpenAPI document and the reference show
// them. Actions that the scenarios do not call keep the example they have.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { registry, type ActionName } from "@hawser/contract";
import { chooseExamples, neutral, type Recorded } from "./choose-examples.ts";

const file = join(import.meta.dirname, "../control-plane/src/examples.json");
const directory = mkdtempSync(join(tmpdir(), "hawser-examples-"));
try {
  const command = ["scripts/acceptance.ts", ...process.argv.slice(2)];
  const environment = { ...process.env, HAWSER_EXAMPLES: directory };
  const { status } = spawnSync(process.execPath, command, { stdio: "inherit", env: environment });
  if (status !== 0) throw new Error("The scenarios failed, so nothing was written.");
  const recorded = readdirSync(directory).flatMap((name) =>
    readFileSync(join(directory, name), "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(neutral(line, hostname())) as Recorded),
  );
  const kept = JSON.parse(readFileSync(file, "utf8")) as Record<string, object>;
  const examples = { ...kept, ...chooseExamples(recorded) };
  const known = Object.entries(examples)
    .filter(([name]) => Object.hasOwn(registry, name))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(known), null, 2)}\n`);
  const missing = (Object.keys(registry) as ActionName[]).filter((name) => !examples[name]);
  process.stdout.write(`${known.length} examples; without one: ${missing.join(", ") || "none"}\n`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
