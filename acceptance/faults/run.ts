// One run of one fault: a fresh bed, the clients and the sessions at work, the fault injected at
// moments that the seed chooses, then healing, quiet, and a look at all that happened.
import { setTimeout as sleep } from "node:timers/promises";
import { randomFrom } from "../fuzz/random.ts";
import { makeBed, type Bed } from "./bed.ts";
import { insist, makeClients, readCommandIds } from "./commands.ts";
import { writeEntries } from "./entries.ts";
import { between, type Fault } from "./fault.ts";
import { readHost, readStored } from "./gather.ts";
import { check, endOf, type History } from "./history.ts";
import type { Violation } from "./violation.ts";

export interface RunOptions {
  seed: string;
  commands: number;
  entries: number;
  /** How long the fault goes on. */
  seconds: number;
  onNote?: (line: string) => void;
}

export interface RunResult {
  fault: string;
  seed: string;
  injections: string[];
  commands: Record<"done" | "failed" | "unknown", number>;
  /** How often clients got which answer. */
  answers: Record<string, number>;
  slowestAnswerMs: number;
  entries: number;
  /** After healing. */
  onlineMs: number;
  quietMs: number;
  offlineMs: number;
  seconds: number;
  violations: Violation[];
}

/** After healing: for answers, for the last entry and for the last host. */
const longestHealMs = 60_000;
const longestOfflineMs = 30_000;

export async function runFault(fault: Fault, options: RunOptions): Promise<RunResult> {
  const started = Date.now();
  // Chance of one kind does not move chance of another, whatever the machine's speed.
  const chance = (what: string) => randomFrom(`${fault.id} ${options.seed} ${what}`);
  const note = options.onNote ?? (() => {});
  await using bed = await makeBed({
    nats: fault.nats ?? 1,
    proxiedNode: fault.proxiedNode ?? false,
    standby: fault.standby ?? false,
  });
  await untilEach(bed, "online", longestHealMs);
  const broken: string[] = [];
  const clients = await makeClients(bed, chance("clients"), options.commands);
  const injector = await fault.open({ bed, random: chance("fault"), broken });

  const faultMs = options.seconds * 1000;
  const begun = Date.now();
  const healed = Promise.withResolvers<number>();
  const deadline = { at: Infinity };
  const moments = chance("moments");
  const asking = clients.map(async (client, i) => {
    const echo = moments.oneIn(4);
    await sleep((faultMs * i) / clients.length);
    await insist(bed, client, deadline, i, echo);
  });
  const appended: History["appended"] = [];
  const writing = writeEntries(bed, chance("entries"), options.entries, faultMs, appended);
  const injections: string[] = [];
  const injecting = async () => {
    const random = chance("pauses");
    for (;;) {
      await sleep(between(random, 100, 1_200));
      const progress = (Date.now() - begun) / faultMs;
      if (progress >= 1) break;
      const at = Date.now() - begun;
      injections.push(`at ${at} ms: ${await injector.inject(progress)}`);
      note(injections.at(-1)!);
    }
    await injector.heal();
    deadline.at = Date.now() + longestHealMs;
    healed.resolve(Date.now());
  };
  await Promise.all([injecting(), writing]);
  const healedAt = await healed.promise;
  for (const { process, log } of bed.world.nodes) {
    if (process.exitCode === null) continue;
    const last = JSON.stringify(log.slice(-3));
    broken.push(`the node ${process.pid} ended by itself (${process.exitCode}): ${last}`);
  }
  const late = await untilEach(bed, "online", longestHealMs);
  const onlineMs = Date.now() - healedAt;
  await Promise.all(asking);
  if (!(await untilApplied(bed, healedAt + longestHealMs))) {
    broken.push(`entries were not applied ${longestHealMs} ms after healing`);
  }
  const quietMs = Date.now() - healedAt;
  const replies = (await injector.replies?.()) ?? [];

  const killedAt = Date.now();
  await Promise.all(bed.hosts.map(({ host }) => host.kill()));
  const early = await untilEach(bed, "offline", longestOfflineMs);
  const offlineMs = Date.now() - killedAt;
  const { url } = bed.world.database;
  await readCommandIds(url, clients);
  const history: History = {
    commands: clients.map(({ sent }) => sent),
    hosts: bed.hosts.map(({ host }) => readHost(host)),
    appended,
    stored: await readStored(url),
    presence: [...late, ...early],
    replies,
    broken,
  };
  const violations = check(history);
  return {
    fault: fault.id,
    seed: options.seed,
    injections,
    ...countCommands(history),
    entries: history.stored.reduce((sum, { entries }) => sum + entries.length, 0),
    onlineMs,
    quietMs,
    offlineMs,
    seconds: Math.round((Date.now() - started) / 100) / 10,
    violations,
  };
}

/** Waits for every host to be shown so, and gives those that are not in time. */
async function untilEach(
  bed: Bed,
  wanted: string,
  patienceMs: number,
): Promise<History["presence"]> {
  const started = Date.now();
  for (;;) {
    const seen = await look(bed);
    const afterMs = Date.now() - started;
    const wrong = bed.hosts
      .map(({ host: { instanceId } }) => ({
        instanceId,
        wanted,
        seen: seen.get(instanceId) ?? "unanswered",
        afterMs,
      }))
      .filter((each) => each.seen !== wanted);
    if (wrong.length === 0 || afterMs > patienceMs) return wrong;
    await sleep(100);
  }
}

async function look(bed: Bed): Promise<Map<string, string>> {
  const { key } = bed.world.caller;
  const answer = await fetch(`${bed.nodes().at(-1)?.baseUrl}/api/rest/actions/list_instances`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: "{}",
    signal: AbortSignal.timeout(5_000),
  }).catch(() => undefined);
  if (answer?.status !== 200) return new Map();
  const { result } = (await answer.json()) as any;
  return new Map(result.instances.map((each: any) => [each.instanceId, each.status]));
}

async function untilApplied(bed: Bed, deadline: number): Promise<boolean> {
  for (;;) {
    const waiting = await Promise.all(bed.hosts.map(({ host }) => host.waiting()));
    if (waiting.every((count) => count === 0)) return true;
    if (Date.now() > deadline) return false;
    await sleep(50);
  }
}

function countCommands({
  commands,
}: History): Pick<RunResult, "commands" | "answers" | "slowestAnswerMs"> {
  const ends = { done: 0, failed: 0, unknown: 0 };
  const answers: Record<string, number> = {};
  let slowestAnswerMs = 0;
  for (const command of commands) {
    ends[endOf(command)] += 1;
    for (const { code, tookMs } of command.answers) {
      answers[code] = (answers[code] ?? 0) + 1;
      slowestAnswerMs = Math.max(slowestAnswerMs, tookMs);
    }
  }
  return { commands: ends, answers, slowestAnswerMs };
}
