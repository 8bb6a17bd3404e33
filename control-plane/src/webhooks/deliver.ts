// Sends the events of webhooks, on every node: picks up deliveries that are due, makes an attempt for each, and
// records the result. The database decides which node sends what, so any number of nodes can, and any of them can
// stop at any moment; then another one sends its deliveries again.
import { webhookEvents, type WebhookEvent } from "@hawser/contract";
import type { Authenticator } from "../access/authenticate.ts";
import type { Caller } from "../dispatch/caller.ts";
import { startRounds } from "../leases/rounds.ts";
import type { Log } from "../log.ts";
import { oneAtATime } from "../one-at-a-time.ts";
import type { SystemDatabase } from "../postgres/database.ts";
import { inGroups } from "../postgres/in-groups.ts";
import { query } from "../postgres/statement.ts";
import type { Addresses } from "./addresses.ts";
import * as store from "./delivery-store.ts";
import { makeMessage, type SecretOf } from "./message.ts";
import { send } from "./send.ts";

export interface DeliveryParts {
  database: Pick<SystemDatabase, "system" | "waitingAtMost">;
  nodeId: string;
  callerOfKey: Authenticator["callerOfKey"];
  secretOf: SecretOf;
  addresses: Addresses;
  /** Pauses before the second attempt and the following ones. After the last, the delivery has failed. */
  retrySeconds?: readonly number[];
  /** Called for each delivery with how late it was picked up. */
  observeLateness?: (seconds: number) => void;
  log: Log;
}

export interface Deliveries {
  /** Begins to send, as many as the node may. Returns how many. */
  pickUp(): Promise<number>;
  /** Lets deliveries follow that were added while the previous one ended. Call it before each search for work. */
  releaseEnded(): Promise<void>;
  /** Looks at deliveries that wait for an earlier one, in case its node died when it ended. */
  lookAgain(): Promise<void>;
  /** Ends when the attempts of this node have ended. */
  settled(): Promise<void>;
  /** Picks up no more deliveries by itself. */
  close(): void;
}

const minute = 60;
const hour = 60 * minute;
const usualRetrySeconds = [5, 30, 2 * minute, 10 * minute, hour, 4 * hour, 12 * hour, 24 * hour];
/** A pause is longer by up to this part of it, so that deliveries that failed together are not repeated together. */
const jitter = 0.25;

/** Attempts that one node makes at once, in total, of one organization, and of one webhook. */
const mostSent = 200;
const mostOfOrganization = 50;
const mostOfWebhook = 10;
/** Places for organizations for which the node sends nothing yet. */
const reserved = 50;
/** Deliveries that are looked at again in one statement, and statements in one round. */
const mostLooked = 5_000;
const mostBatches = 4;

const sweepEveryMs = 500;
const lookEveryMs = 5_000;

