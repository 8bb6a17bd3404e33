import assert from "node:assert/strict";
import { test } from "node:test";
import {
  hangUp,
  refusal,
  result,
  silence,
  startScriptedService,
  type ScriptedService,
} from "@hawser/testkit/scripted-service.ts";
import { createClient, Refused, Unanswered } from "./index.ts";

const connect = ({ url }: ScriptedService, options = {}) =>
  createClient({ url: `${url}/`, key: "hwk_test", ...options });
const keysOf = ({ received }: ScriptedService) =>
  received.map(({ headers }) => headers["idempotency-key"]);
const input = { name: "a host" };
const instance = { instance: { instanceId: "ins_1" } };

test("an action is one POST with the key, an idempotency key and the body", async () => {
  await using service = await startScriptedService(result(instance));
  assert.deepEqual(await connect(service).create_instance(input), instance);
  const [{ method, path, headers, body }] = service.received as [(typeof service.received)[0]];
  assert.deepEqual(
    [method, path, body],
    ["POST", "/api/rest/actions/create_instance", '{"name":"a host"}'],
  );
  assert.equal(headers.authorization, "Bearer hwk_test");
  assert.match(String(headers["idempotency-key"]), /^[0-9a-f]{32}$/);
});

test("an action without fields is called without a body, and sends an empty object", async () => {
  await using service = await startScriptedService(result({}));
  await connect(service).whoami();
  assert.equal(service.received[0]!.body, "{}");
});

test("two calls have different idempotency keys", async () => {
  await using service = await startScriptedService(result(instance));
  const hawser = connect(service);
  await hawser.create_instance(input);
  await hawser.create_instance(input);
  assert.equal(new Set(keysOf(service)).size, 2);
});

const temporary = {
  "a broken connection": hangUp,
  "an answer that breaks off": (response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write('{"result":', () => response.destroy());
  },
  "a service that is away": refusal(503, { code: "unavailable", retry: "later" }),
  "a fault of the service": refusal(500, { code: "internal", retry: "later" }),
  "an outcome that is not known": refusal(409, { code: "in_progress", retry: "later" }),
  "a limit": refusal(429, { code: "rate_limited", retry: "later", retryAfterMs: 10 }),
  "a balancer without a node": (response) => response.writeHead(502).end("<h1>Bad Gateway</h1>"),
} satisfies Record<string, Parameters<typeof startScriptedService>[0]>;

for (const [what, answer] of Object.entries(temporary)) {
  test(`after ${what} the same body is sent again with the same idempotency key`, async () => {
    await using service = await startScriptedService(answer, answer, result(instance));
    assert.deepEqual(await connect(service).create_instance(input), instance);
    assert.equal(service.received.length, 3);
    assert.equal(new Set(keysOf(service)).size, 1);
    assert.equal(new Set(service.received.map(({ body }) => body)).size, 1);
  });
}

test("after a refusal that the service keeps for its key, a later attempt has another key", async () => {
  const full = refusal(409, { code: "queue_full", retry: "later" });
  await using service = await startScriptedService(full, result({ turnId: "t" }));
  await connect(service).send_prompt({ sessionId: "ses_1", text: "hello" });
  assert.equal(new Set(keysOf(service)).size, 2);
});

test("a caller's own idempotency key is sent, and never replaced", async () => {
  const full = refusal(409, { code: "queue_full", retry: "later" });
  await using service = await startScriptedService(hangUp, full);
  const call = connect(service).send_prompt(
    { sessionId: "ses_1", text: "hello" },
    { idempotencyKey: "mine" },
  );
  await assert.rejects(call, (error) => error instanceof Refused && error.code === "queue_full");
  assert.deepEqual(keysOf(service), ["mine", "mine"]);
});

test("a refusal that no retry changes is thrown at once, with its code and the next step", async () => {
  const given = {
    code: "host_offline",
    message: "The host is not connected. Start its daemon.",
    retry: "changed",
    nextAction: "get_instance",
    callId: "c1",
  };
  await using service = await startScriptedService(refusal(409, given));
  await assert.rejects(connect(service).refresh_instance({ instanceId: "ins_1" }), (error) => {
    assert.ok(error instanceof Refused);
    assert.deepEqual(
      [error.code, error.status, error.action, error.message, error.refusal],
      ["host_offline", 409, "refresh_instance", given.message, given],
    );
    return true;
  });
  assert.equal(service.received.length, 1);
});

