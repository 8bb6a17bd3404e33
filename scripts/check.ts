// `npm run check`: everything that can be checked without running the code. Prints a line per step, and
// a step's output only if it failed. Every step runs, even if another fails.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const tool = (name: string) => join(root, "node_modules/.bin", name);

// Slowest first, so that the short steps fill the gaps.
const steps: [name: string, command: string, ...args: string[]][] = [
  ["types", tool("tsc"), "-p", "tsconfig.json"],
  ["types of the dashboard", tool("tsc"), "-p", "web/src"],
  ["types of its tests", tool("tsc"), "-p", "web"],
  ["unused code", tool("knip"), "--no-progress"],
  ["format", tool("oxfmt"), "--list-different", "."],
  [
    "lint",
    tool("oxlint"),
    "--type-aware",
    "--format=unix",
    "--deny-warnings",
    "--report-unused-disable-directives",
  ],
  ["client package", process.execPath, "scripts/client-package.ts"],
  ["generated files", process.execPath, "scripts/generate.ts", "--check"],
  ["import map", process.execPath, "scripts/import-map.ts"],
  ["tree", process.execPath, "scripts/tree-scan.ts"],
  ["documents", process.execPath, "scripts/docs-check.ts"],
];

interface Result {
  passed: boolean;
  output: string;
}

async function run(command: string, args: string[]): Promise<Result> {
  const process = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [process.stdout, process.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  return new Promise((resolve) => {
    process.on("error", (error) => resolve({ passed: false, output: error.message }));
    process.on("close", (code) => resolve({ passed: code === 0, output }));
  });
}

const failed: string[] = [];
const waiting = [...steps];

async function worker(): Promise<void> {
  for (let step = waiting.shift(); step; step = waiting.shift()) {
    const [name, command, ...args] = step;
    const startedAt = performance.now();
    const { passed, output } = await run(command, args);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${passed ? "ok    " : "FAILED"} ${name} (${seconds} s)`);
    if (passed) continue;
    failed.push(name);
    console.log(output.trim().replace(/^/gm, "       "));
  }
}

await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, worker));
if (failed.length > 0) {
  console.error(`Failed: ${failed.join(", ")}.`);
  process.exitCode = 1;
}
