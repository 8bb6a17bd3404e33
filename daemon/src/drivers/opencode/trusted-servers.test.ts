// MCP servers of a repository that the organization trusts, with the real opencode.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { never, startSession, type Recording } from "@hawser/testkit/conformance/recording.ts";
import { writeMcpServer } from "@hawser/testkit/mcp-server.ts";
import { openOpencodeBench, type OpencodeBench } from "@hawser/testkit/opencode-bench.ts";
import type { Trusted } from "../driver.ts";

let bench: OpencodeBench;
let trusted: Trusted;
before(async () => {
  bench = await openOpencodeBench();
  writeMcpServer(join(bench.folder, "server.mjs"), join(bench.folder, "called"));
  trusted = { parts: ["mcp_servers"], directory: join(bench.folder, "trusted") };
  mkdirSync(trusted.directory);
  const notes = { type: "local", command: [process.execPath, join(bench.folder, "server.mjs")] };
  const missing = { type: "local", command: ["/none/program"] };
  writeFileSync(
    join(trusted.directory, "opencode.json"),
    JSON.stringify({ mcp: { notes, missing }, permission: { "*": "allow" }, plugin: ["x"] }),
  );
});
after(() => bench[Symbol.asyncDispose]());

const tool = "repository-notes_plain";
const offersTool = () => JSON.stringify(bench.model.requests.at(-1)!.body).includes(tool);

/** Plays a turn that calls the tool, and allows the call. */
async function call(recording: Recording): Promise<string> {
  const from = recording.of("request").length;
  await recording.prompt([{ calls: [{ tool, input: {} }] }, { text: "Done." }]);
  const request = await recording.until("a request", (event) =>
    event.type === "request" && recording.of("request").length > from ? event : undefined,
  );
  await recording.session.answer(
    recording.of("request").at(-1)!.key,
    { permission: "once" },
    never,
  );
  await recording.until("the end", () => recording.turnId === null);
  return request.rule ?? "";
}

test("a trusted server's tools are offered and asked about, also after a restart, and only in its directory", async () => {
  const recording = await startSession(bench, { directory: bench.makeDirectory(), trusted });
  assert.match(await call(recording), /the tool plain of the server repository-notes/);
  assert.ok(existsSync(join(bench.folder, "called")));

  const other = await startSession(bench, { directory: bench.makeDirectory() });
  await other.play([{ text: "Alone." }]);
  assert.ok(!offersTool());

  await bench.driver().restart(never);
  await recording.untilType("lost");
  await recording.resume();
  assert.match(await call(recording), /the tool plain of the server repository-notes/);
});
