// Receives what is sent to a trigger's address: checks the signature, reads the event, and records a run. The body is
// read only if the trigger exists and the headers have the form of a signature, and parsed only if it is signed.
import { createHash } from "node:crypto";
import { Refusal, formatId } from "@hawser/contract";
import type { TokenBuckets } from "../dispatch/token-bucket.ts";
import type { SystemDatabase } from "../postgres/database.ts";
import { createValueCount } from "../transports/value-count.ts";
import { createForgedCount } from "./forged.ts";
import { readGithubEvent, type Read } from "./github.ts";
import { secretOf } from "./secret.ts";
import * as signatures from "./signatures.ts";
import * as store from "./store.ts";
import { markUntrusted } from "./untrusted.ts";

export interface Delivery {
  /** The stored id of the trigger; null if the address contains no id. */
  id: string | null;
  headers: signatures.Headers;
  /** Called only for a trigger that exists. */
  readBody: (triggerId: string) => Promise<Buffer>;
  callId: string;
}

export type Received = { runId: string } | { ignored: string };

export interface ReceiveParts {
  database: SystemDatabase;
  triggerSecret: Buffer;
  /** How many signed deliveries a trigger accepts. */
  limit: TokenBuckets;
}

const retryWhenFullMs = 60_000;

/** The result throws `unauthenticated`, in the same way for an unknown trigger and for a wrong signature. */
export function createReceive(parts: ReceiveParts): (delivery: Delivery) => Promise<Received> {
  const countForged = createForgedCount(parts.database);
  return async (delivery) => {
    const { system } = parts.database;
    const trigger = delivery.id && (await system.first(store.selectAddressed, delivery.id));
    if (!trigger) throw notSigned();
    const event = looksSigned(trigger, delivery) && (await readSigned(parts, trigger, delivery));
    if (!event || "refused" in event) {
      await countForged(trigger, delivery.callId);
      throw event ? new Refusal("unauthenticated", event.refused) : notSigned();
    }
    return "ignored" in event ? event : startRun(parts, trigger, event);
  };
}

interface Event {
  /** What makes a delivery the same one. */
  deliveryId: string;
  /** What follows the prompt. */
  text: string;
}

/**
 * Undefined if the body is not signed. `refused`: why a signed one is not accepted either. The result does not contain
 * the body, which may be large.
 */
async function readSigned(
  { triggerSecret, limit }: ReceiveParts,
  trigger: store.AddressedRow,
  { headers, readBody }: Delivery,
): Promise<Event | { ignored: string } | { refused: string } | undefined> {
  const { schedule_id, salts, source, now_seconds } = trigger;
  const body = await readBody(schedule_id);
  const secrets = salts.map((salt) => secretOf(triggerSecret, salt));
  if (!secrets.some((secret) => isSigned(trigger, secret, headers, body))) return undefined;
  const objection =
    source === "json" ? signatures.objectToStandardWebhook(headers, now_seconds) : null;
  if (objection !== null) return { refused: objection };
  // Only signed deliveries count: others must not use up what the rightful sender may send.
  const { retryAfterMs } = limit.take(schedule_id);
  if (retryAfterMs !== undefined) throw tooMany(retryAfterMs);
  const read = readEvent(trigger, headers, body);
  if ("ignored" in read) return read;
  const sender = source === "github" ? "GitHub" : "another system";
  return {
    deliveryId: deliveryIdOf(trigger, headers, body),
    text: markUntrusted(sender, read.text),
  };
}

const looksSigned = ({ source }: store.AddressedRow, { headers }: Delivery) =>
  source === "github"
    ? signatures.looksSignedByGithub(headers)
    : signatures.looksLikeStandardWebhook(headers);

const isSigned = (
  { source }: store.AddressedRow,
  secret: string,
  headers: signatures.Headers,
  body: Buffer,
) =>
  source === "github"
    ? signatures.isSignedByGithub(secret, headers, body)
    : signatures.isStandardWebhook(secret, headers, body);

const tooMany = (retryAfterMs: number) =>
  new Refusal("rate_limited", "Too many deliveries arrive at once. Send this one later.", {
    retryAfterMs,
  });

function notSigned(): Refusal {
  return new Refusal(
    "unauthenticated",
    "There is no trigger at this address, or the delivery is not signed with its secret. Compare address and secret with the result of create_trigger. GitHub's key is the whole secret; that of Standard Webhooks is the part after whsec_, decoded from base64.",
  );
}

/** Throws `invalid_input` if the body is not what its source sends. */
function readEvent(
  { source, events, command_word }: store.AddressedRow,
  headers: signatures.Headers,
  body: Buffer,
): Read {
  createValueCount()(body);
  const text = decode(body);
  const parsed = parse(text);
  if (source === "json") return { text };
  const name = signatures.headerOf(headers, "x-github-event");
  if (name === "ping") return { ignored: "GitHub only checks the address." };
  const read = readGithubEvent(name, parsed, { events, commandWord: command_word! });
  if (!read) throw new Refusal("invalid_input", "The body is not an event of GitHub.");
  return read;
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw notJson();
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw notJson();
  }
}

const notJson = () =>
  new Refusal(
    "invalid_input",
    "The body is not JSON. In the settings of a GitHub webhook, choose the content type application/json.",
  );

/**
 * What makes a delivery the same one. GitHub signs only the body, so a recorded delivery could be sent again with
 * another id in its header: its body decides. Standard Webhooks sign the id.
 */
function deliveryIdOf(
  { source }: store.AddressedRow,
  headers: signatures.Headers,
  body: Buffer,
): string {
  return source === "github"
    ? createHash("sha256").update(body).digest("hex")
    : signatures.headerOf(headers, "webhook-id");
}

function startRun(
  { database }: ReceiveParts,
  { organization_id, schedule_id }: store.AddressedRow,
  { deliveryId, text }: Event,
): Promise<Received> {
  const key = [organization_id, schedule_id] as const;
  return database.systemTransaction(async (tx): Promise<Received> => {
    const trigger = await tx.first(store.lockAddressed, ...key);
    if (!trigger) throw notSigned();
    const known = await tx.first(store.selectDelivered, ...key, deliveryId);
    if (known) return { runId: formatId("run", known.run_id) };
    if (!trigger.enabled) {
      return { ignored: `The trigger is paused. ${trigger.pause_reason ?? ""}`.trimEnd() };
    }
    const made = await tx.first(store.insertDelivered, ...key, deliveryId, text);
    if (made) return { runId: formatId("run", made.run_id) };
    throw new Refusal(
      "rate_limited",
      "Too many deliveries wait for their turn, of this trigger or of all triggers of its organization. Send this one again later, or let fewer events start runs.",
      { retryAfterMs: retryWhenFullMs },
    );
  });
}
