// A separate edge, as an operator runs it: from its edge file, without a database or a master key.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import {
  fabricPath,
  makeNkey,
  makeProof,
  nkeyFromSeed,
  proofHeader,
  type PairReply,
} from "@hawser/host-protocol";
import { freePort } from "@hawser/testkit/free-port.ts";
import { mainFile } from "@hawser/testkit/main-file.ts";
import { connectRawHost } from "@hawser/testkit/raw-host.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { until } from "@hawser/testkit/until.ts";
import { startWorld } from "@hawser/testkit/world.ts";
import type { EdgeIdentity } from "./fabric/edge-identity.ts";

const main = mainFile("control-plane");

test("A14: a separate edge admits hosts with public keys and a NATS user that can only announce them", async (t) => {
  await using world = await startWorld({ nats: 1 });
  const folder = mkdtempSync(join(tmpdir(), "hawser-edge-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const edgeFile = join(folder, "edge.json");
  const settings = {
    HAWSER_DATABASE_URL: world.database.url,
    HAWSER_MASTER_KEY_FILE: world.masterKeyFile,
    HAWSER_NATS_URLS: world.nats!.urls.join(","),
  };
  await promisify(execFile)(process.execPath, [main, "edge-file", "--out", edgeFile], {
    env: settings,
    timeout: 30_000,
  });
  assert.equal(statSync(edgeFile).mode & 0o777, 0o600);
  const text = readFileSync(edgeFile, "utf8");
  assert.doesNotMatch(text, /\bS[OA][A-Z2-7]{56}\b/, "no seed of an operator or an account");
  const { keys, urls, websockets } = world.nats!;
  assert.ok(!text.includes(keys.commandKey.privateKey));

  const port = await freePort();
  const edge = spawn(process.execPath, [main, "edge"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      HAWSER_EDGE_FILE: edgeFile,
      HAWSER_LISTEN: `127.0.0.1:${port}`,
      HAWSER_NATS_URLS: urls.join(","),
      HAWSER_NATS_WEBSOCKETS: websockets.join(","),
      HAWSER_DRAIN_SECONDS: "0",
    },
  });
  t.after(() => stopProcess(edge));
  const [line] = (await once(edge.stdout, "data", { signal: AbortSignal.timeout(20_000) })) as [
    Buffer,
  ];
  assert.match(line.toString(), /edge ready/);

  const host = makeNkey("user");
  const { pairingToken } = await world.caller.create_instance({ name: "one" });
  const paired = await fetch(`${world.baseUrl}/api/hosts/pair`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      pairingToken,
      publicKey: host.publicKey,
      machineId: "m",
      daemonVersion: "0.1.0",
    }),
  });
  const { token } = (await paired.json()) as PairReply;
  assert.equal(await dial(port, token, host), 101);
  assert.equal(await dial(port, token, makeNkey("user")), 403);
  assert.equal(await dial(port, `${token}x`, host), 401);

  const { user } = JSON.parse(text) as EdgeIdentity;
  using wire = await connectRawHost({
    address: urls[0]!,
    tcp: true,
    token: user.token,
    key: nkeyFromSeed(user.seed),
  });
  // A rotation has begun: a new edge file takes effect without a restart, and links stay possible.
  await promisify(execFile)(
    process.execPath,
    [main, "rotate", "nats-keys", "begin", "--directory", folder],
    { env: settings, timeout: 30_000 },
  );
  await promisify(execFile)(process.execPath, [main, "edge-file", "--out", `${edgeFile}.next`], {
    env: settings,
    timeout: 30_000,
  });
  renameSync(`${edgeFile}.next`, edgeFile);
  const renewed = JSON.parse(readFileSync(edgeFile, "utf8")) as EdgeIdentity;
  assert.equal(renewed.hostPublicKeys.length, 2);
  await until(
    "NATS accepts the next keys",
    () =>
      connectRawHost({
        address: urls[0]!,
        tcp: true,
        token: renewed.user.token,
        key: nkeyFromSeed(renewed.user.seed),
      }).then(
        (raw) => (raw[Symbol.dispose](), true),
        () => false,
      ),
    20_000,
  );
  let log = "";
  edge.stdout.on("data", (chunk: Buffer) => (log += chunk.toString()));
  edge.kill("SIGHUP");
  await until("the edge file is read again", () => log.includes("edge file read again"));
  assert.equal(await dial(port, token, host), 101);

  assert.deepEqual(await wire.say("PUB edge.admitted 2\r\n{}\r\n"), []);
  assert.deepEqual(await wire.say("SUB edge.1111.alive 9\r\n"), []);
  for (const refused of [
    "SUB edge.> 3\r\n",
    "SUB edge.admitted 4\r\n",
    "SUB presence.compare 5\r\n",
    "PUB presence.compare 0\r\n\r\n",
    "PUB edge.1111.alive 2\r\n{}\r\n",
    "PUB _INBOX.a.1 2\r\n{}\r\n",
    "PUB host.ins_a.cmd 2\r\n{}\r\n",
    "PUB host.ins_a.up.hello 2\r\n{}\r\n",
    "SUB host.*.cmd 1\r\n",
    "SUB _INBOX.> 2\r\n",
  ]) {
    const [answer] = await wire.say(refused);
    assert.match(answer ?? "", /Permissions Violation/, refused);
  }
});

/** The status of the answer to a host's upgrade. */
function dial(port: number, token: string, key: ReturnType<typeof makeNkey>): Promise<number> {
  const host = `127.0.0.1:${port}`;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const upgrade = request({
    host: "127.0.0.1",
    port,
    path: fabricPath,
    headers: {
      Host: host,
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
      Authorization: `Bearer ${token}`,
      [proofHeader]: makeProof(key, host, Date.now()),
    },
    timeout: 5_000,
  });
  upgrade.on("upgrade", (response, socket) => {
    socket.destroy();
    resolve(response.statusCode!);
  });
  upgrade.on("response", (response) => {
    response.resume();
    resolve(response.statusCode!);
  });
  upgrade.on("error", reject).end();
  return promise;
}
