// `npm run faults -- schedules`: many schedules are due at the same moment, while nodes are killed, stopped and
// have wrong clocks. Each must start one session, with one prompt, and soon.
import { setTimeout as sleep } from "node:timers/promises";
import { parseId } from "@hawser/contract";
import { startLightHosts, type LightHosts } from "@hawser/testkit/light-hosts.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { until } from "@hawser/testkit/until.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";
import { concurrently } from "../concurrently.ts";
import { violation, type Violation } from "./violation.ts";

export interface ScheduleFaultOptions {
  schedules: number;
  hosts: number;
  /** How long the second node is stopped. */
  stoppedSeconds: number;
  onNote?: (line: string) => void;
}

export interface ScheduleFaultResult {
  schedules: number;
  /** Milliseconds from the due time until the session was started: median and longest. */
  startedMs: { median: number; longest: number };
  injections: string[];
  seconds: number;
  violations: Violation[];
}

/** A day ahead, and an hour and a day behind. Runs are due by the database's clock alone. */
const wrongClocksMs = [24 * 3600_000, -3600_000, -24 * 3600_000];
const startWithinMs = 60_000;
const patienceMs = 300_000;
/** In one process with all hosts, sessions wait for each other: starting git blocks the process. */
const hostsPerProcess = 10;

interface RunRow {
  schedule_id: string;
  runs: number;
  outcomes: string[];
  failures: (string | null)[];
  started_ms: number | null;
  sessions: number;
  prompts: number;
}

export async function runScheduleFaults(
  options: ScheduleFaultOptions,
): Promise<ScheduleFaultResult> {
  const note = options.onNote ?? (() => {});
  const began = performance.now();
  const injections: string[] = [];
  const inject = (line: string) => {
    injections.push(line);
    note(line);
  };
  await using world = await startWorld({
    nats: 1,
    // The first node has the right time, and only creates the schedules.
    nodes: 1,
    environment: { HAWSER_RATE_PER_SECOND: "2000", HAWSER_RATE_BURST: "2000" },
  });
  const [dying, stopping] = await Promise.all(wrongClocksMs.map((shift) => addNode(world, shift)));
  await using stack = new AsyncDisposableStack();
  const processes: LightHosts[] = [];
  const places: { instanceId: string; folder: string }[] = [];
  for (let first = 0; first < options.hosts; first += hostsPerProcess) {
    const hosts = Math.min(hostsPerProcess, options.hosts - first);
    const light = stack.use(
      await startLightHosts(world.caller, world.baseUrl, hosts, { agents: true }),
    );
    const { folder } = light;
    places.push(...light.instanceIds.map((instanceId) => ({ instanceId, folder })));
    processes.push(light);
  }
  const areOnline = async () => {
    const states = await Promise.all(processes.map((light) => light.states()));
    return states.flat().every((state) => state === "online");
  };
  await until("every host is online", areOnline, patienceMs);
  note(`${options.hosts} hosts are online`);

  const dueInMs = 10_000 + options.schedules * 20;
  const [clock] = await ownerSql<{ now: Date }>(
    world.database.url,
    `SELECT hawser_now() AS now`,
    [],
  );
  const startAt = new Date(clock!.now.getTime() + dueInMs).toISOString();
  const numbers = Array.from({ length: options.schedules }, (_, index) => index);
  await concurrently(numbers, (index) => {
    const { instanceId, folder } = places[index % options.hosts]!;
    return world.caller.create_scheduled_prompt({
      name: `schedule ${index}`,
      prompt: `say ${index} @@[{"text":"Done."}]`,
      instanceIds: [instanceId],
      directory: folder,
      frequency: "never",
      startAt,
    });
  });
  note(`${options.schedules} schedules are due at ${startAt}`);
  const started = () => countStarted(world);
  const share = (part: number) => Math.ceil(options.schedules * part);
  await until("some runs have started", async () => (await started()) >= share(0.05), patienceMs);
  dying!.process.kill("SIGKILL");
  inject(`node ${dying!.pid} killed after ${await started()} runs had started`);
  stopping!.process.kill("SIGSTOP");
  inject(`node ${stopping!.pid} stopped after ${await started()} runs had started`);
  await sleep(options.stoppedSeconds * 1000);
  stopping!.process.kill("SIGCONT");
  inject(`node ${stopping!.pid} continued after ${await started()} runs had started`);
  await until("every run has ended", async () => (await countOpen(world)) === 0, patienceMs);
  // A node that was stopped may still try to finish what it had begun.
  await sleep(5_000);

  const rows = await readRuns(world);
  const violations = check(rows, options.schedules);
  const times = rows.flatMap((row) => row.started_ms ?? []).toSorted((a, b) => a - b);
  const longest = Math.round(times.at(-1) ?? 0);
  if (longest > startWithinMs) {
    violations.push(violation("a run starts within 60 s of its time", `${longest} ms`));
  }
  return {
    schedules: options.schedules,
    startedMs: { median: Math.round(times[times.length >> 1] ?? 0), longest },
    injections,
    seconds: Math.round((performance.now() - began) / 1000),
    violations,
  };
}

