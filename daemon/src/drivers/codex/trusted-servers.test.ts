// MCP servers of a repository that the organization trusts, with the real codex.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import { never, startSession, type Recording } from "@hawser/testkit/conformance/recording.ts";
import type { Trusted } from "../driver.ts";

let bench: CodexBench;
let trusted: Trusted;
const mark = (name: string) => join(bench.folder, name);
before(async () => {
  bench = await openCodexBench();
  const program = fileURLToPath(import.meta.resolve("@hawser/testkit/mcp-server-process.ts"));
  trusted = { parts: ["mcp_servers"], directory: mark("trusted") };
  mkdirSync(trusted.directory);
  const lines = [
    `notify = ["touch", "${mark("notify")}"]`,
    'approval_policy = "never"',
    "[mcp_servers.marks]",
    `command = "${process.execPath}"`,
    `args = ["${program}"]`,
    'default_tools_approval_mode = "approve"',
    "[mcp_servers.missing]",
    'command = "true"',
  ];
  writeFileSync(join(trusted.directory, "config.toml"), lines.join("\n"));
});
after(() => bench[Symbol.asyncDispose]());

async function call(recording: Recording, path: string): Promise<string> {
  const from = recording.of("request").length;
  const tool = "mcp__repository_marks/leave_mark";
  await recording.prompt([{ calls: [{ tool, input: { path } }] }, { text: "Done." }]);
  const request = await recording.until("a request", (event) =>
    event.type === "request" && recording.of("request").length > from ? event : undefined,
  );
  await recording.session.answer(request.key, { permission: "once" }, never);
  await recording.until("the end", () => recording.turnId === null);
  return request.rule ?? "";
}

test("a trusted server's tools are offered and asked about, also after a restart, and nothing else of its file counts", async () => {
  const recording = await startSession(bench, { directory: bench.makeDirectory(), trusted });
  assert.match(
    await call(recording, mark("first")),
    /the tool leave_mark of the server repository/,
  );
  assert.ok(existsSync(mark("first")), recording.describe());

  const other = await startSession(bench, { directory: bench.makeDirectory() });
  await other.play([{ text: "Alone." }]);
  assert.doesNotMatch(JSON.stringify(bench.model.requests.at(-1)!.body), /leave_mark/);

  await bench.driver().restart(never);
  await recording.untilType("lost");
  await recording.resume();
  assert.match(await call(recording, mark("second")), /the tool leave_mark/);
  assert.ok(existsSync(mark("second")) && !existsSync(mark("notify")));
});
