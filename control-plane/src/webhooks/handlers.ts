// What the actions on webhooks do. Events are recorded by triggers of the database, and sent by every node.
import { randomBytes } from "node:crypto";
import {
  Refusal,
  notFound,
  parseId,
  webhookEvents,
  type WebhookEvent,
  type webhookActions,
} from "@hawser/contract";
import { callerReference } from "../access/caller-reference.ts";
import { page, readIdCursor } from "../cursor.ts";
import type { Caller } from "../dispatch/caller.ts";
import type { HandlersFor } from "../dispatch/handler.ts";
import type { TenantSql } from "../postgres/statement.ts";
import type { Addresses } from "./addresses.ts";
import { secretText, type SecretOf } from "./message.ts";
import { deliveryRecord, webhookRecord } from "./record.ts";
import * as store from "./store.ts";

export interface WebhookServices {
  webhooks: { secretOf: SecretOf; addresses: Addresses };
}

/** Few: each event is inserted once for each of them, in the transaction that stores what hosts report. */
const mostWebhooks = 5;
const saltBytes = 16;

export const webhookHandlers: HandlersFor<typeof webhookActions, WebhookServices> = {
  async list_webhooks({ sql }) {
    const rows = await sql.rows(store.selectWebhooks, sql.organizationId);
    return { webhooks: rows.map(webhookRecord) };
  },

  async create_webhook({ sql, caller, webhooks }, { url, events, name }) {
    refuseUnseen(caller, events);
    refuseUrl(webhooks.addresses, url);
    await sql.rows(store.lockOrganization, sql.organizationId);
    const counted = await sql.first(store.countWebhooks, sql.organizationId);
    if (counted!.webhooks >= mostWebhooks) {
      throw new Refusal(
        "limit_reached",
        `The organization has ${mostWebhooks} webhooks, which is the maximum. Delete one with delete_webhook first.`,
      );
    }
    const salt = randomBytes(saltBytes);
    const row = await sql.first(
      store.insertWebhook,
      sql.organizationId,
      name || null,
      url,
      events,
      salt,
      caller.apiKeyId,
      await callerReference(sql, caller),
    );
    const secret = webhooks.secretOf(row!.webhook_id, salt);
    return { webhook: webhookRecord(row!), secret: secretText(secret) };
  },

  async update_webhook({ sql, caller, webhooks }, { webhookId, rotateSecret, ...changes }) {
    const id = parseId("webhook", webhookId);
    const stored = id && (await sql.first(store.lockWebhook, sql.organizationId, id));
    if (!stored) throw notFound("webhook");
    if (!rotateSecret && Object.values(changes).every((value) => value === undefined)) {
      return { webhook: webhookRecord(stored), secret: null };
    }
    const { name = stored.name, url = stored.url, events = stored.events } = changes;
    refuseUnseen(caller, events);
    if (changes.url !== undefined) refuseUrl(webhooks.addresses, url);
    const beginsAgain = changes.enabled !== undefined || url !== stored.url;
    if (beginsAgain) await sql.rows(store.retryNow, sql.organizationId, id);
    const row = await sql.first(
      store.updateWebhook,
      sql.organizationId,
      id,
      name || null,
      url,
      events,
      changes.enabled ?? stored.enabled,
      beginsAgain,
      caller.apiKeyId,
      await callerReference(sql, caller),
    );
    if (!rotateSecret) return { webhook: webhookRecord(row!), secret: null };
    const salt = randomBytes(saltBytes);
    sql.later(store.rotateSecret, sql.organizationId, id, salt);
    return { webhook: webhookRecord(row!), secret: secretText(webhooks.secretOf(id, salt)) };
  },

  async delete_webhook({ sql }, { webhookId }) {
    const id = parseId("webhook", webhookId);
    const row = id && (await sql.first(store.deleteWebhook, sql.organizationId, id));
    if (!row) throw notFound("webhook");
    return { webhookId, deleted: true };
  },

  async test_webhook({ sql }, { webhookId }) {
    const { webhook_id, enabled } = await findWebhook(sql, webhookId);
    if (!enabled) throw isSwitchedOff();
    return deliveryRecord((await sql.first(store.insertTest, sql.organizationId, webhook_id))!);
  },

  async list_webhook_deliveries({ sql }, { webhookId, state, cursor, limit = 50 }) {
    const before = readIdCursor(cursor);
    const { webhook_id } = await findWebhook(sql, webhookId);
    const select = state ? store.selectDeliveriesIn[state] : store.selectDeliveries;
    const read = await sql.rows(select, sql.organizationId, webhook_id, before, limit + 1);
    const { rows, nextCursor } = page(read, limit, (row) => [row.delivery_id]);
    return { deliveries: rows.map(deliveryRecord), nextCursor };
  },

  async redeliver_webhook({ sql }, { deliveryId }) {
    const id = parseId("delivery", deliveryId);
    const stored = id && (await sql.first(store.lockDelivery, sql.organizationId, id));
    if (!stored) throw notFound("delivery");
    if (!stored.enabled) throw isSwitchedOff();
    // A node is sending it at this moment.
    if (stored.state === "sending") return deliveryRecord(stored);
    const row = await sql.first(store.sendAgain, sql.organizationId, stored.webhook_id, id);
    return deliveryRecord(row!);
  },
};

async function findWebhook(sql: TenantSql, webhookId: string): Promise<store.WebhookRow> {
  const id = parseId("webhook", webhookId);
  const row = id && (await sql.first(store.selectWebhook, sql.organizationId, id));
  if (!row) throw notFound("webhook");
  return row;
}

/** A webhook must not show its creator what the creator may not see. */
function refuseUnseen({ permissions }: Caller, events: readonly WebhookEvent[]): void {
  const missing = [...new Set(events.map((event) => webhookEvents[event]))].filter(
    (permission) => !permissions.has(permission),
  );
  if (missing.length === 0) return;
  const message = `must be events that this key may see; it lacks ${missing.join(", ")}`;
  throw new Refusal("forbidden", `The events of a webhook ${message}.`, {
    fields: [{ field: "events", message }],
  });
}

function refuseUrl(addresses: Addresses, url: string): void {
  const message = addresses.objectTo(url);
  if (message === null) return;
  throw new Refusal("invalid_input", `The address of a webhook ${message}. ${mayBeAllowed}`, {
    fields: [{ field: "url", message }],
  });
}

const mayBeAllowed =
  "For an address in a private network, the operator of the service can allow that network with HAWSER_WEBHOOK_NETWORKS.";

const isSwitchedOff = () =>
  new Refusal(
    "webhook_disabled",
    "The webhook is switched off, so nothing is sent. Switch it on with update_webhook, then call again.",
    { nextAction: "update_webhook" },
  );
