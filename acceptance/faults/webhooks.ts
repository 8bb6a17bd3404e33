// `npm run faults -- webhooks`: many events for receivers that fail, hang, redirect and reset at random, while a
// node is killed. Each event must arrive, signed and in the order of its session; a receiver that never answers must
// not delay another organization.
import { setTimeout as sleep } from "node:timers/promises";
import { parseId, type WebhookEvent } from "@hawser/contract";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { until } from "@hawser/testkit/until.ts";
import {
  startWebhookReceiver,
  verifyMessage,
  type ReceivedMessage,
  type ReceiverAnswer,
  type WebhookReceiver,
} from "@hawser/testkit/webhook-receiver.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";
import { randomFrom } from "../fuzz/random.ts";
import { violation, type Violation } from "./violation.ts";

export interface WebhookFaultOptions {
  seed: string;
  /** Deliveries to the receivers that fail at random. */
  deliveries: number;
  onNote?: (line: string) => void;
}

export interface WebhookFaultResult {
  seed: string;
  deliveries: number;
  /** Messages that arrived, and how many of them were accepted more than once. */
  messages: number;
  repeats: number;
  /** Milliseconds from an event of the other organization until it arrived, without the one that the kill interrupts. */
  otherMs: { median: number; p99: number };
  /** Milliseconds until the event arrived that was behind the one which the killed node was sending. */
  interruptedMs: number;
  injections: string[];
  seconds: number;
  violations: Violation[];
}

const receivers = 4;
const sessions = 50;
const hangingEvents = 1_000;
/** A receiver fails no message more often, so that none is given up. */
const mostFailures = 5;
const patienceMs = 600_000;
const otherWithinMs = 1_000;
/** Another node sends what a killed one was sending after 30 seconds, and nodes search twice a second. */
const interruptedWithinMs = 35_000;

/** What one webhook has seen. */
export interface Seen {
  webhook: string;
  expected: { session: string; seq: number }[];
  /** Messages that the receiver accepted, in the order of their arrival. */
  accepted: { session: string; seq: number; id: string }[];
  /** Messages with a wrong signature. */
  forged: string[];
}

