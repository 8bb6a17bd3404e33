// Steps of scenarios about triggers: create one, send it what GitHub or another system would send, and read its runs.
import assert from "node:assert/strict";
import type { ResultOf, ScheduleRun, registry } from "@hawser/contract";
import { request, type Calls, type Reply } from "@hawser/testkit/caller.ts";
import type { TestHost } from "@hawser/testkit/host.ts";
import type { SignedDelivery } from "@hawser/testkit/webhook-sender.ts";
import { briefly } from "./firing-steps.ts";
import { until } from "./scenario.ts";

type Input = Partial<Parameters<Calls["create_trigger"]>[0]>;
export type MadeTrigger = ResultOf<(typeof registry)["create_trigger"]>;

/** A trigger for comments on GitHub, in the host's repository. */
export const createTrigger = (caller: Calls, host: TestHost, input: Input = {}) =>
  caller.create_trigger({
    prompt: briefly,
    instanceIds: [host.instanceId],
    source: "github",
    directory: host.repository,
    ...input,
  });

/** Sends a delivery to a node. */
export const deliver = (
  baseUrl: string,
  { triggerId }: { triggerId: string },
  { headers, body }: SignedDelivery,
): Promise<Reply> =>
  request(baseUrl, `/api/triggers/${triggerId}`, { method: "POST", headers, body });

/** Waits until a trigger has this many runs and the newest has ended. Returns them, the newest first. */
export async function untilRun(
  caller: Calls,
  { triggerId }: { triggerId: string },
  count = 1,
): Promise<ScheduleRun[]> {
  const { runs } = await until(
    `run ${count} ends`,
    90_000,
    () => caller.list_schedule_runs({ triggerId }),
    (listed) => listed.runs.length === count && listed.runs[0]!.endedAt !== null,
  );
  return runs;
}

/** The sessions that a trigger has started. */
export async function sessionsOfTrigger(caller: Calls, { triggerId }: { triggerId: string }) {
  const { sessions } = await caller.list_sessions({ limit: 200 });
  return sessions.filter(({ startedBy }) => startedBy.id === triggerId);
}

/** The audit entries of forged deliveries to a trigger. */
export async function forgedEntries(caller: Calls, { triggerId }: { triggerId: string }) {
  const { entries } = await caller.list_audit_entries({ limit: 200 });
  assert.ok(entries.length > 0);
  return entries.filter(
    ({ action, input }) => action === "receive_delivery" && input["triggerId"] === triggerId,
  );
}
