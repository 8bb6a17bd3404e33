// Hosts that were paired properly and then misuse their link. They write the fabric's protocol themselves.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { startDeafHost, type DeafHost } from "@hawser/testkit/deaf-host.ts";
import { openIntruder } from "@hawser/testkit/intruder.ts";
import { startJournalHost } from "@hawser/testkit/journal-host.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ nats: 1 });

let directory: string;
before(() => void (directory = mkdtempSync(join(tmpdir(), "hawser-hosts-"))));
after(() => rmSync(directory, { recursive: true, force: true }));

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
    listener.fabric.subscribe("org.someone.>", {}, ({ subject }) => void received.push(subject));
    await listener.fabric.flush();
    openInbox(host);
    const beat = upSubject(host.instanceId, "heartbeat");
    const body = '{"bootId":"b"}';
    const foreign = [
      `host.${victim.instanceId}.cmd`,
      "org.someone.changed",
      `${inboxPrefix(victim.instanceId)}.a`,
      `${inboxPrefix(host.instanceId)}x.a`,
    ];
    for (const subject of foreign) host.say(publish(beat, subject, body));
    host.say(publish(beat, `${inboxPrefix(host.instanceId)}.own`, body));
    const own = () => Promise.resolve(answers(host, "own"));
    const [answer] = await until("its answer", 5_000, own, ({ length }) => length > 0);
    assert.equal(typeof answer!["nextSeconds"], "number");
    await listener.fabric.flush();
    // The control plane may send the victim commands of its own meanwhile.
    const delivered = victim.lines.filter((line) => line.includes("nextSeconds"));
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

scenario(
  "A6: a host that sends too much is refused with a time to wait, and is served again after it",
  [],
  async ({ world, stranger }) => {
    using host = await startDeafHost(stranger, world.baseUrl);
    openInbox(host);
    const inbox = inboxPrefix(host.instanceId);
    const beat = publish(upSubject(host.instanceId, "heartbeat"), `${inbox}.a`, '{"bootId":"b"}');
    host.say(beat.repeat(2_000));
    const refused = () =>
      Promise.resolve(answers(host, "a").filter(({ refused: code }) => code === "rate_limited"));
    const [refusal] = await until("a refusal", 5_000, refused, ({ length }) => length > 0);
    assert.ok(Number(refusal!["retryAfterMs"]) > 0);
    const again = async () => {
      host.say(beat.replace(`${inbox}.a`, `${inbox}.b`));
      await new Promise((resolve) => setTimeout(resolve, Number(refusal!["retryAfterMs"])));
      return answers(host, "b");
    };
    const served = ({ nextSeconds }: Record<string, unknown>) => nextSeconds !== undefined;
    await until("it is served", 5_000, again, (all) => all.some(served));
    const processed = answers(host, "a").filter(served).length;
    assert.ok(processed < 1_000, `${processed} of 2,000 at once were processed`);
  },
);

scenario(
  "A6: a host whose organization has used up its log bytes keeps its entries, and its instance says why",
  [],
  async ({ world, stranger }) => {
    const setQuota = (bytes: number) =>
      ownerSql(
        world.database.url,
        "UPDATE organizations SET log_bytes_per_day = $1 WHERE name = 'Globex'",
        [bytes],
      );
    await using host = await startJournalHost(stranger, world.baseUrl, directory, "diligent");
    const { instanceId } = host;
    const [sessionId] = await insertSessions(world, world.organizations[1], { instanceId });
    const numbered = (from: number) =>
      Array.from({ length: 5 }, (_, i) => ({
        sessionUpdate: "agent_message_chunk",
        messageId: `m${from + i}`,
        content: { type: "text", text: "x".repeat(300) },
      }));
    const waiting = () => host.waiting();
    const warnings = async () =>
      (await stranger.get_instance({ instanceId })).warnings.map(({ code }) => code);
    const isWarned = (codes: string[]) => codes.includes("log_quota_exceeded");

    await setQuota(1_000);
    await host.append(sessionId!, numbered(1));
    await until("all are stored", 10_000, waiting, (count) => count === 0);
    await host.append(sessionId!, numbered(6));
    await until("the instance shows it", 10_000, warnings, isWarned);
    await host.append(sessionId!, numbered(11));
    assert.equal(await waiting(), 1);
    const { metricsUrl, log } = world.nodes[0]!;
    const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
    assert.match(metrics, /^hawser_reports_over_quota_total [1-9]/m);
    assert.equal(log.filter(({ msg }) => String(msg).includes("used up its log bytes")).length, 1);

    await setQuota(1_000_000);
    // A daemon asks again after five minutes, or when it reconnects.
    await host.kill();
    await host.start();
    await until("all have arrived", 10_000, waiting, (count) => count === 0);
    assert.ok(!isWarned(await warnings()));
    const { events } = await stranger.list_session_events({ sessionId: sessionId! });
    const ids = events.map(({ update }) => update["messageId"]);
    assert.deepEqual(
      ids,
      Array.from({ length: 15 }, (_, i) => `m${i + 1}`),
    );
  },
);

scenario(
  "A6: a host that sends invalid JSON causes one line in the node's log",
  [],
  async ({ world, stranger }) => {
    using host = await startDeafHost(stranger, world.baseUrl);
    openInbox(host);
    const inbox = inboxPrefix(host.instanceId);
    const broken = publish(upSubject(host.instanceId, "report"), `${inbox}.a`, "{");
    host.say(broken.repeat(300));
    const beat = upSubject(host.instanceId, "heartbeat");
    host.say(publish(beat, `${inbox}.b`, '{"bootId":"b"}'));
    const answered = () => Promise.resolve(answers(host, "b"));
    await until("an answer to what follows", 5_000, answered, ({ length }) => length > 0);
    const lines = () =>
      world.nodes[0]!.log.filter(
        ({ msg, instanceId }) =>
          instanceId === host.instanceId && msg === "a host's message was not accepted",
      );
    const read = () => Promise.resolve(lines());
    await until("a line in the log", 5_000, read, ({ length }) => length > 0);
    assert.equal(lines().length, 1);
  },
);
