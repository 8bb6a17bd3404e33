// `npm run acceptance [-- --coverage] [pattern…]`: the product seen from outside. Each test writes
// down which requirements it cites; --coverage shows how many of them the run has proven.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { requirements } from "../acceptance/requirements.ts";
import { countCoverage, coverageTable, type Proof } from "./coverage.ts";
import { chooseTestFiles, runTests } from "./run-tests.ts";

const { values, positionals } = parseArgs({
  options: { coverage: { type: "boolean", default: false } },
  allowPositionals: true,
});

const scenarios = chooseTestFiles(["acceptance/scenarios/*.test.ts"], positionals);
// These hold times against goals, so each has the machine to itself.
const measured = chooseTestFiles(["acceptance/measured/*.test.ts"], positionals);
const directory = mkdtempSync(join(tmpdir(), "hawser-proofs-"));
try {
  process.exitCode = await runAll({ HAWSER_PROOFS: directory });
  report(readProofs(directory));
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function runAll(env: Record<string, string>): Promise<number> {
  const runs: [files: string[], concurrency: number][] = [
    [scenarios, 2],
    [measured, 1],
  ];
  const chosen = runs.filter(([files]) => files.length > 0);
  if (chosen.length === 0) return runTests([], env, 1);
  let worst = 0;
  for (const [files, concurrency] of chosen) worst ||= await runTests(files, env, concurrency);
  return worst;
}

/** Every test process appends JSON lines to files of its own in this folder. */
function readProofs(folder: string): Proof[] {
  return readdirSync(folder)
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"))
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Proof);
}

function report(proofs: Proof[]): void {
  const coverage = countCoverage(requirements, proofs);
  if (values.coverage) console.log(`\n${coverageTable(coverage)}`);
  for (const { id, tests } of coverage.unknown) {
    console.error(`"${id}" is not in acceptance/requirements.tsv; cited by: ${tests.join("; ")}`);
    process.exitCode = 1;
  }
}
