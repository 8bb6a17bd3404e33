// The fabric on a real nats-server: who is accepted, what a host's credential allows and forbids, and
// which error a node gets if NATS is down, foreign or too old.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeNkey } from "@hawser/host-protocol";
import { freePort } from "@hawser/testkit/free-port.ts";
import { startNats, type Nats } from "@hawser/testkit/nats.ts";
import { connectRawHost } from "@hawser/testkit/raw-host.ts";
import { until } from "@hawser/testkit/until.ts";
import { ConfigError } from "../config.ts";
import { createLog } from "../log.ts";
import {
  FabricDown,
  FabricTimeout,
  NoResponders,
  connectFabric,
  type Fabric,
} from "./connection.ts";
import { makeFabricKeys } from "./fabric-keys.ts";
import { createHostTokens } from "./host-token.ts";
import { createKick } from "./kick-connection.ts";

const log = createLog("silent");
const { keys } = makeFabricKeys();
const tokens = createHostTokens(keys, 3600);
let nats: Nats;
let fabric: Fabric;

before(async () => {
  nats = await startNats({ keys });
  fabric = await connectFabric({ keys, urls: nats.urls, name: "node.test", log });
});

after(async () => {
  await fabric.close();
  await nats[Symbol.asyncDispose]();
});

function dialAs(instanceId: string, key = makeNkey("user"), token?: string) {
  return connectRawHost({
    address: nats.websockets[0]!,
    key,
    token: token ?? tokens.mint(instanceId, key.publicKey).token,
  });
}

const text = (data: Uint8Array) => Buffer.from(data).toString();

test("a host hears its commands and answers each once, and its own questions are answered", async () => {
  using host = await dialAs("ins_a");
  assert.deepEqual(await host.say("SUB host.ins_a.cmd daemon 1\r\nSUB _INBOX.ins_a.> 2\r\n"), []);
  const reply = fabric.request("host.ins_a.cmd", "do it", { timeoutMs: 2_000 });
  await until("the command arrives", () => host.lines.includes("do it"));
  const inbox = host.lines
    .findLast((line) => line.startsWith("MSG host.ins_a.cmd"))!
    .split(" ")[3]!;
  assert.deepEqual(await host.say(`PUB ${inbox} 4\r\ndone\r\n`), []);
  assert.equal(text(await reply), "done");
  const [second] = await host.say(`PUB ${inbox} 4\r\nmore\r\n`);
  assert.match(second!, /Permissions Violation for Publish/);

  const stop = fabric.subscribe("host.*.up.*", { queue: "nodes" }, ({ subject, data, respond }) =>
    respond(`${subject} said ${text(data)}`),
  );
  await fabric.flush();
  await host.say(`PUB host.ins_a.up.hello _INBOX.ins_a.1 2\r\nhi\r\n`);
  await until("the answer arrives", () => host.lines.includes("host.ins_a.up.hello said hi"));
  stop();
});

const forbiddenToHear = [
  "host.ins_b.cmd",
  "host.*.cmd",
  "host.>",
  "host.ins_a.>",
  "host.ins_a.up.>",
  "host.ins_a.cmd.more",
  "host.ins_ab.cmd",
  "host.ins_b.up.hello",
  "_INBOX.>",
  "_INBOX.*",
  "_INBOX.ins_b.>",
  "_INBOX.ins_b.1",
  "$SYS.>",
  "$SYS.ACCOUNT.*.CONNECT",
  "$JS.API.>",
  "org.>",
  "session.>",
  "edge.>",
  "edge.*.alive",
  "edge.1111.alive",
  "presence.compare",
  "viewers.compare",
  "edge.admitted",
  ">",
  "*",
];

const forbiddenToSay = [
  "host.ins_b.cmd",
  "host.ins_a.cmd",
  "host.ins_b.up.hello",
  "host.ins_b.up.report",
  "host.ins_b.live.ses_1",
  "host.ins_ab.up.hello",
  "host.ins_a.other",
  "_INBOX.ins_a.1",
  "_INBOX.ins_b.1",
  "_INBOX.AAAAAAAAAAAAAAAAAAAAAA.1",
  "$SYS.REQ.SERVER.PING",
  "$SYS.REQ.CLAIMS.UPDATE",
  "$SYS.REQ.USER.INFO",
  "$JS.API.INFO",
  "$JS.API.STREAM.CREATE.x",
  "org.o.changed",
  "session.s.applied",
  "edge.1111.alive",
  "presence.compare",
  "viewers.compare",
  "edge.admitted",
  "anything",
];

