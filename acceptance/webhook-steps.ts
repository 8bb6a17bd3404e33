// Steps of scenarios about webhooks: create one for a receiver on a loopback port, and wait for its messages.
import type { WebhookDelivery, WebhookEvent } from "@hawser/contract";
import type { Calls } from "@hawser/testkit/caller.ts";
import type { ReceivedMessage, WebhookReceiver } from "@hawser/testkit/webhook-receiver.ts";
import { until } from "./scenario.ts";

/** Every event that a webhook can ask for. */
export const everyEvent: WebhookEvent[] = [
  "turn_finished",
  "request_raised",
  "request_settled",
  "session_status",
  "host_status",
  "schedule_run_ended",
];

export async function addWebhook(
  caller: Calls,
  { url }: Pick<WebhookReceiver, "url">,
  events = everyEvent,
) {
  const { webhook, secret } = await caller.create_webhook({ url, events });
  return { webhookId: webhook.webhookId, secret };
}

/** Waits for a message of this type, of any or of the given session or host. */
export async function untilReceived(
  { messages }: WebhookReceiver,
  type: string,
  about: Record<string, unknown> = {},
): Promise<ReceivedMessage> {
  const isIt = (message: ReceivedMessage) =>
    message.type === type &&
    Object.entries(about).every(([name, value]) => message.data[name] === value);
  const found = await until(
    `a message ${type} arrives`,
    60_000,
    () => Promise.resolve(messages.find(isIt)),
    (message) => message !== undefined,
  );
  return found!;
}

/** Sends a test event, and waits until an attempt was made. */
export async function tryOnce(caller: Calls, webhookId: string): Promise<WebhookDelivery> {
  const { deliveryId } = await caller.test_webhook({ webhookId });
  const found = await until(
    "an attempt is made",
    30_000,
    async () => {
      const { deliveries } = await caller.list_webhook_deliveries({ webhookId });
      return deliveries.find((each) => each.deliveryId === deliveryId);
    },
    (delivery) => delivery!.attempts > 0,
  );
  return found!;
}
