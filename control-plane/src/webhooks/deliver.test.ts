// Sending events: order, retries, dead receivers, nodes that die, and organizations that share nodes (T28, N33, N35).
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { formatId } from "@hawser/contract";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { until } from "@hawser/testkit/until.ts";
import { openWebhookBed, shownId, type WebhookBed } from "@hawser/testkit/webhook-bed.ts";
import { startWebhookReceiver, verifyMessage } from "@hawser/testkit/webhook-receiver.ts";

let beds: WebhookBed;

before(async () => void (beds = await openWebhookBed()));
after(() => beds[Symbol.asyncDispose]());
afterEach(async () => {
  beds.receiver.answer = () => ({ status: 200 });
  beds.receiver.messages.length = 0;
  await beds.bed.sql(`DELETE FROM webhooks; DELETE FROM webhook_deliveries`);
});

const seqs = () => beds.receiver.messages.map(({ data }) => data["seq"]);
const webhookOf = async (webhookId: string) =>
  (await beds.call("list_webhooks", {})).webhooks.find((each) => each.webhookId === webhookId)!;

test("T28: events are sent once, signed, and shown as delivered", async () => {
  const { id, webhookId, secret } = await beds.addWebhook();
  await beds.addEvents(id, 3);
  await beds.addSender().deliver();
  assert.deepEqual(seqs(), [1, 2, 3]);
  for (const message of beds.receiver.messages) assert.ok(verifyMessage(secret, message));
  const { deliveries } = await beds.call("list_webhook_deliveries", { webhookId });
  assert.deepEqual(
    deliveries.map(({ deliveryId }) => deliveryId),
    beds.receiver.messages.map(({ headers }) => headers["webhook-id"]).toReversed(),
  );
  for (const delivery of deliveries) {
    assert.deepEqual(
      [delivery.state, delivery.attempts, delivery.lastStatus, delivery.lastError],
      ["delivered", 1, 200, null],
    );
    assert.notEqual(delivery.endedAt, null);
    assert.equal(delivery.nextTryAt, null);
  }
});

test("N33: for a day after a rotation both secrets verify, then the new one alone", async () => {
  const { id, webhookId, secret } = await beds.addWebhook();
  const rotated = await beds.call("update_webhook", { webhookId, rotateSecret: true });
  const verifies = (by: string) => {
    try {
      return Boolean(verifyMessage(by, beds.receiver.messages.at(-1)!));
    } catch {
      return false;
    }
  };
  const sender = beds.addSender();
  await beds.addEvents(id, 1);
  await sender.deliver();
  assert.deepEqual([verifies(secret), verifies(rotated.secret!)], [true, true]);
  await beds.bed.sql(`UPDATE webhooks SET rotated_at = rotated_at - interval '25 hours'`);
  await beds.addEvents(id, 1);
  await sender.deliver();
  assert.deepEqual([verifies(secret), verifies(rotated.secret!)], [false, true]);
});

test("a later event of a session waits for the earlier one; other sessions do not", async () => {
  const { id } = await beds.addWebhook();
  const failing = await beds.addEvents(id, 3);
  const other = await beds.addEvents(id, 2);
  const failingId = formatId("session", failing);
  beds.receiver.answer = ({ data }) => ({ status: data["sessionId"] === failingId ? 500 : 200 });
  const sender = beds.addSender();
  await sender.deliver();
  const seqsOf = (session: string) =>
    beds.receiver.messages
      .filter(({ data }) => data["sessionId"] === formatId("session", session))
      .map(({ data }) => data["seq"]);
  assert.deepEqual([seqsOf(failing), seqsOf(other)], [[1], [1, 2]]);
  beds.receiver.answer = () => ({ status: 200 });
  await beds.passSeconds(10);
  await sender.deliver();
  assert.deepEqual(seqsOf(failing), [1, 1, 2, 3]);
});

test("T28: retries wait longer and longer, and end", async () => {
  const { id, webhookId } = await beds.addWebhook();
  await beds.addEvents(id, 2);
  beds.receiver.answer = () => ({ status: 503 });
  const sender = beds.addSender();
  const waits: number[] = [];
  for (;;) {
    await sender.deliver();
    const [first] = await beds.deliveriesOf(id);
    if (first!.state === "failed") break;
    waits.push(first!.wait_seconds);
    await beds.passSeconds(first!.wait_seconds + 1);
  }
  const expected = [5, 30, 120, 600, 3_600, 14_400, 43_200, 86_400];
  assert.equal(waits.length, expected.length);
  waits.forEach((wait, at) => {
    assert.ok(wait > expected[at]! - 2 && wait <= expected[at]! * 1.25, `${at}: ${wait}`);
  });
  // The next event of the session follows.
  assert.equal(seqs().filter((seq) => seq === 1).length, 9);
  assert.equal(seqs().at(-1), 2);
  const { deliveries } = await beds.call("list_webhook_deliveries", { webhookId, state: "failed" });
  assert.deepEqual(
    deliveries.map(({ attempts, lastStatus, lastError }) => [attempts, lastStatus, lastError]),
    [[9, 503, "bad_status"]],
  );
  assert.notEqual((await webhookOf(webhookId)).failingSince, null);
});

