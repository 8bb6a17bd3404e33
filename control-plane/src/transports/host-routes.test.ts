// The routes of hosts as a host sees them: over a socket, with any input.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { Refusal } from "@hawser/contract";
import { asNewer } from "@hawser/testkit/other-versions.ts";
import { getRequestListener } from "@hono/node-server";
import { createLog } from "../log.ts";
import { DatabaseUnavailable } from "../postgres/database.ts";
import { hostRoutes, type HostRoutes } from "./host-routes.ts";

const pairRequest = {
  pairingToken: "hwp_x",
  publicKey: "UX",
  machineId: "m1",
  daemonVersion: "1.0.0",
};
const renewRequest = { publicKey: "UX", nonce: "n", signature: "s" };
const paired = { instanceId: "ins_1", token: "t", commandKey: "c" };
const wrongToken = () => Promise.reject(new Refusal("not_found", "It is not valid."));

let server: Server;
let baseUrl: string;
let pair: HostRoutes["pair"];
let renew: HostRoutes["renew"];

before(async () => {
  const app = hostRoutes({
    pair: (...given) => pair(...given),
    nonce: () => "a nonce",
    renew: (request) => renew(request),
    log: createLog("silent"),
    wrongTokens: { perSecond: 50, burst: 10 },
  });
  const listener = getRequestListener(app.fetch);
  server = createServer((request, response) => void listener(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/hosts`;
});

beforeEach(() => {
  pair = () => Promise.resolve(paired);
  renew = () => Promise.resolve({ token: "t2" });
});

after(() => {
  server.closeAllConnections();
  server.close();
});

async function post(door: string, body: unknown, init: RequestInit = {}) {
  const response = await fetch(`${baseUrl}/${door}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });
  const { status, headers } = response;
  return { status, headers, json: (await response.json()) as any };
}

test("each door answers with the reply itself, and nobody keeps it", async () => {
  let seen: unknown;
  pair = (request, callId) => {
    seen = { request, callId };
    return Promise.resolve(paired);
  };
  const reply = await post("pair", pairRequest, {
    headers: { "Content-Type": "application/json", "X-Request-Id": "call-1" },
  });
  assert.deepEqual([reply.status, reply.json], [200, paired]);
  assert.deepEqual(seen, { request: pairRequest, callId: "call-1" });
  assert.equal(reply.headers.get("cache-control"), "no-store");
  assert.equal(reply.headers.get("x-request-id"), "call-1");
  assert.ok(reply.headers.get("date"));
  const nonce = await post("nonce", {});
  assert.deepEqual([nonce.status, nonce.json], [200, { nonce: "a nonce" }]);
  const bare = await fetch(`${baseUrl}/nonce`, { method: "POST" });
  assert.deepEqual(await bare.json(), { nonce: "a nonce" });
  assert.deepEqual((await post("renew", renewRequest)).json, { token: "t2" });
});

test("a removed host receives status, code, word and proof", async () => {
  const proof = { instanceId: "ins_1", hostKey: "UX", issuedAt: "2026-11-15T10:00:00.000Z" };
  renew = () => Promise.resolve({ forget: true, proof: { ...proof, signatures: ["s"] } });
  const { status, json, headers } = await post("renew", renewRequest);
  assert.equal(status, 403);
  assert.equal(json.forget, true);
  assert.deepEqual(json.proof, { ...proof, signatures: ["s"] });
  assert.equal(json.error.code, "forbidden");
  assert.equal(headers.get("cache-control"), "no-store");
});

test("a host without any record is answered to ask later, and by no word to forget", async () => {
  renew = () => Promise.resolve({ refused: "unknown_host", retryAfterMs: 1_500 });
  const { status, json, headers } = await post("renew", renewRequest);
  assert.deepEqual([status, headers.get("retry-after")], [503, "2"]);
  assert.deepEqual(
    [json.error.code, json.refused, json.retryAfterMs],
    ["unavailable", "unknown_host", 1_500],
  );
  assert.ok(!("forget" in json), "a daemon of version 0.1.0 forgets at this word");
});

test("a refusal that is not about the pairing makes no host forget", async () => {
  renew = () => Promise.reject(new Refusal("unauthenticated", "The nonce is not valid any more."));
  const { status, json } = await post("renew", renewRequest);
  assert.equal(status, 401);
  assert.deepEqual(Object.keys(json), ["error"]);
});

test("a newer daemon is paired and renewed, without the fields that this node does not know", async () => {
  const seen: unknown[] = [];
  pair = (request) => {
    seen.push(request);
    return Promise.resolve(paired);
  };
  renew = (request) => {
    seen.push(request);
    return Promise.resolve({ token: "t2" });
  };
  assert.equal((await post("pair", asNewer(pairRequest))).status, 200);
  assert.equal((await post("renew", asNewer(renewRequest))).status, 200);
  assert.deepEqual(seen, [pairRequest, renewRequest]);
});

test("what does not fit the schema is refused field by field", async () => {
  const cases: [unknown, string][] = [
    [{}, "pairingToken"],
    [{ ...pairRequest, machineId: "" }, "machineId"],
    [{ ...pairRequest, machineId: "m".repeat(201) }, "machineId"],
    [{ ...pairRequest, machineId: "a\0b" }, "machineId"],
    [{ ...pairRequest, daemonVersion: 1 }, "daemonVersion"],
  ];
  for (const [body, field] of cases) {
    const { status, json } = await post("pair", body);
    assert.deepEqual([status, json.error.code], [400, "invalid_input"]);
    assert.ok(json.error.fields.some((each: { field: string }) => each.field === field));
  }
  for (const body of ["", "{", "[]", "null", '"x"', "1"])
    assert.equal((await post("renew", body)).status, 400, body);
  const form = { headers: { "Content-Type": "application/x-www-form-urlencoded" } };
  assert.equal((await post("pair", pairRequest, form)).status, 400);
});

test("a body of more than 64 KiB is refused, whether its length is announced or not", async () => {
  const body = JSON.stringify({ ...pairRequest, machineId: "m".repeat(64 * 1024) });
  assert.equal((await post("pair", body)).status, 413);
  const chunked = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from(body));
      controller.close();
    },
  });
  // Undici must know that the body may still be sent when the answer arrives.
  const init = { body: chunked, duplex: "half" } as RequestInit;
  const { status, json } = await post("renew", "", init);
  assert.deepEqual([status, json.error.code], [413, "payload_too_large"]);
});

