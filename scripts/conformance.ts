// `npm run conformance [kind…]`: runs the conformance suite of the drivers with the real agents, and
// prints a table of what each kind can do, with the reason where a behaviour does not apply.
import { join } from "node:path";
import { run } from "node:test";
import { parseArgs } from "node:util";
import { tableOf, type Behaviour } from "./conformance-table.ts";
import { root } from "./run-tests.ts";

const drivers = "daemon/src/drivers";
const filesOf: Record<string, string[]> = {
  opencode: ["opencode/opencode.test.ts", "opencode/opencode-endings.test.ts"],
  claude_code: ["claude-code/claude-code.test.ts", "claude-code/claude-code-endings.test.ts"],
  codex: ["codex/codex.test.ts"],
};

/** Result of a test case, as Node's test runner reports it. */
interface CaseEvent {
  type: string;
  data: { name: string; nesting: number; skip?: string | boolean };
}

const { positionals } = parseArgs({ allowPositionals: true });
const unknown = positionals.filter((kind) => !(kind in filesOf));
if (unknown.length > 0) {
  console.error(
    `There is no kind ${unknown.join()}. There are ${Object.keys(filesOf).join(", ")}.`,
  );
  process.exit(1);
}
const kinds = positionals.length > 0 ? positionals : Object.keys(filesOf);
const behaviours: Behaviour[] = [];
for (const kind of kinds) {
  const began = performance.now();
  const files = filesOf[kind]!.map((file) => join(root, drivers, file));
  const events: AsyncIterable<CaseEvent> = run({ files, concurrency: 2 });
  for await (const event of events) {
    if (event.type !== "test:pass" && event.type !== "test:fail") continue;
    // Only cases within the suite; the suite itself and the file are reported too.
    if (event.data.nesting !== 1) continue;
    const { name, skip } = event.data;
    const passed = event.type === "test:pass";
    const reason = typeof skip === "string" ? skip : undefined;
    behaviours.push({ kind, name, outcome: passed ? (reason ?? true) : false });
  }
  console.error(`${kind}: ${Math.round((performance.now() - began) / 1000)} s`);
}
console.log(tableOf(kinds, behaviours));
if (behaviours.length === 0 || behaviours.some(({ outcome }) => outcome === false)) {
  process.exitCode = 1;
}
