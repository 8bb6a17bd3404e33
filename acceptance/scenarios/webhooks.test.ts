// Webhooks, from outside: what a receiver gets of real sessions and hosts, and what it never gets.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { untilStatus } from "@hawser/testkit/host.ts";
import {
  startWebhookReceiver,
  verifyMessage,
  type WebhookReceiver,
} from "@hawser/testkit/webhook-receiver.ts";
import { newMember } from "../new-member.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import { bash, runTurn, scripted, startSession, untilLogged } from "../session-steps.ts";
import { addWebhook, everyEvent, tryOnce, untilReceived } from "../webhook-steps.ts";

// The second loopback address is private for webhooks.
useWorld({
  nodes: 2,
  hosts: 1,
  agents: true,
  environment: { HAWSER_WEBHOOK_NETWORKS: "127.0.0.1/32", HAWSER_LOG_LEVEL: "debug" },
});

let receiver: WebhookReceiver;
let decoy: WebhookReceiver;
before(async () => {
  receiver = await startWebhookReceiver();
  decoy = await startWebhookReceiver("127.0.0.2");
});
after(async () => {
  assert.deepEqual(decoy.messages, [], "no message has reached the decoy");
  await receiver[Symbol.asyncDispose]();
  await decoy[Symbol.asyncDispose]();
});

scenario(
  "N32, T28: a receiver gets signed events of a session, without what was said and run in it",
  [],
  async ({ world, caller }) => {
    const { webhookId, secret } = await addWebhook(caller, receiver);
    const host = world.hosts[0]!;
    const canary = "canary-of-webhooks";
    const { sessionId } = await startSession(caller, host, { title: canary });
    await runTurn(caller, sessionId, scripted(canary, { text: canary }));
    const turn = await untilReceived(receiver, "turn_finished", { sessionId });
    assert.equal(turn.data["outcome"], "completed");
    await caller.run_shell({ sessionId, command: `echo ${canary}` });
    await untilLogged(caller, sessionId, "shell");
    await caller.send_prompt({ sessionId, text: scripted(canary, bash(`echo ${canary}`)) });
    const raised = await untilReceived(receiver, "request_raised", { sessionId });
    const requestId = raised.data["requestId"] as string;
    await caller.answer_permission({ requestId, answer: "reject" });
    const settled = await untilReceived(receiver, "request_settled", { requestId });
    assert.equal(settled.data["status"], "answered");
    await caller.end_session({ sessionId });
    const ended = await untilReceived(receiver, "session_status", { sessionId });
    assert.equal(ended.data["status"], "ended");
    for (const message of receiver.messages) {
      verifyMessage(secret, message);
      assert.ok(!message.text.includes(canary), message.text);
    }
    const seqs = receiver.messages
      .filter(({ data }) => data["sessionId"] === sessionId)
      .flatMap(({ data }) => (data["seq"] as number | null) ?? []);
    assert.deepEqual(
      seqs,
      seqs.toSorted((a, b) => a - b),
      "in the order of the log",
    );
    await caller.delete_webhook({ webhookId });
  },
);

scenario("A receiver gets the status of a host, with the reason", [], async ({ world, caller }) => {
  const { webhookId } = await addWebhook(caller, receiver, ["host_status"]);
  const host = await world.addHost();
  const { instanceId } = host;
  await untilReceived(receiver, "host_status", { instanceId, status: "online" });
  host.process.kill("SIGTERM");
  await untilStatus(caller, instanceId, "offline");
  const offline = await untilReceived(receiver, "host_status", { instanceId, status: "offline" });
  assert.equal(offline.data["reason"], "daemon_stopped");
  await caller.delete_webhook({ webhookId });
});

scenario(
  "T27, N31: a private address is refused, and neither a redirect nor a redelivery leads to one",
  [],
  async ({ caller }) => {
    for (const url of [
      decoy.url,
      "https://127.0.0.2/",
      "https://[::1]/",
      "https://[::ffff:127.0.0.2]/",
      "https://10.0.0.1/",
      "https://169.254.169.254/latest/meta-data/",
      "https://user:secret@hooks.example/",
    ]) {
      assertInvalid(await caller.try("create_webhook", { url, events: everyEvent }), "url", url);
    }
    // A name is checked at each attempt. This one leads to a loopback address, or nowhere.
    const named = await addWebhook(caller, { url: "https://localhost:8443/" });
    const refused = await tryOnce(caller, named.webhookId);
    assert.equal(refused.lastStatus, null);
    assert.match(refused.lastError!, /^(?:address_not_allowed|name_not_found|connection_failed)$/);
    const { webhookId } = await addWebhook(caller, receiver);
    receiver.answer = () => ({ redirect: decoy.url });
    const { deliveryId, ...tried } = await tryOnce(caller, webhookId);
    assert.deepEqual([tried.lastStatus, tried.lastError], [302, "redirected"]);
    const before = receiver.messages.length;
    await caller.redeliver_webhook({ deliveryId });
    await until(
      "it is sent again",
      30_000,
      () => Promise.resolve(receiver.messages.length),
      (count) => count > before,
    );
    receiver.answer = () => ({ status: 200 });
    const listed = JSON.stringify(await caller.list_webhook_deliveries({ webhookId }));
    assert.ok(!listed.includes("a body that is not read"), "no answer of a receiver is shown");
    for (const each of [webhookId, named.webhookId])
      await caller.delete_webhook({ webhookId: each });
  },
);

