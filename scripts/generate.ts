// `npm run generate`: writes docs/reference from the registry, removes pages of actions that no longer
// exist, fills the generated parts of README.md and CONTRIBUTING.md, and writes the types of the client, those
// of the requirements' ids, and the compiled words of the dashboard. With --check it writes nothing and fails if a file differs from what would be
// written.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { clientTypes } from "./client-types.ts";
import { documentsWithRegions, fillRegions, regions } from "./generated-regions.ts";
import { referencePages } from "./reference-pages.ts";
import { requirementIds } from "./requirement-ids.ts";
import { compiledWords } from "./words.ts";

const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
const root = join(import.meta.dirname, "..");
const folder = join(root, "docs/reference");

const recorded = readFileSync(join(root, "control-plane/src/examples.json"), "utf8");
const wanted = referencePages(JSON.parse(recorded) as Parameters<typeof referencePages>[0]);
mkdirSync(folder, { recursive: true });
const present = new Map(
  readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]),
);

const changes: string[] = [];
for (const [name, text] of wanted) {
  if (present.get(name) === text) continue;
  changes.push(`${present.has(name) ? "differs" : "missing"}: docs/reference/${name}`);
  if (!values.check) writeFileSync(join(folder, name), text);
}
for (const name of present.keys()) {
  if (wanted.has(name)) continue;
  changes.push(`extra: docs/reference/${name}`);
  if (!values.check) rmSync(join(folder, name));
}
const read = (name: string) => readFileSync(join(root, name), "utf8");
const replaced: [name: string, text: string][] = [
  ...documentsWithRegions.map((name): [string, string] => [name, fillRegions(read(name), regions)]),
  ["client/src/actions.ts", clientTypes()],
  ["acceptance/requirement-ids.ts", requirementIds(read("acceptance/requirements.tsv"))],
  ["web/src/words/en.gen.ts", compiledWords(read("web/src/words/en.po"))],
];
for (const [name, text] of replaced) {
  if (read(name) === text) continue;
  changes.push(`differs: ${name}`);
  if (!values.check) writeFileSync(join(root, name), text);
}

if (!values.check) {
  console.log(`docs/reference: ${wanted.size} pages; ${changes.length} files changed`);
} else if (changes.length > 0) {
  console.error(`${changes.join("\n")}\nRun "npm run generate" and commit what it writes.`);
  process.exitCode = 1;
}
