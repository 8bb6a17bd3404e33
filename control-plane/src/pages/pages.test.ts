import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { Hono } from "hono";
import { pageRoutes } from "./routes.ts";

const script = "export const answer = 42;";
const html = "<!doctype html><title>Hawser</title>";
const person = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

function emptyDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "hawser-pages-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function build(directory: string): void {
  mkdirSync(join(directory, "assets"), { recursive: true });
  writeFileSync(join(directory, "index.html"), html);
  writeFileSync(join(directory, "theme.js"), "// theme");
  writeFileSync(join(directory, "assets/index-1a2b.js"), script);
  writeFileSync(join(directory, "assets/index-1a2b.js.br"), brotliCompressSync(script));
  writeFileSync(join(directory, "assets/index-1a2b.js.gz"), gzipSync(script));
}

function serve(directory: string) {
  const app = new Hono();
  app.route("/", pageRoutes(directory));
  app.notFound((c) => c.json({ error: { code: "unknown_path" } }, 404));
  return (path: string, headers: Record<string, string> = {}, method = "GET") =>
    app.request(path, { headers, method });
}

test("every address of a page answers the one page, and is asked for again each time", async (t) => {
  const directory = emptyDirectory(t);
  build(directory);
  const get = serve(directory);
  for (const path of ["/", "/hosts", "/sessions/ses_1/review", "/invite", "/apis"]) {
    const answer = await get(path, person);
    assert.equal(answer.status, 200, path);
    assert.equal(answer.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(answer.headers.get("cache-control"), "no-cache");
    assert.equal(await answer.text(), html);
  }
});

test("paths of programs are never pages", async (t) => {
  const directory = emptyDirectory(t);
  build(directory);
  const get = serve(directory);
  const paths = ["/api", "/api/", "/api/nothing", "/releases/none", "/healthz/x", "/assets/old.js"];
  for (const path of paths) assert.equal((await get(path, person)).status, 404, path);
  // A program does not ask for HTML.
  assert.equal((await get("/hosts", { accept: "*/*" })).status, 404);
  assert.equal((await get("/hosts", person, "POST")).status, 404);
});

test("files with a hash in their names are kept for a year, others are checked each time", async (t) => {
  const directory = emptyDirectory(t);
  build(directory);
  const get = serve(directory);
  const asset = await get("/assets/index-1a2b.js");
  assert.equal(asset.headers.get("cache-control"), "public, max-age=31536000, immutable");
  assert.equal(await asset.text(), script);
  const theme = await get("/theme.js");
  assert.equal(theme.headers.get("cache-control"), "no-cache");
  const tag = theme.headers.get("etag")!;
  for (const known of [tag, `W/${tag}`, `"other", ${tag}`]) {
    const again = await get("/theme.js", { "if-none-match": known });
    assert.deepEqual([again.status, await again.text()], [304, ""]);
  }
  assert.equal((await get("/theme.js", { "if-none-match": '"other"' })).status, 200);
});

test("a file is sent in the best encoding that the browser names", async (t) => {
  const directory = emptyDirectory(t);
  build(directory);
  const get = serve(directory);
  for (const [accepted, sent] of [
    ["gzip, deflate, br, zstd", "br"],
    ["gzip, deflate", "gzip"],
    ["br;q=0, identity", null],
    ["brotli", null],
    ["", null],
  ] as const) {
    const answer = await get("/assets/index-1a2b.js", { "accept-encoding": accepted });
    assert.equal(answer.headers.get("content-encoding"), sent, accepted);
    assert.equal(answer.headers.get("vary"), "Accept-Encoding");
    assert.equal(answer.headers.get("content-type"), "text/javascript; charset=utf-8");
  }
  const head = await get("/assets/index-1a2b.js", {}, "HEAD");
  assert.deepEqual([head.headers.get("content-length"), await head.text()], ["25", ""]);
});

test("only the files of the build are served, and their compressed copies under no name of their own", async (t) => {
  const directory = emptyDirectory(t);
  build(directory);
  writeFileSync(join(directory, "secret.txt"), "no");
  const get = serve(directory);
  for (const path of [
    "/secret.txt",
    "/assets/index-1a2b.js.gz",
    "/assets/../../package.json",
    "/assets/%2e%2e/%2e%2e/package.json",
    "/assets",
  ]) {
    assert.equal((await get(path)).status, 404, path);
  }
});

test("pages and files say what browsers must refuse", async (t) => {
  const directory = emptyDirectory(t);
  build(directory);
  const get = serve(directory);
  for (const path of ["/", "/theme.js", "/assets/index-1a2b.js"]) {
    const { headers } = await get(path, person);
    assert.equal(
      headers.get("content-security-policy"),
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-src 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types hawser-worker",
    );
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("referrer-policy"), "no-referrer");
    assert.equal(headers.get("cross-origin-opener-policy"), "same-origin");
    assert.match(headers.get("permissions-policy")!, /camera=\(\).*clipboard-write=\(self\)/);
  }
});

test("a node without a built dashboard says how to build it, and serves it once it is there", async (t) => {
  const directory = emptyDirectory(t);
  const get = serve(join(directory, "pages"));
  const missing = await get("/", person);
  assert.equal(missing.status, 503);
  assert.match(await missing.text(), /^This service .*`npm run web:build`.*\n$/);
  assert.equal((await get("/api/x", person)).status, 404);
  build(join(directory, "pages"));
  assert.equal((await get("/", person)).status, 200);
});
