// What the actions on webhooks do, and whom they refuse (T27, T28, N33, N36).
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { Refusal, permissionNames, type Permission } from "@hawser/contract";
import { makeKey } from "@hawser/testkit/organization.ts";
import { openWebhookBed, type WebhookBed } from "@hawser/testkit/webhook-bed.ts";
import { watchWebhooks } from "./watch.ts";
import { createLog } from "../log.ts";
import { purge } from "../purge.ts";

let beds: WebhookBed;

before(async () => void (beds = await openWebhookBed()));
after(() => beds[Symbol.asyncDispose]());
afterEach(async () => {
  beds.receiver.answer = () => ({ status: 200 });
  beds.receiver.messages.length = 0;
  await beds.bed.sql(`DELETE FROM webhooks; DELETE FROM webhook_deliveries`);
});

const refusal = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => assert.fail("the call was not refused"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof Refusal, String(error));
  return error;
};
const keyWith = (permissions: readonly Permission[]) =>
  makeKey(beds.bed.service.database, beds.bed.organization.organizationId, permissions);
const url = "https://hooks.example/services/T0/secret-path";

test("a webhook is created, listed, changed and deleted", async () => {
  const events = ["host_status" as const];
  const { webhook, secret } = await beds.call("create_webhook", { url, events, name: "ops" });
  assert.match(secret, /^whsec_/);
  const { webhookId, createdAt, createdBy, actsAs, ...rest } = webhook;
  assert.match(webhookId, /^whk_/);
  assert.ok(createdAt);
  assert.deepEqual(actsAs, createdBy);
  assert.deepEqual(rest, {
    name: "ops",
    url,
    events,
    enabled: true,
    disabledReason: null,
    failingSince: null,
  });
  const changed = await beds.call("update_webhook", { webhookId, name: null, enabled: false });
  assert.deepEqual(changed.webhook, { ...webhook, name: null, enabled: false });
  assert.equal(changed.secret, null);
  assert.deepEqual(await beds.call("list_webhooks", {}), { webhooks: [changed.webhook] });
  const same = await beds.call("update_webhook", { webhookId });
  assert.deepEqual(same, { webhook: changed.webhook, secret: null });
  await beds.call("delete_webhook", { webhookId });
  assert.deepEqual(await beds.call("list_webhooks", {}), { webhooks: [] });
  assert.equal((await refusal(beds.call("delete_webhook", { webhookId }))).code, "not_found");
});

test("N33: the secret is in no answer but the one that made it, and in no row", async () => {
  const { webhookId, secret } = await beds.addWebhook();
  const rotated = await beds.call("update_webhook", { webhookId, rotateSecret: true });
  assert.notEqual(rotated.secret, secret);
  const answers = JSON.stringify([
    await beds.call("list_webhooks", {}),
    await beds.call("list_audit_entries", {}),
  ]);
  const [rows] = await beds.bed.sql<{ text: string }>(
    `SELECT (SELECT json_agg(w) FROM webhooks w)::text || (SELECT json_agg(s) FROM secrets s)::text
         || (SELECT json_agg(i) FROM idempotency i)::text || (SELECT json_agg(a) FROM audit_entries a)::text AS text`,
  );
  for (const each of [secret, rotated.secret!]) {
    const bytes = Buffer.from(each.slice("whsec_".length), "base64");
    for (const form of [each.slice("whsec_".length), bytes.toString("hex")]) {
      assert.ok(!answers.includes(form));
      assert.ok(!(rows?.text ?? "").includes(form));
    }
  }
});

test("T27: an address that webhooks may not reach is refused", async () => {
  for (const wrong of [
    "https://10.0.0.1/",
    "https://[::1]/",
    "https://169.254.169.254/latest",
    "ftp://hooks.example/",
    "https://user:pass@hooks.example/",
    "https://hooks.example/#part",
    "https://hooks.example/a b",
    "hooks.example",
    `https://hooks.example/${"x".repeat(2048)}`,
  ]) {
    const call = beds.call("create_webhook", { url: wrong, events: ["host_status"] });
    const { code, details } = await refusal(call);
    assert.deepEqual([code, details.fields?.[0]?.field], ["invalid_input", "url"], wrong);
  }
  const { webhookId } = await beds.addWebhook();
  const moved = beds.call("update_webhook", { webhookId, url: "https://192.168.0.1/" });
  const { code, message } = await refusal(moved);
  assert.equal(code, "invalid_input");
  assert.match(
    message,
    /must not lead to a private .* can allow .* with HAWSER_WEBHOOK_NETWORKS\.$/,
  );
});

