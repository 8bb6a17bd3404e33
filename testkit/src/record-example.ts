// Records calls of test runs, from which `npm run examples` chooses the examples in the documents.
import { appendFileSync } from "node:fs";
import { join } from "node:path";

const directory = process.env["HAWSER_EXAMPLES"];
const largest = 4_000;

/** A call that succeeded. No-op unless a directory is set for recordings. */
export function recordExample(action: string, request: unknown, result: unknown): void {
  if (directory === undefined) return;
  const line = JSON.stringify({ action, request, result });
  if (line.length <= largest) appendFileSync(join(directory, `${process.pid}.jsonl`), `${line}\n`);
}