test("the pause is as long as the refusal says", async () => {
  const limited = refusal(429, { code: "rate_limited", retry: "later", retryAfterMs: 400 });
  await using service = await startScriptedService(limited, result({}));
  await connect(service).whoami();
  const [first, second] = service.received;
  const pausedMs = second!.at - first!.at;
  assert.ok(pausedMs >= 395, `${pausedMs} ms`);
});

test("a refusal that asks for more time than is left is thrown at once", async () => {
  const used = refusal(429, { code: "quota_exceeded", retry: "later", retryAfterMs: 3_600_000 });
  await using service = await startScriptedService(used);
  const startedAt = performance.now();
  await assert.rejects(connect(service).whoami(), Refused);
  assert.ok(performance.now() - startedAt < 5_000);
  assert.equal(service.received.length, 1);
});

test("a connection that stays silent is given up for another attempt", async () => {
  await using service = await startScriptedService(silence, result(instance));
  assert.deepEqual(await connect(service, { attemptMs: 200 }).create_instance(input), instance);
  assert.equal(new Set(keysOf(service)).size, 1);
});

test("the deadline ends a call that is never answered, and the error has the idempotency key", async () => {
  await using service = await startScriptedService(hangUp);
  const startedAt = performance.now();
  const call = connect(service).create_instance(input, { deadlineMs: 1_500 });
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof Unanswered);
    assert.deepEqual([...new Set(keysOf(service))], [error.idempotencyKey]);
    return true;
  });
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < 5_000, `${tookMs} ms`);
  assert.ok(service.received.length >= 2);
});

test("the deadline also ends an attempt that is under way", async () => {
  await using service = await startScriptedService(silence);
  await assert.rejects(connect(service, { deadlineMs: 300 }).whoami(), (error) => {
    assert.ok(error instanceof Unanswered);
    // The deadline counts from the call, the attempt begins a little later.
    const [, waitedMs] = /nothing arrived within (\d+) ms/.exec(error.message)!;
    assert.ok(Number(waitedMs) <= 300, waitedMs);
    return true;
  });
});

test("a signal ends a call that is under way, and one that pauses, with its own reason", async () => {
  for (const answer of [
    silence,
    refusal(503, { code: "unavailable", retry: "later", retryAfterMs: 30_000 }),
  ]) {
    await using service = await startScriptedService(answer);
    const stop = new AbortController();
    const call = connect(service).whoami({}, { signal: stop.signal });
    setTimeout(() => stop.abort(new Error("enough")), 200);
    await assert.rejects(call, /enough/);
    assert.equal(service.received.length, 1);
  }
});

test("a call with an aborted signal sends nothing", async () => {
  await using service = await startScriptedService(result({}));
  const call = connect(service).whoami({}, { signal: AbortSignal.abort(new Error("enough")) });
  await assert.rejects(call, /enough/);
  assert.equal(service.received.length, 0);
});

test("an answer of another program is an error that names the address", async () => {
  await using service = await startScriptedService((response) => response.writeHead(404).end("no"));
  await assert.rejects(connect(service).whoami(), (error) => {
    assert.ok(!(error instanceof Refused) && !(error instanceof Unanswered));
    assert.match(String(error), new RegExp(`404 .* at ${service.url}\\. Check the address`));
    return true;
  });
  assert.equal(service.received.length, 1);
});

test("a list is read page by page, also past an empty page, by either kind of cursor", async () => {
  await using service = await startScriptedService(
    result({ sessions: [1, 2], nextCursor: "a" }),
    result({ sessions: [], nextCursor: "b" }),
    result({ sessions: [3], nextCursor: null }),
    result({ events: [4], lastSeq: 5, hasMore: true, nextAfter: 4 }),
    result({ events: [5], lastSeq: 5, hasMore: false, nextAfter: null }),
  );
  const hawser = connect(service);
  const found: unknown[] = [];
  for await (const each of hawser.each("search_sessions", { query: "x" })) found.push(each);
  for await (const each of hawser.each("list_session_events", { sessionId: "s", after: 3 }))
    found.push(each);
  assert.deepEqual(found, [1, 2, 3, 4, 5]);
  assert.deepEqual(
    service.received.map(({ body }) => JSON.parse(body)),
    [
      { query: "x" },
      { query: "x", cursor: "a" },
      { query: "x", cursor: "b" },
      { sessionId: "s", after: 3 },
      { sessionId: "s", after: 4 },
    ],
  );
});

test("a list that is left early reads no further page", async () => {
  await using service = await startScriptedService(result({ members: [1, 2], nextCursor: "a" }));
  for await (const _ of connect(service).each("list_members")) break;
  assert.equal(service.received.length, 1);
});