export async function runWebhookFaults(options: WebhookFaultOptions): Promise<WebhookFaultResult> {
  const note = options.onNote ?? (() => {});
  const began = performance.now();
  const injections: string[] = [];
  await using parts = new AsyncDisposableStack();
  const world = parts.use(
    await startWorld({ nodes: 3, environment: { HAWSER_WEBHOOK_NETWORKS: "127.0.0.0/8" } }),
  );
  const [acme, globex] = world.organizations;
  const rounds = Math.ceil(options.deliveries / receivers / sessions);
  const { instanceId } = (await world.caller.create_instance({ name: "box" })).instance;
  const sessionIds = await insertSessions(world, acme, { instanceId, count: sessions });
  const expected = sessionIds.flatMap((session) =>
    Array.from({ length: rounds }, (_, at) => ({ session, seq: at + 1 })),
  );

  const watched: { receiver: WebhookReceiver; seen: Seen }[] = [];
  for (let number = 0; number < receivers; number++) {
    const receiver = parts.use(await startWebhookReceiver());
    const secret = await addWebhook(world, receiver, ["turn_finished"]);
    const seen: Seen = { webhook: `webhook ${number}`, expected, accepted: [], forged: [] };
    receiver.answer = answerAtRandom(`${options.seed} ${number}`, secret, seen);
    watched.push({ receiver, seen });
  }
  const hanging = parts.use(await startWebhookReceiver());
  hanging.answer = () => ({ hang: true });
  await addWebhook(world, hanging, ["session_status"]);
  const other = parts.use(await startWebhookReceiver());
  await addWebhook(world, other, ["session_status"], globex.keys.owner);

  await hang(world, instanceId);
  const ending = new AbortController();
  const others: OtherEvent[] = [];
  const sending = sendForOther(world, other, others, ending.signal);
  const retrying = letRetriesCome(world, ending.signal);
  const adding = addTurns(world, sessionIds, rounds);
  const accepted = () => watched.reduce((sum, { seen }) => sum + countAccepted(seen), 0);
  const all = expected.length * receivers;
  await until("a third is delivered", () => accepted() > all / 3, patienceMs);
  const killed = await killWhileSending(world, other);
  injections.push(`node ${killed.pid} killed after ${accepted()} of ${all} deliveries`);
  note(injections[0]!);
  await adding;
  await until("everything is delivered", () => accepted() === all, patienceMs);
  // Events of this session are sent one after the other, so the kill interrupts exactly one.
  const isInterrupted = ({ sentAt, tookMs }: OtherEvent) =>
    sentAt < killed.at + otherWithinMs && sentAt + tookMs > killed.at + otherWithinMs;
  await until("the interrupted event arrives", () => others.some(isInterrupted), patienceMs);
  ending.abort();
  await Promise.all([retrying, sending]);
  const interruptedMs = Math.round(others.find(isInterrupted)!.tookMs);
  const times = others
    .filter((event) => !isInterrupted(event))
    .map(({ tookMs }) => tookMs)
    .toSorted((one, two) => one - two);
  const at = (share: number) => Math.round(times[Math.floor((times.length - 1) * share)] ?? 0);
  const otherMs = { median: at(0.5), p99: at(0.99) };
  const violations = watched.flatMap(({ seen }) => check(seen));
  if (otherMs.p99 >= otherWithinMs) {
    const rule = "a receiver that never answers delays another organization by less than a second";
    violations.push(violation(rule, `p99 ${otherMs.p99} ms of ${times.length} events`));
  }
  if (interruptedMs >= interruptedWithinMs) {
    const rule = "another node sends soon what a killed one was sending";
    violations.push(violation(rule, `after ${interruptedMs} ms`));
  }
  const messages = watched.reduce((sum, { receiver }) => sum + receiver.messages.length, 0);
  const repeats = watched.reduce((sum, { seen }) => sum + seen.accepted.length, 0) - all;
  const seconds = Math.round((performance.now() - began) / 1000);
  const { seed } = options;
  const counts = { deliveries: all, messages, repeats };
  return { seed, ...counts, otherMs, interruptedMs, injections, seconds, violations };
}

async function addWebhook(
  world: World,
  { url }: WebhookReceiver,
  events: WebhookEvent[],
  key = world.organizations[0].keys.owner,
): Promise<string> {
  return (await world.callerFor(key).create_webhook({ url, events })).secret;
}

function answerAtRandom(seed: string, secret: string, seen: Seen): WebhookReceiver["answer"] {
  const failures = new Map<string, number>();
  return (message) => {
    const id = message.headers["webhook-id"]!;
    try {
      verifyMessage(secret, message);
    } catch (error) {
      seen.forged.push(`${id}: ${String(error)}`);
    }
    const failed = failures.get(id) ?? 0;
    const answer = failed >= mostFailures ? { status: 200 } : chosen(`${seed} ${id} ${failed}`);
    if ("status" in answer && answer.status === 200) seen.accepted.push({ id, ...factOf(message) });
    else failures.set(id, failed + 1);
    return answer;
  };
}

/** The receiver accepts about 70 of 100 messages, and does not answer one of them at all. */
function chosen(seed: string): ReceiverAnswer {
  const number = randomFrom(seed).below(100);
  if (number < 70) return { status: 200 };
  if (number < 80) return { status: 503 };
  if (number < 90) return { reset: true };
  return number < 99 ? { redirect: "http://127.0.0.2/" } : { hang: true };
}

const factOf = ({ data }: ReceivedMessage) => ({
  session: data["sessionId"] as string,
  seq: data["seq"] as number,
});

const countAccepted = ({ accepted }: Seen) => new Set(accepted.map(({ id }) => id)).size;

/** Adds a finished turn to the log of each session, again and again. */
async function addTurns(world: World, sessionIds: string[], rounds: number): Promise<void> {
  const organizationId = parseId("organization", world.organizations[0].organizationId);
  const ids = sessionIds.map((id) => parseId("session", id));
  for (let seq = 1; seq <= rounds; seq++) {
    await ownerSql(
      world.database.url,
      `INSERT INTO session_log (session_id, seq, organization_id, at, turn_id, entry_type, update)
       SELECT id, $2::bigint, $3, hawser_now(), 't' || $2::bigint, 'turn_finished',
              '{"sessionUpdate": "turn_finished", "outcome": "completed", "reason": null}'
         FROM unnest($1::uuid[]) AS id`,
      [ids, seq, organizationId],
    );
  }
}

