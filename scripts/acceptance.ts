// `npm run acceptance [-- --coverage] [pattern…]`: the product seen from outside. Each test writes
// down which requirements it cites; --coverage shows how many of them the run has proven, and why not the others.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { requirements } from "../acceptance/requirements.ts";
import { unproven } from "../acceptance/unproven.ts";
import { countCoverage, coverageTable, wrongReasons, type Proof } from "./coverage.ts";
import { chooseTestFiles, longestFirst, runTests } from "./run-tests.ts";

const { values, positionals } = parseArgs({
  options: { coverage: { type: "boolean", default: false } },
  allowPositionals: true,
});

const scenarios = chooseTestFiles(["acceptance/scenarios/*.test.ts"], positionals);
/** The scenarios that take more than a minute and a half. */
const longest = [
  "session-turns",
  "session-faults",
  "push.test",
  "kinds.test",
  "requests.test",
  "agent-installs",
  "story",
  "model-errors",
  "shell.test",
  "session-endings",
  "clone-sessions",
  "kinds-faults",
  "install.test",
  "shell-texts",
  "records",
  "capabilities",
];
const measured = chooseTestFiles(["acceptance/measured/*.test.ts"], positionals);
/** Measured files that mostly wait for time limits, so that others do not disturb them. */
const waiting = [
  "faults-sessions",
  "scale",
  "faults-link",
  "key-rotation",
  "host-renewal",
  "fabric-lost",
];
const isWaiting = (file: string) => waiting.some((part) => file.includes(part));
const directory = mkdtempSync(join(tmpdir(), "hawser-proofs-"));
try {
  process.exitCode = await runTests(
    {
      together: [
        ...longestFirst(scenarios, longest),
        ...longestFirst(measured.filter(isWaiting), waiting),
      ],
      alone: measured.filter((file) => !isWaiting(file)),
    },
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
  if (values.coverage) console.log(`\n${coverageTable(coverage, unproven)}`);
  const complaints = coverage.unknown.map(
    ({ id, tests }) =>
      `"${id}" is not in acceptance/requirements.tsv; cited by: ${tests.join("; ")}`,
  );
  const isWhole = positionals.length === 0 && process.exitCode === 0;
  if (isWhole) complaints.push(...wrongReasons(coverage, unproven));
  for (const complaint of complaints) console.error(complaint);
  if (complaints.length > 0) process.exitCode = 1;
}