test("N36: creating and changing a webhook needs access:edit and the permission to see its events", async () => {
  const everyone: readonly Permission[] = permissionNames;
  const without = (left: Permission) => everyone.filter((each) => each !== left);
  const body = { url, events: ["turn_finished" as const] };
  const { webhookId } = await beds.addWebhook({ events: ["turn_finished"] });
  for (const [left, code] of [
    ["access:edit", "forbidden"],
    ["sessions:view", "forbidden"],
    ["instances:view", undefined],
  ] as const) {
    const key = await keyWith(without(left));
    const calls = [
      () => beds.call("create_webhook", body, key),
      () => beds.call("update_webhook", { webhookId, url }, key),
      () => beds.call("update_webhook", { webhookId, rotateSecret: true }, key),
    ];
    for (const call of calls) {
      if (code) assert.equal((await refusal(call())).code, code, left);
      else await call();
    }
  }
  const viewer = await keyWith(without("access:edit"));
  await beds.call("list_webhooks", {}, viewer);
  for (const action of ["test_webhook", "delete_webhook"] as const)
    assert.equal((await refusal(beds.call(action, { webhookId }, viewer))).code, "forbidden");
});

test("N36: the audit trail shows who set which target, and no more of the address than its origin", async () => {
  const { webhook } = await beds.call("create_webhook", { url, events: ["host_status"] });
  const { webhookId } = webhook;
  const other = `https://other.example:8443/${"x".repeat(300)}?token=secret-path`;
  await beds.call("update_webhook", { webhookId, url: other });
  const { entries } = await beds.call("list_audit_entries", { limit: 2 });
  assert.deepEqual(
    entries.map(({ action, input, records, actor }) => [action, input, records, actor.type]),
    [
      [
        "update_webhook",
        { webhookId, url: "https://other.example:8443" },
        { webhookId },
        "organization_key",
      ],
      [
        "create_webhook",
        { url: "https://hooks.example", events: ["host_status"] },
        { webhookId },
        "organization_key",
      ],
    ],
  );
});

test("a webhook that is changed acts with the key of that call", async () => {
  const { webhookId } = await beds.addWebhook();
  const key = await keyWith(permissionNames);
  const { apiKeyId } = await beds.call("whoami", {}, key);
  const { webhook } = await beds.call("update_webhook", { webhookId, name: "mine" }, key);
  assert.equal(webhook.actsAs.id, apiKeyId);
  assert.notEqual(webhook.createdBy.id, apiKeyId);
});

test("an organization has at most 5 webhooks", async () => {
  await beds.bed.sql(
    `INSERT INTO webhooks (organization_id, url, events, salt, api_key_id, acts_as, created_by)
     SELECT $1, 'https://hooks.example', '{host_status}', '', gen_random_uuid(), '{}', '{}'
       FROM generate_series(1, 4)`,
    [beds.bed.organizationId],
  );
  await beds.addWebhook();
  assert.equal((await refusal(beds.addWebhook())).code, "limit_reached");
});

test("T28: a test is an ordinary delivery, and a webhook that is switched off sends none", async () => {
  const { webhookId } = await beds.addWebhook({ events: ["host_status"] });
  const made = await beds.call("test_webhook", { webhookId });
  assert.deepEqual([made.event, made.state, made.attempts], ["test", "waiting", 0]);
  await beds.addSender().deliver();
  const [message] = beds.receiver.messages;
  assert.deepEqual([message!.type, message!.data], ["test", { webhookId }]);
  assert.equal(message!.headers["webhook-id"], made.deliveryId);
  await beds.call("update_webhook", { webhookId, enabled: false });
  assert.equal((await refusal(beds.call("test_webhook", { webhookId }))).code, "webhook_disabled");
  const again = beds.call("redeliver_webhook", { deliveryId: made.deliveryId });
  assert.equal((await refusal(again)).code, "webhook_disabled");
});

