// Steps of scenarios about sessions: start one, send a prompt that contains the model's answers, and wait
// for the result. The agent is real; only the model is scripted.
import assert from "node:assert/strict";
import type { RequestRecord, SessionRecord, SessionUpdate, UpdateOf } from "@hawser/contract";
import type { Calls } from "@hawser/testkit/caller.ts";
import type { TestHost } from "@hawser/testkit/host.ts";
import { ask, bash, scripted, type Step } from "@hawser/testkit/scripted-steps.ts";
import type { World } from "@hawser/testkit/world.ts";
import { worktreeOf } from "@hawser/testkit/worktree-of.ts";
import { until } from "./scenario.ts";

export { ask, bash, scripted, worktreeOf, type Step };

/** An answer that takes two seconds for each word, so that its turn still runs when a test acts on it. */
export const slowly = (text = "one two three four five six seven eight nine ten"): Step => ({
  text,
  paceMs: 2_000,
});

/** The headers by which codex learns how much of its quota is used. */
export const usedQuota = (percent: number) => ({
  "x-codex-primary-used-percent": String(percent),
  "x-codex-primary-window-minutes": "300",
  "x-codex-primary-reset-at": String(Math.floor(Date.now() / 1000) + 3600),
});

export type StartInput = Omit<Parameters<Calls["start_session"]>[0], "instanceId">;

export function startSession(
  caller: Calls,
  host: TestHost,
  input: StartInput = {},
): Promise<SessionRecord> {
  const where = input.clone ? {} : { directory: host.repository };
  return startPlaced(caller, { instanceId: host.instanceId, ...where, ...input });
}

/**
 * Adds a host for sessions that are not about their agent. Its agent is codex, which starts in a tenth of
 * opencode's processor time.
 */
export async function addQuickHost(world: Pick<World, "addHost">) {
  const agentKind = "codex" as const;
  return { host: await world.addHost({ agents: [agentKind] }), agentKind };
}

/** Hosts whose opencode has been started. */
const warm = new Set<string>();

/**
 * Waits until the host's opencode runs. On a busy machine its first start can take longer than a call waits, and
 * no scenario about sessions is about that.
 */
export async function warmUp(caller: Calls, instanceId: string): Promise<void> {
  if (warm.has(instanceId)) return;
  warm.add(instanceId);
  const isOver = (error: unknown) => !/not ready in time|in_progress/.test(String(error));
  await until(
    "opencode runs",
    120_000,
    () => caller.list_models({ instanceId, agentKind: "opencode" }).then(() => true, isOver),
    (runs) => runs,
  );
}

/**
 * The agent kinds as the host itself lists them. On a busy machine the agents' first start can take longer than a call
 * waits, and the answer is then what is stored, without capabilities.
 */
export const untilKindsListed = (caller: Calls, instanceId: string) =>
  until(
    "the host lists its agents",
    120_000,
    () => caller.list_agent_kinds({ instanceId }),
    ({ live, agentKinds }) =>
      live && agentKinds.every((each) => !each.installed || each.capabilities.length > 0),
  );

/** Starts a session and waits until its clone is complete, if it has one. */
export async function startPlaced(
  caller: Calls,
  input: Parameters<Calls["start_session"]>[0],
): Promise<SessionRecord> {
  if ((input.agentKind ?? "opencode") === "opencode") await warmUp(caller, input.instanceId);
  const started = await caller.start_session(input);
  if (started.directory !== null) return started;
  // The clone took longer than the call waits.
  return until(
    "the clone is complete",
    60_000,
    () => caller.get_session_summary({ sessionId: started.sessionId }),
    ({ directory, status }) => directory !== null || status === "ended",
  );
}

export interface Event {
  seq: number;
  at: string;
  turnId: string | null;
  update: SessionUpdate;
}

/** The whole stored log. Asserts that it has no gap and no repeated entry. */
export const logOf = (caller: Calls, sessionId: string) => readLog(caller, sessionId, []);

/** Adds to the entries that were read before those that are stored since, with the same assertion. */
async function readLog(caller: Calls, sessionId: string, events: Event[]): Promise<Event[]> {
  for (;;) {
    const after = events.at(-1)?.seq ?? 0;
    const page = await caller.list_session_events({ sessionId, after, limit: 200 });
    events.push(...(page.events as Event[]));
    if (!page.hasMore) break;
  }
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, place) => place + 1),
  );
  return events;
}

/** Waits until the log fits, and returns it. Each time only the new entries are read. */
async function untilLog(
  caller: Calls,
  sessionId: string,
  what: string,
  patienceMs: number,
  fits: (events: readonly Event[]) => boolean,
): Promise<Event[]> {
  const events: Event[] = [];
  const startedAt = performance.now();
  while (!fits(await readLog(caller, sessionId, events))) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs >= patienceMs) {
      const end = JSON.stringify(events.slice(-10).map(({ update }) => update));
      assert.fail(`${what} within ${patienceMs} ms; the log ends with ${end}`);
    }
    // Entries stay, so a long wait need not look often.
    const pauseMs = Math.min(Math.max(waitedMs / 20, 50), 200);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return events;
}

/** The updates with this name. */
export function updatesOf<Name extends SessionUpdate["sessionUpdate"]>(
  events: readonly Event[],
  name: Name,
): UpdateOf<Name>[] {
  return events
    .map(({ update }) => update)
    .filter((update): update is UpdateOf<Name> => update.sessionUpdate === name);
}

/** The agent's messages, in order. */
export const saidIn = (events: readonly Event[]) =>
  updatesOf(events, "agent_message_chunk").map(({ content }) => content.text);

const turnMs = 40_000;

/** Waits until a turn has ended, and returns its entries. */
export async function untilEnd(caller: Calls, sessionId: string, turnId: string): Promise<Event[]> {
  const isOfTurn = (event: Event) => event.turnId === turnId;
  const hasEnded = (events: readonly Event[]) =>
    updatesOf(events.filter(isOfTurn), "turn_finished").length > 0;
  const events = await untilLog(caller, sessionId, "the turn ends", turnMs, hasEnded);
  return events.filter(isOfTurn);
}

/** Sends a prompt and waits until its turn has ended. */
export async function runTurn(
  caller: Calls,
  sessionId: string,
  text: string,
  more: Partial<Parameters<Calls["send_prompt"]>[0]> = {},
): Promise<Event[]> {
  const { turnId } = await caller.send_prompt({ ...more, sessionId, text });
  return untilEnd(caller, sessionId, turnId);
}

export const outcomeOf = (events: readonly Event[]) =>
  updatesOf(events, "turn_finished")[0]?.outcome;

/** The only open request of a session. */
export async function untilAsked(caller: Calls, sessionId: string): Promise<RequestRecord> {
  const { requests } = await until(
    "a request",
    turnMs,
    () => caller.list_pending_requests({ sessionId }),
    (listed) => listed.requests.length > 0,
  );
  assert.equal(requests.length, 1);
  return requests[0]!;
}

/** Waits until an entry of this name is in the log. */
export const untilLogged = (
  caller: Calls,
  sessionId: string,
  name: SessionUpdate["sessionUpdate"],
  wanted: (update: never) => boolean = () => true,
  patienceMs = turnMs,
) =>
  untilLog(caller, sessionId, `an entry ${name}`, patienceMs, (events) =>
    events.some(({ update }) => update.sessionUpdate === name && wanted(update as never)),
  );
