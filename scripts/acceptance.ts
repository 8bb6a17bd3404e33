// `npm run acceptance [-- --coverage] [pattern…]`: the product seen from outside. Each test writes
// down which requirements it cites; --coverage shows how many of them the run has proven.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { requirements } from "../acceptance/requirements.ts";
import { countCoverage, coverageTable, type Proof } from "./coverage.ts";
import { chooseTestFiles, longestFirst, runTests } from "./run-tests.ts";

const { values, positionals } = parseArgs({
  options: { coverage: { type: "boolean", default: false } },
  allowPositionals: true,
});

const scenarios = chooseTestFiles(["acceptance/scenarios/*.test.ts"], positionals);
/** The scenarios that take a minute or more. */
const longest = [
  "clone-session-faults",
  "clone-sessions",
  "install.test",
  "agent-installs",
  "update",
];
// These hold times against goals, so each has the machine to itself.
const measured = chooseTestFiles(["acceptance/measured/*.test.ts"], positionals);
const directory = mkdtempSync(join(tmpdir(), "hawser-proofs-"));
try {
  process.exitCode = await runTests(
    [
      // Two would not fill two cores, because scenarios often wait for timers.
      { files: longestFirst(scenarios, longest), atOnce: 3 },
      { files: measured, atOnce: 1 },
    ],
    { HAWSER_PROOFS: directory },
  );
  report(readProofs(directory));
} finally {
  rmSync(directory, { recursive: true, force: true });
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