test("other methods, and the link's path without an upgrade, are answered with what is served there", async () => {
  const response = await fetch(`${baseUrl}/pair`);
  assert.deepEqual([response.status, response.headers.get("allow")], [405, "POST"]);
  const link = await fetch(baseUrl.replace("/hosts", "/fabric"));
  assert.deepEqual([link.status, link.headers.get("upgrade")], [426, "websocket"]);
});

test("our own faults have an incident id and no more; a lost database says try again", async () => {
  pair = () => Promise.reject(new Error("column secret does not exist"));
  const fault = await post("pair", pairRequest);
  assert.equal(fault.status, 500);
  assert.ok(fault.json.error.incidentId);
  assert.ok(!JSON.stringify(fault.json).includes("secret"));
  pair = () => Promise.reject(new DatabaseUnavailable(new Error("gone")));
  const lost = await post("pair", pairRequest);
  assert.deepEqual([lost.status, lost.headers.get("retry-after")], [503, "1"]);
});

test("A7: wrong tokens of an address are slowed down, and a right one from there still pairs", async () => {
  pair = (_request, _callId, countWrongToken) => {
    countWrongToken();
    return wrongToken();
  };
  // At once, so that the limit does not recover between two of them on a busy machine.
  const answers = await Promise.all(Array.from({ length: 100 }, () => post("pair", pairRequest)));
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual(new Set(statuses), new Set([404, 429]));
  assert.ok(statuses.filter((status) => status === 404).length >= 10, "the first few are answered");
  const { json, headers } = answers.find(({ status }) => status === 429)!;
  assert.deepEqual([json.error.code, headers.get("retry-after")], ["rate_limited", "1"]);
  pair = () => Promise.resolve(paired);
  assert.equal((await post("pair", pairRequest)).status, 200);
});