test("a webhook that fails for three days is switched off with the reason, and a success resets the time", async () => {
  const { id, webhookId } = await beds.addWebhook();
  const sender = beds.addSender();
  const failOnce = async () => {
    beds.receiver.answer = () => ({ status: 500 });
    await beds.addEvents(id, 1);
    await sender.deliver();
  };
  await failOnce();
  beds.receiver.answer = () => ({ status: 200 });
  await beds.passSeconds(10);
  await sender.deliver();
  assert.equal((await webhookOf(webhookId)).failingSince, null);
  await failOnce();
  await beds.bed.sql(`UPDATE webhooks SET failing_since = failing_since - interval '73 hours'`);
  await failOnce();
  const off = await webhookOf(webhookId);
  assert.equal(off.enabled, false);
  assert.match(off.disabledReason!, /^No event could be delivered for 3 days\./);
  // Switched on again, it gets what waits for it.
  beds.receiver.answer = () => ({ status: 200 });
  await beds.call("update_webhook", { webhookId, enabled: true });
  assert.deepEqual(
    [(await webhookOf(webhookId)).disabledReason, (await webhookOf(webhookId)).failingSince],
    [null, null],
  );
  await beds.passSeconds(100);
  await sender.deliver();
  assert.ok((await beds.deliveriesOf(id)).every(({ state }) => state === "delivered"));
});

test("a receiver that answers 410 is switched off at once", async () => {
  const { id, webhookId } = await beds.addWebhook();
  beds.receiver.answer = () => ({ status: 410 });
  await beds.addEvents(id, 2);
  await beds.addSender().deliver();
  const { enabled, disabledReason } = await webhookOf(webhookId);
  assert.equal(enabled, false);
  assert.match(disabledReason!, /^The receiver answered 410 Gone/);
  assert.deepEqual(
    (await beds.deliveriesOf(id)).map(({ state }) => state),
    ["failed", "waiting"],
  );
  assert.equal(beds.receiver.messages.length, 1);
});

test("a node that dies is replaced: the delivery is sent again, and the dead node writes nothing", async () => {
  const { id } = await beds.addWebhook();
  await beds.addEvents(id, 2);
  let release = () => {};
  const dead = beds.addSender({
    addresses: {
      ...beds.bed.webhooks.addresses,
      find: async (url, signal) => {
        await new Promise<void>((resolve) => (release = resolve));
        return beds.bed.webhooks.addresses.find(url, signal);
      },
    },
  });
  assert.equal(await dead.pickUp(), 1);
  const alive = beds.addSender();
  assert.equal(await alive.pickUp(), 0);
  await beds.passSeconds(31);
  beds.receiver.answer = () => ({ status: 500 });
  await alive.pickUp();
  await alive.settled();
  beds.receiver.answer = () => ({ status: 200 });
  release();
  await dead.settled();
  const [first] = await beds.deliveriesOf(id);
  assert.deepEqual([first!.state, first!.attempts, first!.last_status], ["waiting", 1, 500]);
  await beds.passSeconds(10);
  await alive.deliver();
  assert.ok((await beds.deliveriesOf(id)).every(({ state }) => state === "delivered"));
});

test("two nodes share the deliveries, and none is sent twice", async () => {
  const { id } = await beds.addWebhook();
  for (let session = 0; session < 20; session++) await beds.addEvents(id, 2);
  const nodes = [beds.addSender(), beds.addSender()];
  await Promise.all(nodes.map((node) => node.deliver()));
  const ids = beds.receiver.messages.map(({ headers }) => headers["webhook-id"]);
  assert.deepEqual([ids.length, new Set(ids).size], [40, 40]);
});

test("an event whose predecessor ended unseen is found by the next look", async () => {
  const { id } = await beds.addWebhook();
  await beds.addEvents(id, 2);
  const [first, second] = await beds.deliveriesOf(id);
  // As if two transactions had not seen each other: the first has ended, and the second is behind it.
  await beds.bed.sql(`UPDATE webhook_deliveries SET state = 'delivered' WHERE delivery_id = $1`, [
    first!.delivery_id,
  ]);
  const sender = beds.addSender();
  await sender.lookAgain();
  await sender.deliver();
  assert.equal(beds.receiver.messages.length, 0);
  await beds.passSeconds(16);
  await sender.lookAgain();
  await sender.deliver();
  assert.deepEqual(
    beds.receiver.messages.map(({ headers }) => headers["webhook-id"]),
    [shownId(second!)],
  );
});