test("T22: every subject that is not a host's own is refused it, and nothing gets through", async () => {
  using host = await dialAs("ins_a");
  using other = await dialAs("ins_b");
  await other.say("SUB host.ins_b.cmd daemon 1\r\nSUB _INBOX.ins_b.> 2\r\n");
  const heard: string[] = [];
  const stop = fabric.subscribe(">", {}, ({ subject }) => void heard.push(subject));
  await fabric.flush();

  for (const [at, subject] of forbiddenToHear.entries()) {
    for (const queue of ["", " daemon"]) {
      const [refusal] = await host.say(`SUB ${subject}${queue} ${100 + at}\r\n`);
      assert.match(refusal ?? "", /^-ERR 'Permissions Violation for Subscription/, subject);
    }
  }
  for (const subject of forbiddenToSay) {
    for (const reply of ["", " _INBOX.ins_a.9"]) {
      const [refusal] = await host.say(`PUB ${subject}${reply} 5\r\nspoof\r\n`);
      assert.match(refusal ?? "", /^-ERR 'Permissions Violation for Publish/, subject);
    }
  }
  const before = host.lines.length;
  const concrete = forbiddenToHear.filter((subject) => !/[*>]/.test(subject));
  for (const subject of [...concrete, "host.ins_b.up.x", "_INBOX.ins_b.2", "org.o.changed"])
    fabric.publish(subject, "not for you");
  await fabric.flush();
  // The server delivers in order, so this message arrives after all of the above.
  await host.say("SUB host.ins_a.cmd daemon 1\r\n");
  fabric.publish("host.ins_a.cmd", "for you");
  await until("its own message arrives", () => host.lines.includes("for you"));
  assert.deepEqual(
    host.lines.slice(before).filter((line) => line.startsWith("MSG")),
    ["MSG host.ins_a.cmd 1 7"],
  );
  assert.ok(!other.lines.includes("spoof"));
  // The node receives its own messages, and none of those that the host tried to send.
  await until("the node hears", () => heard.includes("host.ins_a.cmd"));
  assert.deepEqual(
    heard.filter((subject) => !concrete.includes(subject)),
    ["host.ins_b.up.x", "_INBOX.ins_b.2", "org.o.changed", "host.ins_a.cmd"],
  );
  assert.equal(heard.length, concrete.length + 4);
  stop();
});

test("a host cannot hoard subscriptions", async () => {
  using host = await dialAs("ins_a");
  let said: string[] = [];
  for (let i = 1; i <= 21 && said.length === 0; i++)
    said = await host.say(`SUB _INBOX.ins_a.${i} ${i}\r\n`);
  assert.match(said[0] ?? "", /maximum subscriptions exceeded/i);
});

test("one connection can be ended; the others of the same host stay, and it may come back", async () => {
  const key = makeNkey("user");
  using kept = await dialAs("ins_a", key);
  using ended = await dialAs("ins_a", key);
  const { client_id: clientId, server_id: serverId } = JSON.parse(ended.lines[0]!.slice(5)) as {
    client_id: number;
    server_id: string;
  };
  await createKick(fabric.system, log)({ serverId, clientId, user: key.publicKey });
  await ended.untilClosed();
  assert.deepEqual(await kept.say(""), []);
  using back = await dialAs("ins_a", key);
  assert.deepEqual(await back.say(""), []);
  // A connection or server that is gone is no error.
  await createKick(fabric.system, log)({ serverId, clientId, user: key.publicKey });
  await createKick(fabric.system, log)({ serverId: "NONE", clientId, user: key.publicKey });
});

test("refused at the door: expired, foreign, another's key, and anything but a WebSocket", async () => {
  const key = makeNkey("user");
  const good = tokens.mint("ins_a", key.publicKey).token;
  const foreign = makeFabricKeys().keys;
  const attempts = {
    expired: tokens.mint("ins_a", key.publicKey, Date.now() - 3601_000).token,
    "another service's": createHostTokens(foreign, 3600).mint("ins_a", key.publicKey).token,
    "signed by a stranger for our account": createHostTokens(
      { ...keys, hostSigningSeed: foreign.hostSigningSeed },
      3600,
    ).mint("ins_a", key.publicKey).token,
    "no token": "",
  };
  for (const [what, token] of Object.entries(attempts))
    await assert.rejects(dialAs("ins_a", key, token), /Authorization Violation/, what);
  await assert.rejects(dialAs("ins_a", makeNkey("user"), good), /Authorization Violation/);
  const overTcp = { address: nats.urls[0]!, tcp: true, key, token: good };
  await assert.rejects(connectRawHost(overTcp), /Authorization Violation/);
  using host = await dialAs("ins_a", key, good);
  assert.ok(host);
});

test("the client a daemon uses gets in with the same token", async () => {
  const key = makeNkey("user");
  const { token } = tokens.mint("ins_a", key.publicKey);
  // In a separate process, because the client cannot use TCP and WebSocket in one.
  const script = `
    import { wsconnect } from "@nats-io/nats-core";
    import { nkeyFromSeed } from "@hawser/host-protocol";
    const key = nkeyFromSeed(process.env.SEED);
    const connection = await wsconnect({
      servers: process.env.SERVER,
      inboxPrefix: "_INBOX.ins_a",
      authenticator: (nonce) => ({ jwt: process.env.TOKEN, nkey: key.publicKey, sig: key.sign(nonce).toString("base64url") }),
    });
    const subscription = connection.subscribe("host.ins_a.cmd", { queue: "daemon", max: 1 });
    connection.publish("host.ins_a.up.bye");
    for await (const message of subscription) message.respond("from a real client");
    await connection.close();`;
  const said = Promise.withResolvers<void>();
  const stop = fabric.subscribe("host.ins_a.up.bye", {}, () => said.resolve());
  await fabric.flush();
  const child = promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
    cwd: fileURLToPath(new URL("../../../daemon", import.meta.url)),
    env: { SEED: key.seed, TOKEN: token, SERVER: `ws://${nats.websockets[0]}` },
    timeout: 20_000,
  });
  await Promise.race([said.promise, child]);
  const reply = await fabric.request("host.ins_a.cmd", "", { timeoutMs: 2_000 });
  assert.equal(text(reply), "from a real client");
  await child;
  stop();
});

