// Webhooks: where events are sent, and the deliveries of those events.
import { z } from "zod";
import { DeliveryId, WebhookId } from "../ids.ts";
import { CreatedAt, Instant } from "../moments.ts";
import type { Permission } from "../permissions.ts";
import { Caller } from "./actor.ts";

/** The events that a webhook can ask for, each with the permission that its key needs to receive it. */
export const webhookEvents = {
  turn_finished: "sessions:view",
  request_raised: "sessions:view",
  request_settled: "sessions:view",
  session_status: "sessions:view",
  host_status: "instances:view",
  schedule_run_ended: "sessions:view",
} as const satisfies Record<string, Permission>;
export type WebhookEvent = keyof typeof webhookEvents;

export const WebhookEvent = z
  .enum(Object.keys(webhookEvents) as [WebhookEvent, ...WebhookEvent[]])
  .meta({ description: "What has happened." });

export const WebhookRecord = z
  .strictObject({
    webhookId: WebhookId,
    name: z.string().nullable().meta({ description: "A name for people." }),
    url: z.string().meta({ description: "Where events are sent." }),
    events: z.array(WebhookEvent).meta({ description: "Which events are sent." }),
    enabled: z.boolean().meta({ description: "False while it is switched off." }),
    disabledReason: z
      .string()
      .nullable()
      .meta({ description: "Why the service switched it off; null if it did not." }),
    failingSince: Instant.nullable().meta({
      description:
        "The first failure since the last success, or since `enabled` or `url` was last set; null if there was none.",
    }),
    actsAs: Caller.meta({
      description:
        "Who created or changed it last. Events are sent as long as the key of that call may see them.",
    }),
    createdBy: Caller,
    createdAt: CreatedAt,
  })
  .meta({ id: "Webhook", description: "An address that events are sent to." });
export type WebhookRecord = z.infer<typeof WebhookRecord>;

/** Why an attempt failed. */
export const DeliveryError = z
  .enum([
    "address_not_allowed",
    "name_not_found",
    "connection_failed",
    "tls_failed",
    "timeout",
    "redirected",
    "bad_status",
  ])
  .meta({
    description:
      "address_not_allowed: the address is private, or its port is not open to webhooks. redirected: redirects are not followed. bad_status: any other status than 2xx.",
  });
export type DeliveryError = z.infer<typeof DeliveryError>;

export const DeliveryState = z
  .enum(["waiting", "sending", "delivered", "failed"])
  .meta({ description: "failed: it is not tried again." });

export const WebhookDelivery = z
  .strictObject({
    deliveryId: DeliveryId.meta({ description: "The webhook-id header of the message." }),
    event: z.enum([...WebhookEvent.options, "test"]).meta({ description: "What has happened." }),
    state: DeliveryState,
    attempts: z
      .int()
      .min(0)
      .meta({ description: "Attempts that have ended. redeliver_webhook starts the count again." }),
    lastStatus: z
      .int()
      .nullable()
      .meta({ description: "HTTP status of the last attempt; null if there was no answer." }),
    lastError: DeliveryError.nullable().meta({
      description: "Why the last attempt failed; null if it succeeded, or if there was none.",
    }),
    nextTryAt: Instant.nullable().meta({
      description:
        "When it may be tried next. An earlier delivery of the same session, or a webhook that is switched off, delays it further. Null if it is not waiting, or is held behind an earlier delivery.",
    }),
    createdAt: CreatedAt,
    endedAt: Instant.nullable().meta({ description: "When it was delivered or given up." }),
  })
  .meta({ id: "WebhookDelivery", description: "One event on its way to a webhook." });
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;
