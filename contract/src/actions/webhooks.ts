// Webhooks: creating, changing, testing and deleting them, and the deliveries of their events.
import { z } from "zod";
import { action } from "../action.ts";
import { DeliveryId, WebhookId } from "../ids.ts";
import { Cursor, NextCursor, limit } from "../pages.ts";
import { DeliveryState, WebhookDelivery, WebhookEvent, WebhookRecord } from "../records/webhook.ts";
import { text } from "../text.ts";
import { WebhookUrl } from "../webhook-url.ts";

const Name = text({ max: 120 }).meta({ description: "A name for people." });

const Events = z
  .array(WebhookEvent)
  .min(1)
  .check((context) => {
    if (new Set(context.value).size < context.value.length) {
      context.issues.push({
        code: "custom",
        input: context.value,
        message: "must name each event once",
      });
    }
  })
  .meta({ uniqueItems: true, description: "Events to send." });

const Secret = z.string().meta({ description: "The signing secret, shown only here." });

export const webhookActions = {
  list_webhooks: action({
    summary: "List the organization's webhooks.",
    group: "webhooks",
    permission: "access:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({}),
    result: z.strictObject({ webhooks: z.array(WebhookRecord) }),
    refusals: [],
    closedToAgents: true,
  }),

  create_webhook: action({
    summary: "Send events to an https address, signed with a secret.",
    details: "Needs permission to view the events, at each delivery too.",
    group: "webhooks",
    permission: "access:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({ url: WebhookUrl, events: Events, name: Name.optional() }),
    result: z.strictObject({ webhook: WebhookRecord, secret: Secret }),
    needsFreshSignIn: true,
    refusals: ["limit_reached"],
    resultHoldsSecret: true,
    closedToAgents: true,
  }),

  update_webhook: action({
    summary: "Change a webhook, switch it off or on, or rotate its secret.",
    details: "Later deliveries act with the calling key.",
    group: "webhooks",
    permission: "access:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({
      webhookId: WebhookId,
      name: Name.nullable().optional(),
      url: WebhookUrl.optional(),
      events: Events.optional(),
      enabled: z.boolean().meta({ description: "False switches it off." }).optional(),
      rotateSecret: z
        .boolean()
        .meta({ description: "Makes a new secret; the old one signs too for a day." })
        .optional(),
    }),
    result: z.strictObject({
      webhook: WebhookRecord,
      secret: Secret.nullable().meta({ description: "The new secret; null unless rotated." }),
    }),
    needsFreshSignIn: true,
    refusals: ["not_found"],
    resultHoldsSecret: true,
    closedToAgents: true,
  }),

  delete_webhook: action({
    summary: "Delete a webhook; what it has not sent is dropped.",
    group: "webhooks",
    permission: "access:edit",
    effect: "destroys",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ webhookId: WebhookId }),
    result: z.strictObject({
      webhookId: WebhookId,
      deleted: z.literal(true).meta({ description: "Always true." }),
    }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  test_webhook: action({
    summary: "Send a test event to a webhook.",
    group: "webhooks",
    permission: "access:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({ webhookId: WebhookId }),
    result: WebhookDelivery,
    refusals: ["not_found", "webhook_disabled"],
    closedToAgents: true,
  }),

  list_webhook_deliveries: action({
    summary: "Page through the deliveries of a webhook, the newest first.",
    group: "webhooks",
    permission: "access:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      webhookId: WebhookId,
      state: DeliveryState.optional(),
      cursor: Cursor.optional(),
      limit: limit({ max: 200, default: 50 }),
    }),
    result: z.strictObject({ deliveries: z.array(WebhookDelivery), nextCursor: NextCursor }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  redeliver_webhook: action({
    summary: "Send a delivery again with the same id, after earlier ones of its session.",
    group: "webhooks",
    permission: "access:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({ deliveryId: DeliveryId }),
    result: WebhookDelivery,
    refusals: ["not_found", "webhook_disabled"],
    closedToAgents: true,
  }),
};
