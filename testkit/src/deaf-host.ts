// A host that ignores its commands: paired and connected through the real endpoints and the real edge, it
// speaks the NATS protocol itself and answers only pings. It can run in any process.
import { once } from "node:events";
import {
  commandQueue,
  commandSubject,
  fabricPath,
  makeNkey,
  makeProof,
  proofHeader,
  type Nkey,
  type PairReply,
} from "@hawser/host-protocol";
import { request, type Caller } from "./caller.ts";
import { connectLine } from "./nats-greeting.ts";

export interface DeafHost extends Disposable {
  instanceId: string;
  key: Nkey;
  token: string;
  /** The time at which the server closed the link, by performance.now(). */
  closed: Promise<number>;
  /** Sends protocol text. */
  say(text: string): void;
  /** Every line that the server has sent. */
  lines: string[];
  /** Connects again with the same key and token; "refused" if the edge or the fabric refuses it. */
  dialAgain(): Promise<"linked" | "refused">;
}

interface DeafHostOptions {
  /** Subscribes to its commands without answering them. */
  listens?: boolean;
  /** The name that its connection gives itself. */
  connectionName?: string;
  /** Takes over this instance, as another machine; by default a new one. */
  instanceId?: string;
}

const patienceMs = 10_000;

/** Connects as the host of a new instance, or as another host of an existing one. */
export async function startDeafHost(
  caller: Caller,
  baseUrl: string,
  { listens = false, connectionName, instanceId: known }: DeafHostOptions = {},
): Promise<DeafHost> {
  const key = makeNkey("user");
  const { pairingToken } = known
    ? await caller.regenerate_pairing_token({ instanceId: known })
    : await caller.create_instance({ name: "deaf host" });
  const { instanceId, token } = await pairRaw(baseUrl, pairingToken, key);
  const link = await dialRaw(baseUrl, key, token, connectionName);
  if (listens) link.say(`SUB ${commandSubject(instanceId)} ${commandQueue} 1\r\n`);
  await link.flush();
  return {
    instanceId,
    key,
    token,
    closed: link.closed,
    say: link.say,
    lines: link.lines,
    async dialAgain() {
      try {
        const again = await dialRaw(baseUrl, key, token);
        await again.flush();
        again.close();
        return "linked";
      } catch {
        return "refused";
      }
    },
    [Symbol.dispose]: () => link.close(),
  };
}

/** Redeems a pairing token as a daemon would, for this key. */
async function pairRaw(baseUrl: string, pairingToken: string, key: Nkey): Promise<PairReply> {
  const reply = await tryPair(baseUrl, pairingToken, key);
  if (reply.status !== 200) throw new Error(`Pairing was answered ${reply.status}: ${reply.text}`);
  return reply.body as PairReply;
}

/** Redeems a pairing token and returns the reply, whatever its status. */
export function tryPair(baseUrl: string, pairingToken: string, key: Nkey = makeNkey("user")) {
  const body = {
    pairingToken,
    publicKey: key.publicKey,
    machineId: `deaf ${key.publicKey}`,
    daemonVersion: "0.0.0",
  };
  return request(baseUrl, "/api/hosts/pair", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** Connects with a paired host's key and token. Throws if the edge or the fabric refuses it. */
export async function dialRaw(baseUrl: string, key: Nkey, token: string, name = "deaf host") {
  const url = new URL(fabricPath, baseUrl.replace(/^http/, "ws"));
  const lines: string[] = [];
  const ended = Promise.withResolvers<number>();
  let rest = "";
  let heard = Promise.withResolvers<void>();
  const wake = () => {
    heard.resolve();
    heard = Promise.withResolvers();
  };
  const options = {
    headers: {
      authorization: `Bearer ${token}`,
      [proofHeader]: makeProof(key, url.host, Date.now()),
    },
  };
  const socket = new WebSocket(url, options);
  socket.binaryType = "arraybuffer";
  const say = (text: string) => socket.send(Buffer.from(text));
  socket.addEventListener("message", ({ data }) => {
    const parts = (rest + Buffer.from(data as ArrayBuffer).toString()).split("\r\n");
    rest = parts.pop()!;
    for (const line of parts) {
      if (line === "PING") say("PONG\r\n");
      else lines.push(line);
    }
    wake();
  });
  let over = false;
  const end = () => {
    over = true;
    ended.resolve(performance.now());
    wake();
  };
  socket.addEventListener("close", end);
  socket.addEventListener("error", end);

  async function until(test: () => boolean): Promise<void> {
    const deadline = AbortSignal.timeout(patienceMs);
    while (!test()) {
      if (over) throw new Error(lines.find((line) => line.startsWith("-ERR")) ?? "closed");
      await Promise.race([heard.promise, once(deadline, "abort")]);
      if (deadline.aborted)
        throw new Error(`The server sent nothing more within the deadline: ${lines.join("\n")}`);
    }
  }

  async function flush(): Promise<void> {
    const before = lines.length;
    say("PING\r\n");
    await until(() => lines.indexOf("PONG", before) !== -1);
  }

  await until(() => lines.length > 0);
  say(connectLine(lines[0]!, key, token, name));
  await flush();
  return {
    lines,
    say,
    flush,
    closed: ended.promise,
    close: () => socket.close(),
    /** Bytes that the network has not accepted yet. */
    unsentBytes: () => socket.bufferedAmount,
  };
}