test("an event that is added while the previous one ends follows at once", async () => {
  const { id } = await beds.addWebhook();
  const session = await beds.addEvents(id, 1);
  const sender = beds.addSender();
  await sender.deliver();
  // As if its transaction had not seen the end, and the other way round.
  await beds.addEvents(id, 2, session);
  await beds.bed.sql(
    `UPDATE webhook_deliveries SET behind = true, try_at = hawser_now() + interval '15 seconds'
      WHERE state = 'waiting'`,
  );
  await sender.deliver();
  assert.deepEqual(seqs(), [1]);
  await sender.releaseEnded();
  await sender.deliver();
  assert.deepEqual(seqs(), [1, 1, 2]);
});

test("an event that is behind is looked at again in an hour, in case the one before it was removed", async () => {
  const { id } = await beds.addWebhook();
  await beds.addEvents(id, 2);
  await beds.passSeconds(16);
  const sender = beds.addSender();
  await sender.lookAgain();
  const [first, second] = await beds.deliveriesOf(id);
  assert.ok(Math.abs(second!.wait_seconds - 3600) < 60);
  await beds.bed.sql(`DELETE FROM webhook_deliveries WHERE delivery_id = $1`, [first!.delivery_id]);
  await beds.passSeconds(3601);
  await sender.lookAgain();
  await sender.deliver();
  assert.deepEqual(seqs(), [2]);
});

test("what waits for a late retry is tried soon once the receiver works again, or is switched on", async () => {
  const { id, webhookId } = await beds.addWebhook();
  for (let session = 0; session < 3; session++) await beds.addEvents(id, 2);
  beds.receiver.answer = () => ({ status: 500 });
  const sender = beds.addSender();
  await sender.deliver();
  const delay = () =>
    beds.bed.sql(
      `UPDATE webhook_deliveries SET try_at = hawser_now() + interval '11 hours' WHERE NOT behind`,
    );
  const waits = async () =>
    (await beds.deliveriesOf(id)).map(({ wait_seconds }) => wait_seconds > 60);
  await delay();
  assert.ok((await waits()).some(Boolean));
  beds.receiver.answer = () => ({ status: 200 });
  // A new event of another session is the first that succeeds.
  await beds.addEvents(id, 1);
  await sender.deliver();
  await beds.passSeconds(61);
  for (let round = 0; round < 3; round++) {
    await sender.deliver();
    await sender.releaseEnded();
  }
  assert.deepEqual(
    new Set((await beds.deliveriesOf(id)).map(({ state }) => state)),
    new Set(["delivered"]),
  );

  await beds.addEvents(id, 1);
  await delay();
  await beds.call("update_webhook", { webhookId, enabled: true });
  await sender.deliver();
  assert.deepEqual(
    new Set((await beds.deliveriesOf(id)).map(({ state }) => state)),
    new Set(["delivered"]),
  );
});

test("an event that was recorded out of order waits for the one before it", async () => {
  const { id } = await beds.addWebhook();
  const session = await beds.addEvents(id, 1);
  await beds.bed.sql(
    `UPDATE webhook_deliveries SET seq = 5, facts = jsonb_set(facts, '{seq}', '5') WHERE webhook_id = $1`,
    [id],
  );
  await beds.addEvents(id, 1, session);
  await beds.addSender().deliver();
  assert.deepEqual(seqs(), [1, 5]);
});

test("N35: 10,000 hanging deliveries of one organization delay another's by less than a second", async () => {
  const { database } = beds.bed.service;
  const hanging = await startWebhookReceiver();
  hanging.answer = () => ({ hang: true });
  try {
    const webhooks = await Promise.all(
      Array.from({ length: 5 }, () => beds.addWebhook({ url: hanging.url })),
    );
    for (const { id } of webhooks) {
      await beds.bed.sql(
        `SELECT hawser_add_event(w.organization_id, 'turn_finished', gen_random_uuid(), 1, '{}')
           FROM webhooks w, generate_series(1, 400) WHERE w.webhook_id = $1`,
        [id],
      );
    }
    const [{ waiting } = { waiting: 0 }] = await beds.bed.sql<{ waiting: number }>(
      `SELECT count(*)::int AS waiting FROM webhook_deliveries`,
    );
    assert.equal(waiting, 10_000);
    const sender = beds.addSender();
    await sender.pickUp();
    await until("the node hangs", () => hanging.messages.length >= 50, 5_000);
    const other = await createTestOrganization(database, `Globex ${waiting}`, "g@globex.example");
    const { id } = await beds.addWebhook({}, other.keys.owner);
    const began = performance.now();
    await beds.addEvents(id, 1);
    await sender.pickUp();
    await until("the other's event arrives", () => beds.receiver.messages.length === 1, 5_000);
    const took = performance.now() - began;
    assert.ok(took < 1_000, `${took} ms`);
    assert.ok(hanging.messages.length <= 50, `${hanging.messages.length} at once`);
  } finally {
    await hanging[Symbol.asyncDispose]();
  }
});