function addNode(world: World, shiftMs: number) {
  return world.addNode({
    NODE_OPTIONS: `--import ${import.meta.resolve("@hawser/testkit/shifted-clock.ts")}`,
    SHIFTED_CLOCK_MS: String(shiftMs),
  });
}

const count = async (world: World, condition: string) => {
  const [row] = await ownerSql<{ count: number }>(
    world.database.url,
    `SELECT count(*)::int AS count FROM schedules s
       LEFT JOIN schedule_runs r USING (organization_id, schedule_id) WHERE ${condition}`,
    [],
  );
  return row!.count;
};

const countStarted = (world: World) => count(world, "r.session_id IS NOT NULL");
/** Schedules whose run has not ended, or was not even claimed. */
const countOpen = (world: World) => count(world, "r.step IS DISTINCT FROM 'ended'");

/** What was stored: runs from the ledger, sessions by who started them, prompts from the sessions' logs. */
function readRuns(world: World): Promise<RunRow[]> {
  const organizationId = parseId("organization", world.organizations[0].organizationId);
  return ownerSql<RunRow & Record<string, unknown>>(
    world.database.url,
    `SELECT s.name AS schedule_id, count(r.*)::int AS runs, array_agg(r.outcome) AS outcomes,
            array_agg(r.failure) AS failures,
            max(extract(epoch FROM r.started_at - r.run_at) * 1000)::float8 AS started_ms,
            (SELECT count(*)::int FROM sessions x WHERE x.organization_id = s.organization_id
                AND x.started_by ->> 'type' = 'schedule' AND x.started_by ->> 'name' = s.name) AS sessions,
            (SELECT count(*)::int FROM sessions x JOIN session_log l ON l.session_id = x.session_id
              WHERE x.organization_id = s.organization_id AND x.started_by ->> 'name' = s.name
                AND l.update ->> 'sessionUpdate' = 'turn_started') AS prompts
       FROM schedules s LEFT JOIN schedule_runs r USING (organization_id, schedule_id)
      WHERE s.organization_id = $1 GROUP BY s.organization_id, s.schedule_id, s.name`,
    [organizationId],
  );
}

/** What the ledger must show of a run of these schedules. */
export function check(rows: readonly RunRow[], schedules: number): Violation[] {
  const violations: Violation[] = [];
  const broken = (rule: string, row: RunRow) => violations.push(violation(rule, row));
  if (rows.length !== schedules) {
    violations.push(violation("every schedule is kept", `${rows.length} of ${schedules}`));
  }
  for (const row of rows) {
    if (row.runs !== 1) broken("a schedule that is due once has one run", row);
    if (row.sessions !== 1) broken("a run starts one session", row);
    if (row.prompts !== 1) broken("a run sends its prompt once", row);
    if (row.outcomes.some((outcome) => outcome !== "succeeded")) broken("a run succeeds", row);
  }
  return violations;
}