test("T28: a delivery is sent again with its id, and counts its attempts again", async () => {
  const { webhookId } = await beds.addWebhook({ events: ["host_status"] });
  const { deliveryId } = await beds.call("test_webhook", { webhookId });
  const sender = beds.addSender({ retrySeconds: [] });
  beds.receiver.answer = () => ({ status: 500 });
  await sender.deliver();
  const states = async () =>
    (await beds.call("list_webhook_deliveries", { webhookId })).deliveries.map(
      ({ state, attempts }) => [state, attempts],
    );
  assert.deepEqual(await states(), [["failed", 1]]);
  beds.receiver.answer = () => ({ status: 200 });
  const again = await beds.call("redeliver_webhook", { deliveryId });
  assert.deepEqual([again.deliveryId, again.state, again.endedAt], [deliveryId, "waiting", null]);
  await sender.deliver();
  assert.deepEqual(await states(), [["delivered", 1]]);
  const ids = beds.receiver.messages.map(({ headers }) => headers["webhook-id"]);
  assert.deepEqual(ids, [deliveryId, deliveryId]);
  await beds.call("redeliver_webhook", { deliveryId });
  await sender.deliver();
  assert.equal(beds.receiver.messages.length, 3);
});

test("deliveries are listed in pages and by state, and are gone with their webhook", async () => {
  const { id, webhookId } = await beds.addWebhook();
  await beds.addEvents(id, 3);
  const first = await beds.call("list_webhook_deliveries", { webhookId, limit: 2 });
  const { nextCursor: cursor } = first;
  const second = await beds.call("list_webhook_deliveries", { webhookId, cursor: cursor! });
  const listed = [...first.deliveries, ...second.deliveries];
  assert.deepEqual([listed.length, second.nextCursor], [3, null]);
  assert.deepEqual(
    listed.map(({ nextTryAt }) => nextTryAt === null),
    [true, true, false],
  );
  for (const [state, count] of [
    ["waiting", 3],
    ["sending", 0],
    ["delivered", 0],
    ["failed", 0],
  ] as const) {
    const { deliveries } = await beds.call("list_webhook_deliveries", { webhookId, state });
    assert.equal(deliveries.length, count, state);
  }
  await beds.call("delete_webhook", { webhookId });
  const { deliveryId } = listed[0]!;
  assert.equal((await refusal(beds.call("redeliver_webhook", { deliveryId }))).code, "not_found");
  await beds.addSender().deliver();
  assert.deepEqual(beds.receiver.messages, []);
  const { system } = beds.bed.service.database;
  await watchWebhooks(system, () => {}, createLog("silent"));
  const left = await beds.bed.sql(`SELECT FROM webhook_deliveries WHERE state = 'waiting'`);
  assert.deepEqual(left, [], "what waited for it is removed");
});

test("a webhook for which too many events wait is switched off with the reason, and they are counted", async () => {
  const { id, webhookId } = await beds.addWebhook();
  await beds.addEvents(id, 4);
  await beds.passSeconds(60);
  const { system } = beds.bed.service.database;
  const log = createLog("silent");
  const shown: { waiting: number; oldestSeconds: number }[] = [];
  await watchWebhooks(system, (all) => shown.push(all), log, 4);
  assert.equal(shown[0]!.waiting, 4);
  assert.ok(shown[0]!.oldestSeconds > 59);
  await watchWebhooks(system, (all) => shown.push(all), log, 3);
  assert.deepEqual(shown[1], { waiting: 0, oldestSeconds: 0 });
  const [webhook] = (await beds.call("list_webhooks", {})).webhooks;
  assert.equal(webhook!.enabled, false);
  assert.match(webhook!.disabledReason!, /^More than 100,000 events wait/);
  await beds.call("update_webhook", { webhookId, enabled: true });
  await beds.addSender().deliver();
  assert.equal(beds.receiver.messages.length, 4);
});

test("deliveries are removed after 30 days", async () => {
  const { id } = await beds.addWebhook();
  await beds.addEvents(id, 2);
  const { system } = beds.bed.service.database;
  const runPurge = () => purge(system, createLog("silent"), new AbortController().signal);
  const [first] = await beds.deliveriesOf(id);
  const age = (days: number) =>
    beds.bed.sql(
      `UPDATE webhook_deliveries SET created_at = hawser_now() - make_interval(days => $2, hours => 1)
        WHERE delivery_id = $1`,
      [first!.delivery_id, days],
    );
  await age(29);
  await runPurge();
  assert.equal((await beds.deliveriesOf(id)).length, 2);
  await age(30);
  await runPurge();
  assert.equal((await beds.deliveriesOf(id)).length, 1);
});
