// The private door between nodes: nothing passes without a token for exactly this request, once (N20).
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { PassThrough } from "node:stream";
import { after, before, test } from "node:test";
import { openNodeDoor, type NodeDoor } from "./node-door.ts";
import { exposureHeader, nodeTokenHeader } from "./peers.ts";
import { createTunnelTokens } from "./tokens.ts";
import type { Way } from "./tunnel.ts";

/** The tunnels that the node holds. */
const ways = new Map<string, Way>();
const tokens = createTunnelTokens(randomBytes(32), Date.now);
let door: NodeDoor;
let session: ClientHttp2Session;

before(async () => {
  door = await openNodeDoor({
    listen: { host: "127.0.0.1", port: 0 },
    tokens,
    held: (exposureId) => ways.get(exposureId),
  });
  session = connect(`http://${door.address}`);
  await once(session, "remoteSettings");
});

after(async () => {
  session.destroy();
  await door.close();
});

/** The status of the answer; "cut" if the door knows no tunnel, which it only says to a node. */
async function ask(headers: Record<string, string>): Promise<number | "cut"> {
  const stream = session.request(headers, { endStream: true });
  const answer = new Promise<number | "cut">((resolve) => {
    stream.once("response", ({ ":status": status }) => resolve(status ?? 0));
    stream.once("error", () => resolve("cut"));
  });
  stream.resume();
  return answer;
}

test("N20: a request needs a token for its exposure, method and path, and a token passes once", async () => {
  const request = { exposureId: "exp_1", method: "GET", path: "/a" };
  const headers = { ":method": "GET", ":path": "/a", [exposureHeader]: "exp_1" };
  const token = tokens.makeNodeToken(request);
  const refused: Record<string, Record<string, string>> = {
    "no token": headers,
    "no exposure": { ":path": "/a", [nodeTokenHeader]: token },
    "another method": { ...headers, ":method": "POST", [nodeTokenHeader]: token },
    "another path": { ...headers, ":path": "/b", [nodeTokenHeader]: token },
    "another exposure": { ...headers, [exposureHeader]: "exp_2", [nodeTokenHeader]: token },
    "a ticket": {
      ...headers,
      [nodeTokenHeader]: tokens.makeTicket({ exposureId: "exp_1", instanceId: "ins_1" }),
    },
  };
  for (const [what, wrong] of Object.entries(refused)) assert.equal(await ask(wrong), 403, what);
  assert.equal(await ask({ ...headers, [nodeTokenHeader]: token }), "cut");
  assert.equal(await ask({ ...headers, [nodeTokenHeader]: token }), 403, "replayed");
});

test("an answer of a host that HTTP/2 cannot pass on ends that request alone", async () => {
  const answers: Record<string, string | number>[] = [
    { ":status": 600 },
    { ":status": 200, "http2-settings": "x" },
    { ":status": 200, connection: "close" },
  ];
  for (const answer of answers) {
    const out = new PassThrough();
    out.on("error", () => {});
    ways.set("exp_9", {
      open() {
        setImmediate(() => out.emit("response", answer));
        return out as unknown as ClientHttp2Stream;
      },
    });
    const token = tokens.makeNodeToken({ exposureId: "exp_9", method: "GET", path: "/" });
    const headers = { ":path": "/", [exposureHeader]: "exp_9", [nodeTokenHeader]: token };
    assert.equal(await ask(headers), "cut", JSON.stringify(answer));
  }
  assert.equal(await ask({ ":path": "/" }), 403, "the door still answers");
});
