// Whose permissions a webhook uses: those of the key that last created or changed it, at each delivery (N34).
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { permissionNames, type Permission } from "@hawser/contract";
import { makeKey } from "@hawser/testkit/organization.ts";
import { openWebhookBed, type WebhookBed } from "@hawser/testkit/webhook-bed.ts";

let beds: WebhookBed;

before(async () => void (beds = await openWebhookBed()));
after(() => beds[Symbol.asyncDispose]());
afterEach(async () => {
  beds.receiver.messages.length = 0;
  await beds.bed.sql(`DELETE FROM webhooks; DELETE FROM webhook_deliveries`);
});

const seqs = () => beds.receiver.messages.map(({ data }) => data["seq"]);
const webhookOf = async (webhookId: string) =>
  (await beds.call("list_webhooks", {})).webhooks.find((each) => each.webhookId === webhookId)!;

const without = (...left: Permission[]) => permissionNames.filter((name) => !left.includes(name));
for (const [what, change, reason] of [
  ["was revoked", `UPDATE api_keys SET revoked_at = hawser_now()`, /was revoked/],
  ["has expired", `UPDATE api_keys SET expires_at = hawser_now()`, /has expired/],
  [
    "lost access:edit",
    `UPDATE api_keys SET permissions = '{${without("access:edit").join(",")}}'`,
    /lacks access:edit\./,
  ],
  [
    "lost sessions:view",
    `UPDATE api_keys SET permissions = '{${without("sessions:view").join(",")}}'`,
    /lacks sessions:view\./,
  ],
] as const) {
  test(`N34: a webhook whose key ${what} is switched off with the reason, and sends nothing`, async () => {
    const { database } = beds.bed.service;
    const { organizationId } = beds.bed.organization;
    const key = await makeKey(database, organizationId, permissionNames, { name: what });
    const { id, webhookId } = await beds.addWebhook({}, key);
    await beds.addEvents(id, 2);
    await beds.bed.sql(`${change} WHERE name = $1`, [what]);
    const sender = beds.addSender();
    await sender.deliver();
    assert.deepEqual(beds.receiver.messages, []);
    const { enabled, disabledReason } = await webhookOf(webhookId);
    assert.equal(enabled, false);
    assert.match(disabledReason!, reason);
    // Another caller switches it on, and it acts with that caller's key.
    await beds.call("update_webhook", { webhookId, enabled: true });
    await sender.deliver();
    assert.deepEqual(seqs(), [1, 2]);
  });
}

test("N34: a webhook of a removed member is switched off, and sends nothing", async () => {
  const { database } = beds.bed.service;
  const { organizationId } = beds.bed.organization;
  const { userId } = await beds.call("add_member", { email: "leaver@acme.example", role: "owner" });
  const key = await makeKey(database, organizationId, permissionNames, { name: "leaver", userId });
  const { id, webhookId } = await beds.addWebhook({}, key);
  await beds.addEvents(id, 1);
  await beds.call("remove_member", { userId });
  await beds.addSender().deliver();
  assert.deepEqual(beds.receiver.messages, []);
  assert.match((await webhookOf(webhookId)).disabledReason!, /belongs to a user who has left/);
});

test("N34: rotating a key moves its webhooks to the new one", async () => {
  const { database } = beds.bed.service;
  const { organizationId } = beds.bed.organization;
  const key = await makeKey(database, organizationId, permissionNames, { name: "rotated" });
  const { id, webhookId } = await beds.addWebhook({}, key);
  const { apiKeyId } = await beds.call("whoami", {}, key);
  const { apiKey } = await beds.call("rotate_api_key", { apiKeyId: apiKeyId!, overlapMinutes: 0 });
  assert.equal((await webhookOf(webhookId)).actsAs.id, apiKey.apiKeyId);
  await beds.addEvents(id, 1);
  await beds.addSender().deliver();
  assert.deepEqual(seqs(), [1]);
});
