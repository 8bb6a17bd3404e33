// The door of triggers as senders see it: over a socket, with any input.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { formatId } from "@hawser/contract";
import { openTriggerBed, type MadeTrigger, type TriggerBed } from "@hawser/testkit/trigger-bed.ts";
import {
  sendSlowly,
  standardDelivery,
  type SignedDelivery,
} from "@hawser/testkit/webhook-sender.ts";
import { getRequestListener } from "@hono/node-server";
import { createLog } from "../log.ts";
import { triggerRoutes, type TriggerRoutes } from "./routes.ts";

let beds: TriggerBed;
let made: MadeTrigger;
const servers: Server[] = [];

before(async () => {
  beds = await openTriggerBed();
});
after(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await beds[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await beds.clear();
  made = await beds.create({ source: "json" });
});

/** A server with the door. Returns its address. */
async function serve(limits?: TriggerRoutes["limits"]): Promise<string> {
  const { service, triggerSecret } = beds.bed;
  const app = triggerRoutes({
    database: service.database,
    triggerSecret,
    log: createLog("silent"),
    ...(limits && { limits }),
  });
  const listener = getRequestListener(app.fetch);
  const server = createServer((request, response) => void listener(request, response));
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/triggers/`;
}

async function post(address: string, { headers, body }: SignedDelivery) {
  const response = await fetch(address, {
    method: "POST",
    headers: { ...headers, "x-request-id": "one" },
    body,
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test("an accepted delivery is answered 202 with its run, and an ignored one 200 with the reason", async () => {
  const door = await serve();
  const delivery = standardDelivery(made.secret, {});
  const { status, text } = await post(door + made.trigger.triggerId, delivery);
  const [run] = await beds.runsOf(made.id);
  assert.deepEqual([status, JSON.parse(text)], [202, { runId: formatId("run", run!.run_id) }]);
  assert.deepEqual((await post(door + made.trigger.triggerId, delivery)).text, text);
  await beds.update({ triggerId: made.trigger.triggerId, enabled: false });
  const ignored = await post(door + made.trigger.triggerId, standardDelivery(made.secret, {}));
  assert.deepEqual(
    [ignored.status, JSON.parse(ignored.text)],
    [200, { ignored: "The trigger is paused." }],
  );
});

test("an unknown trigger, a paused one and a forged delivery get the same bytes", async () => {
  const door = await serve();
  const unknown = formatId("trigger", "01a1dcb3-708b-7ba5-8f6d-438dd495d039");
  const paused = await beds.create({ source: "json" });
  await beds.update({ triggerId: paused.trigger.triggerId, enabled: false });
  const forged = standardDelivery(secretOfAnother, { a: 1 });
  const replies = [];
  for (const id of [unknown, "x", made.trigger.triggerId, paused.trigger.triggerId])
    replies.push(await post(door + id, forged));
  for (const { status, text, headers } of replies) {
    assert.deepEqual([status, text], [401, replies[0]!.text]);
    assert.deepEqual([...headers.keys()], [...replies[0]!.headers.keys()]);
  }
});

const secretOfAnother = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

test("a body of more than 1 MiB is refused, and one of 1 MiB is not", async () => {
  const door = await serve();
  const largest = "x".repeat(1024 * 1024 - 2);
  const address = door + made.trigger.triggerId;
  assert.equal((await post(address, standardDelivery(made.secret, largest))).status, 202);
  assert.equal((await post(address, standardDelivery(made.secret, `${largest}x`))).status, 413);
});

const usual = { perSecond: 20, burst: 200 };
const places = { most: 64, mostOfTrigger: 16 };

test("too many signed deliveries for one trigger are refused, and others are not", async () => {
  const door = await serve({ signed: { perSecond: 0.001, burst: 3 }, bodies: places });
  const other = await beds.create({ source: "json" });
  const send = async ({ trigger, secret }: MadeTrigger) =>
    (await post(door + trigger.triggerId, standardDelivery(secret, {}))).status;
  assert.deepEqual(
    [await send(made), await send(made), await send(made), await send(made), await send(other)],
    [202, 202, 202, 429, 202],
  );
  const reply = await post(door + made.trigger.triggerId, standardDelivery(made.secret, {}));
  assert.ok(Number(reply.headers.get("retry-after")) > 0);
});

test("forged deliveries use up nothing of what the rightful sender may send", async () => {
  const door = await serve({ signed: { perSecond: 0.001, burst: 1 }, bodies: places });
  const address = door + made.trigger.triggerId;
  const forged = [standardDelivery(secretOfAnother, {}), { headers: {}, body: "{}" }];
  for (const each of [...forged, ...forged]) assert.equal((await post(address, each)).status, 401);
  assert.equal((await post(address, standardDelivery(made.secret, {}))).status, 202);
});

const deadline = { timeout: 30_000 };

test(
  "strangers who send bodies slowly delay no rightful delivery, to whatever address",
  deadline,
  async () => {
    const door = await serve();
    const other = await beds.create({ source: "json" });
    const unknown = formatId("trigger", "01a1dcb3-708b-7ba5-8f6d-438dd495d039");
    const { headers } = standardDelivery(secretOfAnother, {});
    const rightful = async () => {
      const startedAt = performance.now();
      for (const { trigger, secret } of [made, other]) {
        const reply = await post(door + trigger.triggerId, standardDelivery(secret, {}));
        assert.equal(reply.status, 202);
      }
      assert.ok(performance.now() - startedAt < 2_000);
    };
    const replies: Promise<string>[] = [];
    for (const [address, sent] of [
      ["nonsense", {}],
      [unknown, headers],
      [made.trigger.triggerId, {}],
      [made.trigger.triggerId, headers],
    ] as const) {
      replies.push(...(await sendSlowly(door + address, sent, 80)));
      await rightful();
    }
    const statuses = Map.groupBy(await Promise.all(replies), (status) => status);
    // 429: a newer body took its place. 400: the body did not arrive in time.
    assert.deepEqual([...statuses.keys()].sort(), ["400", "401", "429"]);
    assert.ok(statuses.get("400")!.length <= places.mostOfTrigger);
  },
);

test(
  "a body that arrives slowly keeps its place from deliveries to other triggers",
  deadline,
  async () => {
    const door = await serve({ signed: usual, bodies: { most: 3, mostOfTrigger: 3 } });
    const other = await beds.create({ source: "json" });
    const { headers } = standardDelivery(secretOfAnother, {});
    const [slow] = await sendSlowly(door + other.trigger.triggerId, headers, 1);
    const flood = await sendSlowly(door + made.trigger.triggerId, headers, 6);
    // Two places are left for six bodies, which get them in any order.
    const replies = (await Promise.all(flood)).sort();
    assert.deepEqual(replies, ["400", "400", "429", "429", "429", "429"]);
    assert.equal(await slow, "400");
  },
);

test("a body that is not signed, or of an unknown trigger, is not even measured", async () => {
  const door = await serve();
  const body = "x".repeat(1024 * 1024 + 1);
  const unknown = formatId("trigger", "01a1dcb3-708b-7ba5-8f6d-438dd495d039");
  const { headers } = standardDelivery(secretOfAnother, {});
  assert.equal((await post(door + made.trigger.triggerId, { headers: {}, body })).status, 401);
  assert.equal((await post(door + unknown, { headers, body })).status, 401);
});

test("only POST is served", async () => {
  const response = await fetch((await serve()) + made.trigger.triggerId);
  assert.deepEqual([response.status, response.headers.get("allow")], [405, "POST"]);
});