export function createDeliveries(parts: DeliveryParts): Deliveries {
  const { database, nodeId, callerOfKey, log, retrySeconds = usualRetrySeconds } = parts;
  const { system } = database;
  const sending = new Map<store.SendingRow, Promise<void>>();
  let isClosed = false;
  /** Deliveries that ended since the last call of `releaseEnded`, and before it. */
  let ended: store.SendingRow[] = [];
  let endedBefore: store.SendingRow[] = [];

  const pickUp = oneAtATime(async () => {
    const free = mostSent - sending.size;
    if (free <= 0 || isClosed) return 0;
    const ofWebhooks = counts("webhook_id");
    const ofOrganizations = counts("organization_id");
    const rows = await system.rows(
      store.pickUp,
      nodeId,
      ...ofWebhooks,
      mostOfWebhook,
      ...ofOrganizations,
      mostOfOrganization,
      free,
      free - reserved,
    );
    const callers = new Map<string, Promise<Caller | undefined>>();
    for (const row of rows) {
      parts.observeLateness?.(row.late_seconds);
      const key = `${row.organization_id} ${row.api_key_id}`;
      const caller = callers.get(key) ?? callerOfKey(row.organization_id, row.api_key_id);
      callers.set(key, caller);
      sending.set(row, work(row, caller));
    }
    return rows.length;
  });

  function counts(of: "webhook_id" | "organization_id"): [string[], number[]] {
    const groups = Map.groupBy(sending.keys(), (row) => row[of]);
    return [[...groups.keys()], [...groups.values()].map((rows) => rows.length)];
  }

  async function work(row: store.SendingRow, caller: Promise<Caller | undefined>): Promise<void> {
    const { organization_id, webhook_id, delivery_id, fence } = row;
    try {
      const objection = objectTo(await caller, row.event);
      if (objection === null) await attempt(row);
      else {
        await system.rows(store.switchOff, organization_id, webhook_id, row.api_key_id, objection);
        await system.rows(store.giveBack, organization_id, webhook_id, delivery_id, fence);
      }
    } catch (error) {
      // Its lease ends soon, and then a node sends it again.
      log.warn({ err: error, deliveryId: delivery_id }, "the result of a delivery was not stored");
    } finally {
      sending.delete(row);
    }
    // There may be deliveries that had no place, or that waited for this one.
    if (!isClosed) void pickUp().catch(noteFailure);
  }

  async function attempt(row: store.SendingRow): Promise<void> {
    const { organization_id, webhook_id, subject_id, delivery_id, fence } = row;
    const salts = [row.salt, ...(row.previous_salt ? [row.previous_salt] : [])];
    const secrets = salts.map((salt) => parts.secretOf(webhook_id, salt));
    const message = makeMessage(row, row.now_seconds, secrets);
    const { status, error } = await send(parts.addresses, row.url, message);
    const pause = error === null || status === 410 ? undefined : retrySeconds[row.attempts];
    const retry_seconds = pause === undefined ? null : pause * (1 + Math.random() * jitter);
    const keys = { organization_id, webhook_id, subject_id, delivery_id, fence };
    await end({ ...keys, status, error, retry_seconds });
    if (retry_seconds === null) ended.push(row);
  }

  const end = inGroups(async (ends: store.AttemptEnd[], lockMs) => {
    const text = JSON.stringify(ends);
    const { system: briefly } = database.waitingAtMost(lockMs);
    await briefly.together(
      query(store.endAttempts, text),
      query(
        store.releaseFirst,
        ...chainsOf(ends.filter(({ retry_seconds }) => retry_seconds === null)),
      ),
      query(store.noteHealth, text),
    );
    return ends.map(() => undefined);
  });

  const noteFailure = (error: unknown) => log.warn({ err: error }, "deliveries were not picked up");

  return {
    pickUp,
    // A transaction that adds a delivery may not see the end of the one before, and be committed a moment later than
    // that end. So each chain is looked at twice more.
    async releaseEnded() {
      const rows = [...ended, ...endedBefore];
      endedBefore = ended;
      ended = [];
      if (rows.length === 0) return;
      await system.rows(store.releaseFirst, ...chainsOf(rows));
    },
    async lookAgain() {
      for (let batch = 0; batch < mostBatches; batch++) {
        if ((await system.rows(store.lookAgain, mostLooked)).length < mostLooked) return;
      }
    },
    async settled() {
      await Promise.allSettled(sending.values());
    },
    close: () => void (isClosed = true),
  };
}

/** The webhooks and subjects of these deliveries. */
function chainsOf(rows: { webhook_id: string; subject_id: string }[]): [string[], string[]] {
  return [rows.map(({ webhook_id }) => webhook_id), rows.map(({ subject_id }) => subject_id)];
}

const keyIsGone =
  "The API key that it acts with was revoked, has expired, or belongs to a user who has left. Switch it on with update_webhook and your key, so that it acts with yours.";

/** Why an event may not be sent with this key; null if it may. */
function objectTo(caller: Caller | undefined, event: string): string | null {
  if (!caller) return keyIsGone;
  const seen = event === "test" ? [] : [webhookEvents[event as WebhookEvent]];
  const missing = ["access:edit" as const, ...seen].filter((each) => !caller.permissions.has(each));
  if (missing.length === 0) return null;
  return `The API key that it acts with lacks ${missing.join(" and ")}. Switch it on with update_webhook and a key that has these permissions.`;
}

/** Sends from now on. */
export function startDelivering(parts: DeliveryParts): { close(): Promise<void> } {
  const deliveries = createDeliveries(parts);
  async function sendWaiting(): Promise<void> {
    await deliveries.releaseEnded();
    await deliveries.pickUp();
  }

  const rounds = [
    startRounds("webhooks", [sendWaiting], parts.log, sweepEveryMs),
    startRounds("webhooks", [() => deliveries.lookAgain()], parts.log, lookEveryMs),
  ];
  return {
    async close() {
      deliveries.close();
      await Promise.all(rounds.map((each) => each.close(deliveries.settled())));
    },
  };
}