test("a question without a subscriber and one without an answer are distinguished at once", async () => {
  const started = performance.now();
  await assert.rejects(fabric.request("host.ins_none.cmd", "", { timeoutMs: 5_000 }), NoResponders);
  assert.ok(performance.now() - started < 1_000);
  const stop = fabric.subscribe("silence", {}, () => {});
  await assert.rejects(fabric.request("silence", "", { timeoutMs: 50 }), FabricTimeout);
  stop();
});

test("a handler that fails does not end its subscription", async () => {
  let calls = 0;
  const stop = fabric.subscribe("failing", {}, ({ respond }) => {
    calls += 1;
    if (calls === 1) throw new Error("at once");
    return calls === 2 ? Promise.reject(new Error("later")) : respond("third");
  });
  const ask = () => fabric.request("failing", "", { timeoutMs: 100 });
  await assert.rejects(ask(), FabricTimeout);
  await assert.rejects(ask(), FabricTimeout);
  assert.equal(text(await ask()), "third");
  stop();
});

test("a node outlives its NATS: it notices the loss, refuses meanwhile, and receives again afterwards", async (t) => {
  await using own = await startNats({ keys });
  const node = await connectFabric({ keys, urls: own.urls, name: "node.lasting", log });
  t.after(() => node.close());
  const told: string[] = [];
  node.onDisconnect(() => told.push("lost"));
  node.onReconnect(() => told.push("back"));
  node.subscribe("echo", { queue: "nodes" }, ({ data, respond }) => respond(data));
  await own.servers[0]!.kill();
  await until("the loss is noticed", () => !node.isConnected());
  // Each connection notices by itself; a request sent just before that gets no answer.
  const isDown = (asked: Promise<unknown>) =>
    asked.then(
      () => false,
      (error: unknown) => error instanceof FabricDown,
    );
  const brief = { timeoutMs: 50 };
  await until("hosts are out of reach", () => isDown(node.request("echo", "a", brief)));
  await until("servers are", () =>
    isDown(node.system.requestMany("$SYS.REQ.SERVER.PING", "", brief)),
  );
  node.publish("echo", "dropped, and no error");
  await own.servers[0]!.restart();
  await until("the node is back", () => node.isConnected());
  assert.equal(text(await node.request("echo", "b", { timeoutMs: 2_000 })), "b");
  assert.deepEqual(told, ["lost", "back"]);
  await node.close();
  await assert.rejects(node.request("echo", "c", { timeoutMs: 1_000 }), FabricDown);
  assert.equal(node.isConnected(), false);
});

test("a node says in a sentence why it cannot have its fabric", async () => {
  const dial = (urls: string[], dialled = keys) =>
    connectFabric({ keys: dialled, urls, name: "node.refused", log });
  const refused = (sentence: RegExp) => (error: unknown) =>
    error instanceof ConfigError && sentence.test(error.message);
  await assert.rejects(dial([`127.0.0.1:${await freePort()}`]), refused(/cannot be reached/));
  await assert.rejects(
    dial(nats.urls, makeFabricKeys().keys),
    refused(/does not know this service/),
  );
  for (const version of ["2.9.10", "2.12.6", "1.99.99"]) {
    const address = await oldServer(version);
    await assert.rejects(dial([address]), refused(/is nats-server .* needs 2\.12\.7 or later/));
  }
});

/** Sends what an old server sends, up to the point where a client knows the version. */
async function oldServer(version: string): Promise<string> {
  const info = { server_id: "N", version, proto: 1, headers: true, max_payload: 1024, nonce: "n" };
  const server = createServer((socket) => {
    socket.write(`INFO ${JSON.stringify(info)}\r\n`);
    socket.on("data", (chunk: Buffer) => {
      if (chunk.includes("PING")) socket.write("PONG\r\n");
    });
    socket.on("error", () => {});
    socket.on("close", () => server.close());
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
