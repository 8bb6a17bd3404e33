// Previews through the public side and a real tunnel, at one node and at two: what the host's end receives, and what the
// browser gets back.
import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { after, before, test } from "node:test";
import { formatId } from "@hawser/contract";
import {
  answered,
  startExposureBed,
  type ExposureBed,
  type MadeExposure,
} from "@hawser/testkit/exposure-bed.ts";
import { startExposedServer, type ExposedServer } from "@hawser/testkit/exposed-server.ts";
import { until } from "@hawser/testkit/until.ts";
import { WebSocket } from "ws";

let server: ExposedServer;
let bed: ExposureBed;

before(async () => {
  server = await startExposedServer();
  bed = await startExposureBed(server.handle, { nodes: 2 });
});

after(async () => {
  await bed[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

function makePreview(): MadeExposure {
  const sessionId = formatId("session", randomUUID());
  return bed.make(undefined, { kind: "port", sessionId, port: 5173 });
}

function openWebSocket({ host, authorization }: MadeExposure, node: number): WebSocket {
  return new WebSocket(`ws://127.0.0.1:${bed.nodes[node]!.publicPort}/?token=t`, ["vite-hmr"], {
    headers: { host, authorization, origin: `https://${host}`, cookie: "a=b" },
  });
}

for (const node of [0, 1]) {
  test(`N18: the login does not reach the server, other headers and any path do (node ${node})`, async () => {
    const preview = makePreview();
    const passed = { accept: "text/html", cookie: "a=b", "x-csrf-token": "t" };
    const headers = { ...passed, "x-forwarded-for": "1.2.3.4", "x-hawser-exposure": "exp_1" };
    for (const path of ["//a/%zz?auth_token=b", "/@id/x?import", "/a\\b"]) {
      const { status } = await answered(bed.request(preview, { path, headers, node }));
      assert.equal(status, 200);
      assert.deepEqual(Object.fromEntries(Object.entries(server.requests.at(-1)!)), {
        ":method": "GET",
        ":scheme": "https",
        ":authority": preview.host,
        ":path": path,
        ...passed,
      });
    }
  });

  test(`three hundred headers pass in both directions (node ${node})`, async () => {
    const own = Array.from({ length: 300 }, (_, i) => [`x-${i}`, "1"]);
    const headers = Object.fromEntries(own) as Record<string, string>;
    const answer = await answered(bed.request(makePreview(), { path: "/headers", headers, node }));
    assert.equal(answer.status, 200);
    for (const name of Object.keys(headers)) assert.equal(answer.headers[name], "1");
  });

  test(`a body passes in both directions (node ${node})`, async () => {
    const sent = randomBytes(2_000_000);
    const request = bed.request(makePreview(), { path: "/echo", method: "PUT", node });
    const { status, body } = await answered(request, sent);
    assert.equal(status, 200);
    assert.ok(body.equals(sent));
  });

  test(`a WebSocket gets the protocol that the server chose, and no extension (node ${node})`, async () => {
    const socket = openWebSocket(makePreview(), node);
    await once(socket, "open");
    assert.equal(socket.protocol, "vite-hmr");
    assert.equal(socket.extensions, "");
    const sent = server.requests.at(-1)!;
    assert.deepEqual([sent[":path"], sent["cookie"]], ["/?token=t", "a=b"]);
    assert.equal(sent["authorization"], undefined);
    for (const message of [Buffer.from("hello"), randomBytes(300_000)]) {
      socket.send(message);
      const [echo] = (await once(socket, "message")) as [Buffer];
      assert.ok(echo.equals(message));
    }
    socket.close();
    await once(socket, "close");
  });
}

test("N18: a redirect passes, a cookie only for the own host name, and no login of the server", async () => {
  const { status, headers } = await answered(bed.request(makePreview(), { path: "/cookie" }));
  assert.equal(status, 302);
  assert.equal(headers["location"], "https://other.example/");
  assert.deepEqual(headers["set-cookie"], ["a=b; Path=/"]);
  assert.equal(headers["www-authenticate"], undefined);
});

test("T29: other sites and service workers are refused as at every exposure", async () => {
  const before = server.requests.length;
  for (const headers of [
    { origin: "https://other.example" },
    { "sec-fetch-site": "same-site" },
    { "service-worker": "script" },
  ]) {
    const { status } = await answered(bed.request(makePreview(), { headers }));
    assert.equal(status, 403, JSON.stringify(headers));
  }
  assert.equal(server.requests.length, before);
});

test("N19: a wrong password gets 401 whatever the path is, also at an exposure of opencode", async () => {
  for (const exposure of [makePreview(), bed.make()]) {
    const headers = { authorization: "Basic eDp4" };
    const request = bed.request(exposure, { path: "/a\\b", headers });
    assert.equal((await answered(request)).status, 401);
  }
});

test("a node that takes a preview for an exposure of opencode does not accept its password", async () => {
  const preview = makePreview();
  const { scope, exposureId } = preview;
  assert.ok(scope.kind === "port");
  // As nodes of a version without previews read its row.
  const misread = { kind: "session" as const, sessionId: scope.sessionId };
  const { status } = await answered(bed.request(preview));
  bed.exposures.set(exposureId, { ...bed.exposures.get(exposureId)!, scope: misread });
  const refused = await until401(preview);
  assert.deepEqual([status, refused], [200, 401]);
  // Its stored hash is not that of the password alone, which is what such nodes compare.
  const plain = createHash("sha256").update(preview.password).digest();
  assert.notDeepEqual(preview.passwordHash, plain);
});

/** A password that was right is looked up again after a moment. */
async function until401(exposure: MadeExposure): Promise<number> {
  let status = 0;
  await until("it is looked up again", async () => {
    ({ status } = await answered(bed.request(exposure)));
    return status !== 200;
  });
  return status;
}

test("T25: an exposure of opencode still refuses a path that could be decoded differently", async () => {
  const before = server.requests.length;
  for (const path of ["/a\\b", "//a", "/%zz"]) {
    assert.equal((await answered(bed.request(bed.make(), { path }))).status, 400, path);
  }
  assert.equal(server.requests.length, before);
});

test("a request with hundreds of headers harms no other request of the preview", async () => {
  const preview = makePreview();
  const open = bed.request(preview, { path: "/events" });
  open.on("error", () => {});
  open.end();
  const [stream] = (await once(open, "response")) as [IncomingMessage];
  stream.on("error", () => {});
  await once(stream, "data");
  const many = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`x-${i}`, "1"]));
  const { status } = await answered(bed.request(preview, { headers: many }));
  assert.ok(status === 200 || status >= 400, String(status));
  assert.equal(stream.destroyed, false);
  assert.equal((await answered(bed.request(preview))).status, 200);
  open.destroy();
});
