import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { releaseRoutes } from "./releases.ts";

function open(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), "hawser-routes-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const inside = join(directory, "releases");
  mkdirSync(inside);
  writeFileSync(join(directory, "daemon.json"), "outside");
  writeFileSync(join(inside, "install.sh"), "# {{server}}\nserver='{{server}}'\n");
  writeFileSync(join(inside, "daemon.json"), "{}");
  writeFileSync(join(inside, "hawserd-1.2.3.mjs"), "x".repeat(100_000));
  writeFileSync(join(inside, "release-keys.json"), "secret");
  mkdirSync(join(inside, "agents.json"));
  return releaseRoutes(inside, "https://hawser.example");
}

test("the installer is served with this service's address in it", async (t) => {
  const answer = await open(t).request("/install.sh");
  assert.equal(answer.status, 200);
  assert.equal(await answer.text(), "# https://hawser.example\nserver='https://hawser.example'\n");
});

test("a release's files are served with their length, and kept by caches when their name has a version", async (t) => {
  const routes = open(t);
  const daemon = await routes.request("/releases/hawserd-1.2.3.mjs");
  assert.equal((await daemon.arrayBuffer()).byteLength, 100_000);
  assert.equal(daemon.headers.get("content-length"), "100000");
  assert.match(daemon.headers.get("cache-control")!, /immutable/);
  const manifest = await routes.request("/releases/daemon.json");
  assert.equal(await manifest.text(), "{}");
  assert.equal(manifest.headers.get("cache-control"), "no-cache");
  const headers = { "If-None-Match": manifest.headers.get("etag")! };
  assert.equal((await routes.request("/releases/daemon.json", { headers })).status, 304);
  const head = await routes.request("/releases/hawserd-1.2.3.mjs", { method: "HEAD" });
  assert.deepEqual([head.status, await head.text()], [200, ""]);
});

test("without the Node of a platform, the refusal says what the operator has to copy", async (t) => {
  const answer = await open(t).request("/releases/node-24.21.0-linux-arm64.gz");
  const { error } = (await answer.json()) as { error: { code: string; message: string } };
  assert.deepEqual([answer.status, error.code], [404, "unknown_path"]);
  assert.match(error.message, /copy node-24\.21\.0-linux-arm64\.gz .* @hawser\/node-linux-arm64/);
});

test("nothing else is: no other name, no directory, no way out of it", async (t) => {
  const routes = open(t);
  const paths = `release-keys.json install.sh agents.json hawserd-1.2.4.mjs hawserd-1.2.3.mjs.next .
    ..%2fdaemon.json %2e%2e%2fdaemon.json ..%5cdaemon.json daemon.json%00 daemon.json%0a
    hawserd-1.2.3.mjs%2f..%2frelease-keys.json`.split(/\s+/);
  for (const path of paths) {
    const answer = await routes.request(`/releases/${path}`);
    assert.equal(answer.status, 404, path);
  }
});

test("without a release the refusal says whose setting is missing", async () => {
  const routes = releaseRoutes(undefined, "https://hawser.example");
  for (const path of ["/install.sh", "/releases/daemon.json"]) {
    const answer = await routes.request(path);
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    assert.deepEqual([answer.status, error.code], [404, "unknown_path"]);
    assert.match(error.message, /HAWSER_RELEASES/);
  }
});
