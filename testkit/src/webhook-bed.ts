// Webhooks on a session bed: a receiver on a loopback port, and nodes that send events to it.
import assert from "node:assert/strict";
import { formatId, parseId, type InputOf, type registry, type ResultOf } from "@hawser/contract";
import { createLog } from "@hawser/control-plane/log.ts";
import {
  createDeliveries,
  type Deliveries,
  type DeliveryParts,
} from "@hawser/control-plane/webhooks/deliver.ts";
import { openSessionBed, type SessionBed } from "./session-bed.ts";
import { startWebhookReceiver, type WebhookReceiver } from "./webhook-receiver.ts";

type Registry = typeof registry;

/** A delivery as it is stored. */
export interface TestDelivery {
  delivery_id: string;
  event: string;
  state: string;
  behind: boolean;
  attempts: number;
  last_status: number | null;
  last_error: string | null;
  facts: Record<string, unknown>;
  seq: number;
  /** From now until it is tried again; infinite if nothing but another delivery brings it back. */
  wait_seconds: number;
}

export interface WebhookBed extends AsyncDisposable {
  bed: SessionBed;
  node: ReturnType<SessionBed["addNode"]>;
  receiver: WebhookReceiver;
  /** Calls with the key of an owner. Throws a refusal. */
  call<Name extends keyof Registry>(
    action: Name,
    body: InputOf<Registry[Name]>,
    key?: string,
  ): Promise<ResultOf<Registry[Name]>>;
  /** Creates a webhook that sends every event to the receiver. Returns the stored id and the secret. */
  addWebhook(
    changes?: Partial<InputOf<Registry["create_webhook"]>>,
    key?: string,
  ): Promise<{ id: string; webhookId: string; secret: string }>;
  /** A further node that sends, when `deliver` or `pickUp` is called. */
  addSender(parts?: Partial<DeliveryParts>): TestSender;
  /** Inserts events of a session as the triggers do. Returns the stored id of the session. */
  addEvents(webhookId: string, count: number, subject?: string): Promise<string>;
  deliveriesOf(webhookId: string): Promise<TestDelivery[]>;
  /** Lets this much time pass for all deliveries. */
  passSeconds(seconds: number): Promise<void>;
}

export interface TestSender extends Deliveries {
  /** Sends what is due, and what follows it, until nothing is left. */
  deliver(): Promise<void>;
}

const everyEvent: InputOf<Registry["create_webhook"]>["events"] = [
  "turn_finished",
  "request_raised",
  "request_settled",
  "session_status",
  "host_status",
  "schedule_run_ended",
];

export async function openWebhookBed(): Promise<WebhookBed> {
  const bed = await openSessionBed();
  const node = bed.addNode();
  const receiver = await startWebhookReceiver();
  const senders: Deliveries[] = [];
  const owner = bed.organization.keys.owner;
  const isAnyDue = async () =>
    (
      await bed.sql(
        `SELECT FROM webhook_deliveries d JOIN webhooks w USING (organization_id, webhook_id)
          WHERE w.enabled AND d.state = 'waiting'
            AND (d.holder IS NOT NULL OR (NOT d.behind AND d.try_at <= hawser_now())) LIMIT 1`,
      )
    ).length > 0;
  const all: WebhookBed = {
    bed,
    node,
    receiver,
    call: async (action, body, key = owner) => (await node.result(action, body, { key })) as never,
    async addWebhook(changes = {}, key = owner) {
      const body = { url: receiver.url, events: everyEvent, ...changes };
      const { webhook, secret } = await all.call("create_webhook", body, key);
      return { id: parseId("webhook", webhook.webhookId)!, webhookId: webhook.webhookId, secret };
    },
    addSender(parts = {}) {
      const sender = createDeliveries({
        database: bed.service.database,
        nodeId: `node ${senders.length + 1}`,
        callerOfKey: bed.authenticator.callerOfKey,
        ...bed.webhooks,
        log: createLog("silent"),
        ...parts,
      });
      senders.push(sender);
      const deliver = async () => {
        const deadline = performance.now() + 30_000;
        do {
          assert.ok(performance.now() < deadline, "everything that is due is sent in 30 s");
          await sender.pickUp();
          await sender.settled();
        } while (await isAnyDue());
      };
      return { ...sender, deliver };
    },
    async addEvents(webhookId, count, subject = crypto.randomUUID()) {
      await bed.sql(
        `SELECT hawser_add_event(w.organization_id, 'turn_finished', $2, number, jsonb_build_object(
                  'sessionId', $2::uuid, 'turnId', 't' || number, 'outcome', 'completed', 'seq', number))
           FROM webhooks w, generate_series(1, $3::int) AS number WHERE w.webhook_id = $1`,
        [webhookId, subject, count],
      );
      return subject;
    },
    deliveriesOf: (webhookId) =>
      bed.sql<TestDelivery>(
        `SELECT delivery_id, event, state, behind, attempts, last_status, last_error, facts, seq::int,
                (extract(epoch FROM try_at) - extract(epoch FROM hawser_now()))::float8 AS wait_seconds
           FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY seq, delivery_id`,
        [webhookId],
      ),
    async passSeconds(seconds) {
      await bed.sql(
        `UPDATE webhook_deliveries
            SET try_at = try_at - make_interval(secs => $1), created_at = created_at - make_interval(secs => $1)`,
        [seconds],
      );
    },
    async [Symbol.asyncDispose]() {
      for (const sender of senders) sender.close();
      for (const sender of senders) await sender.settled();
      await receiver[Symbol.asyncDispose]();
      await bed[Symbol.asyncDispose]();
    },
  };
  return all;
}

/** The id of a delivery as a receiver sees it. */
export const shownId = ({ delivery_id }: Pick<TestDelivery, "delivery_id">) =>
  formatId("delivery", delivery_id);