scenario(
  "N33: the secret is shown once, and is readable neither in the database nor in the logs",
  [],
  async ({ world, caller }) => {
    const idempotencyKey = "webhook-1";
    const body = { url: receiver.url, events: everyEvent };
    const made = await caller.create_webhook(body, { idempotencyKey });
    const { webhookId } = made.webhook;
    const rotated = await caller.update_webhook({ webhookId, rotateSecret: true });
    await tryOnce(caller, webhookId);
    const message = receiver.messages.at(-1)!;
    for (const secret of [made.secret, rotated.secret!]) verifyMessage(secret, message);
    const places = [
      await dumpDatabase(world.database.url),
      JSON.stringify(world.nodes.map(({ log }) => log)),
      JSON.stringify(await caller.list_webhooks({})),
      JSON.stringify(await caller.list_audit_entries({ limit: 20 })),
    ];
    for (const secret of [made.secret, rotated.secret!]) {
      const base64 = secret.slice("whsec_".length).replace(/=+$/, "");
      const bytes = Buffer.from(base64, "base64");
      for (const form of [base64, bytes.toString("hex"), bytes.toString("base64url")])
        assert.ok(!places.some((place) => place.includes(form)));
    }
    await caller.delete_webhook({ webhookId });
  },
);

scenario(
  "N34: the webhook of a removed member is switched off with the reason, and sends nothing",
  [],
  async (context) => {
    const { caller } = context;
    const member = await newMember(context, "owner");
    const { webhookId } = await addWebhook(member.as, receiver);
    await caller.remove_member({ userId: member.userId });
    const before = receiver.messages.length;
    await caller.test_webhook({ webhookId });
    const off = await until(
      "the webhook is switched off",
      30_000,
      async () => (await caller.list_webhooks({})).webhooks.find((w) => w.webhookId === webhookId)!,
      ({ enabled }) => !enabled,
    );
    assert.match(off.disabledReason!, /belongs to a user who has left/);
    assert.equal(receiver.messages.length, before);
    assertRefused(await caller.try("test_webhook", { webhookId }), 409, "webhook_disabled");
    await caller.delete_webhook({ webhookId });
  },
);

scenario(
  "N36: only a key with access:edit that is no agent's creates or redirects a webhook, and the trail shows where to",
  [],
  async ({ world, caller }) => {
    const [organization] = world.organizations;
    const { webhookId } = await addWebhook(caller, receiver);
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const viewer = await world.makeKey(organization, ["access:view", "sessions:view"]);
    const agent = await world.makeKey(organization, ["sessions:view", "sessions:edit"], {
      sessionId,
    });
    for (const key of [viewer, agent, organization.keys.member]) {
      const weak = world.callerFor(key);
      for (const [action, body] of [
        ["create_webhook", { url: receiver.url, events: everyEvent }],
        ["update_webhook", { webhookId, url: "https://evil.example/" }],
        ["update_webhook", { webhookId, rotateSecret: true }],
        ["test_webhook", { webhookId }],
        ["delete_webhook", { webhookId }],
      ] as const)
        assertRefused(await weak.try(action, body), 403, "forbidden");
    }
    await caller.update_webhook({ webhookId, url: "https://elsewhere.example/a/secret/path" });
    const [entry] = (await caller.list_audit_entries({ limit: 1 })).entries;
    assert.deepEqual(
      [entry!.action, entry!.input, entry!.outcome],
      ["update_webhook", { webhookId, url: "https://elsewhere.example" }, "done"],
    );
    await caller.delete_webhook({ webhookId });
    await caller.end_session({ sessionId });
  },
);

scenario(
  "Another organization neither sees nor changes a webhook",
  [],
  async ({ caller, stranger }) => {
    const { webhookId } = await addWebhook(caller, receiver);
    const { deliveryId } = await caller.test_webhook({ webhookId });
    assert.deepEqual(await stranger.list_webhooks({}), { webhooks: [] });
    for (const [action, body] of [
      ["update_webhook", { webhookId, enabled: false }],
      ["test_webhook", { webhookId }],
      ["list_webhook_deliveries", { webhookId }],
      ["delete_webhook", { webhookId }],
      ["redeliver_webhook", { deliveryId }],
    ] as const)
      assertRefused(await stranger.try(action, body), 404, "not_found");
    await caller.delete_webhook({ webhookId });
  },
);
