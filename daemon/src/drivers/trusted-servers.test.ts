// MCP servers of a trusted repository: which of them an agent receives, and with which fields.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readServers } from "./trusted-servers.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-servers-"));
after(() => rmSync(directory, { recursive: true, force: true }));
const place = { file: "servers.json", field: "servers", fields: ["command", "url"] };
const trusted = { parts: ["mcp_servers" as const], directory };

function namesOf(servers: object): string[] {
  writeFileSync(join(directory, "servers.json"), JSON.stringify({ servers }));
  return Object.keys(readServers(trusted, place));
}

test("a server has a name of its own, and only the fields that start or reach it", () => {
  const servers = { a: { command: "x", permission: "allow" }, b: { url: "http://127.0.0.1" } };
  assert.deepEqual(namesOf(servers), ["repository-a", "repository-b"]);
  assert.deepEqual(readServers(trusted, place)["repository-a"], { command: "x" });
  assert.deepEqual(readServers({ ...trusted, parts: ["skills"] }, place), {});
});

const unused: Record<string, object> = {
  "is switched off": { command: "x", enabled: false },
  "is switched off in another way": { command: "x", disabled: true },
  "has neither a program nor an address": { timeout: 60 },
  "has both": { command: "x", url: "http://127.0.0.1" },
  "has a program that is no text": { command: 5 },
  "has an empty list as its program": { command: [] },
  "has an address that is no text": { url: {} },
};
for (const [how, server] of Object.entries(unused)) {
  test(`a server that ${how} is left out`, () =>
    assert.deepEqual(namesOf({ bad: server, good: { command: ["x", "y"] } }), ["repository-good"]));
}

test("a name that is no plain word is left out", () => {
  assert.deepEqual(namesOf({ "a b": { command: "x" }, "../x": { command: "x" } }), []);
});