/** Lets the status of many sessions change, for the receiver that never answers. */
async function hang(world: World, instanceId: string): Promise<void> {
  const [acme] = world.organizations;
  const ids = await insertSessions(world, acme, { instanceId, count: hangingEvents });
  await setStatus(
    world,
    ids.map((id) => parseId("session", id)!),
    "error",
  );
}

async function setStatus(world: World, ids: string[], status: string): Promise<void> {
  await ownerSql(
    world.database.url,
    `UPDATE sessions SET status = $2 WHERE session_id = ANY ($1::uuid[])`,
    [ids, status],
  );
}

/** Lets the time of each retry come at once. Deliveries that a node sends are left alone. */
async function letRetriesCome(world: World, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await ownerSql(
      world.database.url,
      `UPDATE webhook_deliveries SET try_at = hawser_now()
        WHERE state = 'waiting' AND NOT behind AND holder IS NULL AND attempts > 0 AND try_at > hawser_now()`,
    );
    await sleep(250);
  }
}

interface OtherEvent {
  sentAt: number;
  tookMs: number;
}

/** Sends one event of the other organization after the other, and adds to `events` when it was and how long it took. */
async function sendForOther(
  world: World,
  { messages }: WebhookReceiver,
  events: OtherEvent[],
  signal: AbortSignal,
): Promise<void> {
  const [, globex] = world.organizations;
  const caller = world.callerFor(globex.keys.owner);
  const { instanceId } = (await caller.create_instance({ name: "other" })).instance;
  const [shownId] = await insertSessions(world, globex, { instanceId });
  const id = parseId("session", shownId!)!;
  // A message that is repeated has the same id.
  const arrived = () => new Set(messages.map(({ headers }) => headers["webhook-id"])).size;
  for (let status = "error"; !signal.aborted; status = status === "error" ? "active" : "error") {
    const before = arrived();
    const sentAt = performance.now();
    await setStatus(world, [id], status);
    await until("the other organization's event arrives", () => arrived() > before, 60_000);
    events.push({ sentAt, tookMs: messages.at(-1)!.at - sentAt });
    await sleep(50);
  }
}

/** Kills the node that is sending an event of the other organization. */
async function killWhileSending(world: World, other: WebhookReceiver) {
  const before = other.messages.length;
  other.answer = () => ({ hang: true });
  await until("an event is being sent", () => other.messages.length > before);
  const organizationId = parseId("organization", world.organizations[1].organizationId);
  const [row] = await ownerSql<{ holder: string }>(
    world.database.url,
    `SELECT holder FROM webhook_deliveries
      WHERE organization_id = $1 AND state = 'waiting' AND holder IS NOT NULL`,
    [organizationId],
  );
  const node = world.nodes.find(({ log }) =>
    log.some(({ msg, nodeId }) => msg === "node ready" && nodeId === row!.holder),
  )!;
  node.process.kill("SIGKILL");
  other.answer = () => ({ status: 200 });
  return { pid: node.pid, at: performance.now() };
}

/** What must be true of a webhook whose receiver failed at random. */
export function check({ webhook, expected, accepted, forged }: Seen): Violation[] {
  const violations = forged.map((line) => violation("every message is signed", webhook, line));
  const keyOf = ({ session, seq }: { session: string; seq: number }) => `${session} ${seq}`;
  const known = new Set(accepted.map(keyOf));
  for (const event of expected) {
    if (!known.has(keyOf(event))) violations.push(violation("every event arrives", webhook, event));
  }
  const last = new Map<string, number>();
  for (const event of accepted) {
    if (!known.delete(keyOf(event))) continue;
    const before = last.get(event.session) ?? 0;
    if (event.seq < before) {
      const rule = "the events of a session arrive in the order of seq";
      violations.push(violation(rule, webhook, event, `after ${before}`));
    }
    last.set(event.session, event.seq);
  }
  return violations;
}
