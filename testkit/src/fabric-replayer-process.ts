// Records every message between nodes and hosts, and sends it again: later, more than once, in another
// order, to the wrong host. It has its own process because a process may use only one of the two NATS
// clients. fabric-replayer.ts controls it over IPC.
import { readFileSync } from "node:fs";
import { connectFabric, type Fabric } from "@hawser/control-plane/fabric/connection.ts";
import { readFabricKeys } from "@hawser/control-plane/fabric/fabric-keys.ts";
import { createLog } from "@hawser/control-plane/log.ts";
import { openDatabase } from "@hawser/control-plane/postgres/database.ts";
import type { Replayed, ReplayOrder } from "./fabric-replayer.ts";
import { serveOrders } from "./orders.ts";
import { masterKeysOf } from "./master-keys.ts";

interface Heard {
  subject: string;
  data: Uint8Array;
  respond: (data: Uint8Array) => void;
}

const [databaseUrl, masterKeyFile, urls] = process.argv.slice(2) as [string, string, string];
const ownName = "replayer";
const answerMs = 5_000;
const fabric = await dial();
const heard: Heard[] = [];
const said = new Set<string>();
const replayed: Replayed[] = [];

fabric.subscribe("host.*.cmd", {}, hear);
fabric.subscribe("host.*.up.*", {}, hear);
await fabric.flush();

function hear({ subject, data, respond }: Heard): void {
  const text = `${subject} ${Buffer.from(data).toString("base64")}`;
  // Messages of this process, and those that a node repeats, are not recorded.
  if (said.has(text)) return;
  said.add(text);
  heard.push({ subject, data, respond });
}

/** Sends one message again. If `twice`, the original sender receives the answer too. */
async function say({ subject, data, respond }: Heard, twice: boolean): Promise<void> {
  said.add(`${subject} ${Buffer.from(data).toString("base64")}`);
  const isCommand = subject.endsWith(".cmd");
  try {
    const reply = await fabric.request(subject, data, { timeoutMs: answerMs });
    if (twice) respond(reply);
    replayed.push({
      subject,
      ...(isCommand && { command: Buffer.from(data).toString() }),
      reply: Buffer.from(reply).toString(),
    });
  } catch {
    // An offline host does not answer. The test checks what a host does, not what it answers.
  }
}

const orders = {
  /** `places` are fractions of the record, from 0 to 1: the messages to send again, in this order. */
  async replay({ places, twice, astray }: ReplayOrder["replay"]) {
    const chosen = places.map((place) => heard[Math.floor(place * heard.length)]!).filter(Boolean);
    const subjects = [...new Set(chosen.map(({ subject }) => subject))];
    const commands = subjects.filter((subject) => subject.endsWith(".cmd"));
    await Promise.all(
      chosen.map((message) => {
        const isCommand = message.subject.endsWith(".cmd");
        const others = commands.filter((subject) => subject !== message.subject);
        const wrong = astray && isCommand && others[0];
        return wrong ? say({ ...message, subject: wrong }, false) : say(message, twice);
      }),
    );
    return chosen.length;
  },
  async replayAll() {
    const all = heard.toReversed();
    for (let i = 0; i < all.length; i += 50) {
      await Promise.all(all.slice(i, i + 50).map((message) => say(message, false)));
    }
    return all.length;
  },
  replayed: () => Promise.resolve(replayed),
};

async function dial(): Promise<Fabric> {
  const settings = { connections: 2, patienceMs: 10_000, onIdleError: () => {} };
  await using database = openDatabase({ url: databaseUrl, ...settings });
  const masterKey = Buffer.from(readFileSync(masterKeyFile, "utf8"), "hex");
  const keys = await readFabricKeys(database.system, masterKeysOf(masterKey));
  if (!keys) throw new Error("There is no fabric.");
  return await connectFabric({
    keys,
    urls: urls.split(","),
    name: ownName,
    log: createLog("silent"),
  });
}

serveOrders(orders);
