// Hosts are redirected to the operator's address, for packages and nothing else.
import assert from "node:assert/strict";
import { test } from "node:test";
import { agentPackageRoute } from "./agent-packages.ts";

const door = agentPackageRoute("https://files.example/npm");
const ask = (path: string, app = door) => app.request(`/releases/packages/${path}`);

test("a package is found below the operator's address", async () => {
  for (const path of [
    "opencode-linux-x64/-/opencode-linux-x64-1.18.33.tgz",
    "@openai/codex/-/codex-0.166.0-linux-x64.tgz",
  ]) {
    const response = await ask(path);
    assert.equal(response.status, 302);
    assert.equal(response.headers.get("location"), `https://files.example/npm/${path}`);
  }
});

test("nothing but a package is sent on", async () => {
  for (const path of [
    "",
    "codex",
    "codex/-/codex.zip",
    "../codex/-/codex-1.tgz",
    "a/b/c/-/codex-1.tgz",
    "%2e%2e/-/codex-1.tgz",
    "codex/-/%2e%2e%2fcodex-1.tgz",
    "codex/-/a%0d%0aSet-Cookie:x.tgz",
    "%E0%A4%A/-/codex-1.tgz",
    "@evil.example/-/x/-/x.tgz",
  ]) {
    assert.equal((await ask(path)).status, 404, path);
  }
});

test("without an address the answer says what to set", async () => {
  const response = await ask("codex/-/codex-1.tgz", agentPackageRoute(undefined));
  assert.equal(response.status, 404);
  const { error } = (await response.json()) as { error: { message: string } };
  assert.match(error.message, /HAWSER_AGENT_PACKAGES/);
});
