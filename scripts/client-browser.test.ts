// The client in a real browser: retries a call, and resumes a stream.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { openBrowser } from "@hawser/testkit/browser.ts";
import {
  events,
  refusal,
  result,
  startScriptedService,
  type ScriptedAnswer,
} from "@hawser/testkit/scripted-service.ts";
import { build } from "esbuild";

const entries = (...seqs: number[]) =>
  seqs.map((seq) => `id: ${seq}\nevent: entry\ndata: {"seq":${seq}}\n\n`).join("");

/** Runs in the page. */
const program = `(async () => {
  const { createClient } = await import("/client.js");
  const hawser = createClient({ url: location.origin, key: "hwk_test" });
  const answer = await hawser.whoami();
  const seqs = [];
  for await (const event of hawser.followSession({ sessionId: "ses_1" })) {
    seqs.push(event.seq);
    if (event.seq === 4) break;
  }
  return { answer, seqs };
})()`;

test("in a browser, a call that fails is sent again and a broken stream resumes", async () => {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "../client/src/index.ts")],
    platform: "browser",
    format: "esm",
    bundle: true,
    write: false,
  });
  const calls: (string | undefined)[] = [];
  const routes: Record<string, ScriptedAnswer> = {
    "/": (response) =>
      response.writeHead(200, { "content-type": "text/html" }).end("<title>A page</title>"),
    "/client.js": (response) =>
      response.writeHead(200, { "content-type": "text/javascript" }).end(outputFiles[0]!.contents),
    "/api/rest/actions/whoami": (response, request) => {
      calls.push(String(request.headers["idempotency-key"]));
      // Not a broken connection: a browser itself may send that again.
      const away = refusal(503, { code: "unavailable", retry: "later" });
      const answer = calls.length === 1 ? away : result("me");
      answer(response, request);
    },
    "/api/sessions/ses_1/events?after=0": events(entries(1, 2), (response) => response.destroy()),
    "/api/sessions/ses_1/events?after=2": events(entries(2, 3, 4)),
  };
  await using service = await startScriptedService((response, request) => {
    const route = routes[request.path];
    if (route) route(response, request);
    else response.writeHead(404).end();
  });
  await using browser = await openBrowser({ username: "", password: "" });
  await browser.page.goto(service.url);
  const seen: unknown = await browser.page.evaluate(program);
  assert.deepEqual(seen, { answer: "me", seqs: [1, 2, 3, 4] });
  assert.equal(calls.length, 2);
  assert.equal(new Set(calls).size, 1);
});
