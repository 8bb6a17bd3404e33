// Hosts that were paired properly and then misuse their link. They write the fabric's protocol themselves.
import assert from "node:assert/strict";
import { startDeafHost, type DeafHost } from "@hawser/testkit/deaf-host.ts";
import { openIntruder } from "@hawser/testkit/intruder.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ nats: 1 });

const inboxPrefix = (instanceId: string) => `_INBOX.${instanceId}`;
const upSubject = (instanceId: string, call: string) => `host.${instanceId}.up.${call}`;
const publish = (subject: string, replyTo: string, body = "{}") =>
  `PUB ${subject} ${replyTo} ${Buffer.byteLength(body)}\r\n${body}\r\n`;

/** Subscribes the host to its own inbox, once. */
function openInbox(host: DeafHost): void {
  host.say(`SUB ${inboxPrefix(host.instanceId)}.> 9\r\n`);
}

/** The answers in the host's inbox with this last word. */
const answers = (host: DeafHost, word: string) =>
  host.lines.flatMap((line, index) =>
    line.startsWith(`MSG ${inboxPrefix(host.instanceId)}.${word} `)
      ? [JSON.parse(host.lines[index + 1] ?? "null") as Record<string, unknown>]
      : [],
  );

scenario(
  "A17: a host gets answers in its own inbox, and none on a subject of another organization",
  [],
  async ({ world, caller, stranger }) => {
    using host = await startDeafHost(stranger, world.baseUrl);
    using victim = await startDeafHost(caller, world.baseUrl, { listens: true });
    await using listener = await openIntruder(world);
    const received: string[] = [];
    listener.fabric.subscribe("org.>", {}, ({ subject }) => void received.push(subject));
    await listener.fabric.flush();
    openInbox(host);
    const renew = upSubject(host.instanceId, "renew");
    const foreign = [
      `host.${victim.instanceId}.cmd`,
      "org.someone.changed",
      `${inboxPrefix(victim.instanceId)}.a`,
      `${inboxPrefix(host.instanceId)}x.a`,
    ];
    for (const subject of foreign) host.say(publish(renew, subject));
    host.say(publish(renew, `${inboxPrefix(host.instanceId)}.own`));
    const own = () => Promise.resolve(answers(host, "own"));
    const [answer] = await until("its answer", 5_000, own, ({ length }) => length > 0);
    assert.equal(typeof answer!["token"], "string");
    await listener.fabric.flush();
    const delivered = victim.lines.filter((line) => line.startsWith("MSG "));
    assert.deepEqual([delivered, received], [[], []]);
    const logged = world.nodes[0]!.log.filter(
      ({ msg, instanceId }) =>
        instanceId === host.instanceId && msg === "a host wants its answer outside its own inbox",
    );
    assert.equal(logged.length, 1);
  },
);

scenario(
  "A18: a host that names its connection like an edge is shown offline when it is gone",
  [],
  async ({ world, stranger }) => {
    const host = await startDeafHost(stranger, world.baseUrl, { connectionName: "edge.11111111" });
    const { instanceId } = host;
    const status = async () => (await stranger.get_instance({ instanceId })).status;
    await until("it is online", 5_000, status, (now) => now === "online");
    host[Symbol.dispose]();
    await until("it is offline", 5_000, status, (now) => now === "offline");
  },
);
