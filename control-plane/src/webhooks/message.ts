// The message of an event, as a receiver gets it: JSON with ids and words, and the headers of Standard Webhooks
// with its signature (https://www.standardwebhooks.com).
import { createHmac, hkdfSync } from "node:crypto";
import { formatId, type IdKind } from "@hawser/contract";

export interface Message {
  headers: Record<string, string>;
  body: string;
}

/** An event as it is stored. */
export interface StoredEvent {
  delivery_id: string;
  event: string;
  facts: Record<string, unknown>;
  created_at: string;
}

/** Computes the secret of a webhook from what is stored of it. */
export type SecretOf = (webhookId: string, salt: Buffer) => Buffer;

/** `key`: a secret of the service. Without it, what is stored of webhooks leads to none of their secrets. */
export const createSecretOf =
  (key: Buffer): SecretOf =>
  (webhookId, salt) =>
    Buffer.from(hkdfSync("sha256", key, salt, `webhook ${webhookId}`, 32));

/** A secret as people copy it, and as libraries of Standard Webhooks read it. */
export const secretText = (secret: Buffer) => `whsec_${secret.toString("base64")}`;

/** `seconds`: the time of this attempt, which is signed. Each secret adds a signature. */
export function makeMessage(event: StoredEvent, seconds: number, secrets: Buffer[]): Message {
  const id = formatId("delivery", event.delivery_id);
  const body = JSON.stringify({
    type: event.event,
    timestamp: event.created_at,
    data: dataOf(event.facts),
  });
  const sign = (secret: Buffer) =>
    `v1,${createHmac("sha256", secret).update(`${id}.${seconds}.${body}`).digest("base64")}`;
  return {
    headers: {
      "content-type": "application/json",
      "user-agent": "Hawser-Webhooks/1",
      "webhook-id": id,
      "webhook-timestamp": String(seconds),
      "webhook-signature": secrets.map(sign).join(" "),
    },
    body,
  };
}

const idKinds: Record<string, IdKind> = {
  sessionId: "session",
  instanceId: "instance",
  requestId: "request",
  scheduleId: "schedule",
  triggerId: "trigger",
  runId: "run",
  webhookId: "webhook",
};

/** The facts with ids as callers see them. */
function dataOf(facts: Record<string, unknown>): Record<string, unknown> {
  const shown = Object.entries(facts).map(([name, value]) => {
    const kind = idKinds[name];
    return [name, kind && typeof value === "string" ? formatId(kind, value) : value];
  });
  return Object.fromEntries(shown) as Record<string, unknown>;
}
