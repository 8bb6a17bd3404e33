// Scheduled prompts on a session bed: schedules that are due, and nodes that sweep. A node that dies is one whose
// calls never return and whose leases have ended.
import assert from "node:assert/strict";
import { formatId, parseId } from "@hawser/contract";
import type { Answer, Call } from "@hawser/control-plane/dispatch/dispatcher.ts";
import { createLog } from "@hawser/control-plane/log.ts";
import { createSweep, type Sweep } from "@hawser/control-plane/schedules/sweep.ts";
import { openSessionBed, type SessionBed } from "./session-bed.ts";

/** Called instead of a node's dispatcher; `dispatch` makes the call. */
type Around = (action: Call["action"], dispatch: () => Promise<Answer>) => Promise<Answer>;

export interface TestSweep extends Sweep, Disposable {
  /** Claims what is due, and works on everything that waits for a node. */
  fire(): Promise<void>;
  /** Lets time pass until all runs are tried again, and works on them. */
  tryAgain(): Promise<void>;
}

export interface TestRun {
  run_id: string;
  run_at: Date;
  step: string;
  outcome: string;
  failure: string | null;
  session_id: string | null;
  passed_over: { instanceId: string; reason: string }[];
  fence: number;
  cost_usd: number | null;
}

interface TestSchedule {
  enabled: boolean;
  pause_reason: string | null;
  next_run_at: Date | null;
  failures_in_row: number;
  session_count: number;
}

export interface FiringBed extends AsyncDisposable {
  bed: SessionBed;
  node: ReturnType<SessionBed["addNode"]>;
  /** A further node that sweeps, on its own dispatcher. */
  addSweep(around?: Around): TestSweep;
  /** Adds a schedule that is due since ten seconds. Returns its stored id. */
  addSchedule(columns?: Record<string, unknown>): Promise<string>;
  /** Adds a host. Returns its stored id. */
  addHost(columns?: Record<string, unknown>): Promise<string>;
  /** The stored id of an API key, by its name; of another organization if given by its stored id. */
  keyNamed(name: string, organizationId?: string): Promise<string>;
  /** Makes the schedule due now, as if its next time had come. */
  makeDue(scheduleId: string): Promise<void>;
  runsOf(scheduleId: string): Promise<TestRun[]>;
  lastRun(scheduleId: string): Promise<TestRun>;
  scheduleOf(scheduleId: string): Promise<TestSchedule>;
  /** Ends the leases of all nodes, as time does after they have died. */
  endLeases(): Promise<void>;
  /** Forgets what was asked, removes all schedules and sessions, and lets the host accept every run. */
  clear(): Promise<void>;
  /** The commands that hosts received for a run's session. */
  asked(command: "start_session" | "send_prompt"): SessionBed["asked"];
}

/** The host's answers to a start and to a prompt. */
export const started = {
  directory: "/srv/worktree",
  worktreeBranch: "hawser/x-1",
  model: null,
  capabilities: [],
};
export const prompted = { turnId: "t1", messageId: "m1", queued: false, model: null };

/** Never returns, as in a node that died. */
export const neverReturns = () => new Promise<never>(() => {});

export async function openFiringBed(): Promise<FiringBed> {
  const bed = await openSessionBed();
  const node = bed.addNode();
  const { organizationId } = bed;
  const sql = <Row>(text: string, values?: unknown[]) => bed.sql<Row>(text, values);
  const sweeps: Disposable[] = [];
  const instanceId = parseId("instance", bed.instanceId)!;

  async function insert(table: string, values: Record<string, unknown>, id: string) {
    const names = Object.keys(values);
    const places = names.map((_, at) => `$${at + 1}`);
    const [row] = await sql<Record<string, string>>(
      `INSERT INTO ${table} (${names.join(", ")}) VALUES (${places.join(", ")}) RETURNING ${id}`,
      Object.values(values),
    );
    return row![id]!;
  }

  const all: FiringBed = {
    bed,
    node,
    addSweep(around = (_action, dispatch) => dispatch()) {
      const { dispatcher } = bed.addNode({ deadlineMs: 20_000 });
      const sweep = createSweep({
        database: bed.service.database,
        nodeId: `node ${sweeps.length + 1}`,
        callerOfKey: bed.authenticator.callerOfKey,
        dispatchAs: (caller, call) =>
          around(call.action, () => dispatcher.dispatchAs(caller, call)),
        observeClaim: () => {},
        log: createLog("silent"),
      });
      sweeps.push(sweep);
      const fire = async () => {
        await sweep.claim();
        await sweep.pickUp();
        await sweep.settled();
      };
      const tryAgain = async () => {
        await sql(`UPDATE schedule_runs SET try_at = hawser_now()`);
        await fire();
      };
      return { ...sweep, fire, tryAgain };
    },
    async addSchedule(columns = {}) {
      const [{ due } = { due: "" }] = await sql<{ due: string }>(
        `SELECT (date_trunc('milliseconds', hawser_now()) - interval '10 seconds')::text AS due`,
      );
      const somebody = { type: "user", id: bed.organization.userId, name: "Ada" };
      return insert(
        "schedules",
        {
          organization_id: organizationId,
          name: "Nightly",
          prompt: "Do it.",
          directory: "/srv",
          instance_ids: [instanceId],
          frequency: "hourly",
          start_at: due,
          next_run_at: due,
          api_key_id: columns["api_key_id"] ?? (await all.keyNamed("member")),
          acts_as: somebody,
          created_by: somebody,
          ...columns,
        },
        "schedule_id",
      );
    },
    addHost: (columns = {}) =>
      insert(
        "instances",
        {
          organization_id: organizationId,
          name: "another",
          status: "online",
          status_reason: null,
          agents: "[]",
          ...columns,
        },
        "instance_id",
      ),
    async keyNamed(name, of = organizationId) {
      const [key] = await sql<{ api_key_id: string }>(
        `SELECT api_key_id FROM api_keys WHERE name = $1 AND organization_id = $2`,
        [name, of],
      );
      return key!.api_key_id;
    },
    async makeDue(scheduleId) {
      await sql(
        `UPDATE schedules SET next_run_at = date_trunc('milliseconds', hawser_now()) WHERE schedule_id = $1`,
        [scheduleId],
      );
    },
    runsOf: (scheduleId) =>
      sql<TestRun>(
        `SELECT run_id, run_at, step, outcome, failure, session_id, passed_over, fence::int, cost_usd
           FROM schedule_runs WHERE schedule_id = $1 ORDER BY run_at`,
        [scheduleId],
      ),
    lastRun: async (scheduleId) => (await all.runsOf(scheduleId)).at(-1)!,
    async scheduleOf(scheduleId) {
      const [row] = await sql<TestSchedule>(
        `SELECT enabled, pause_reason, next_run_at, failures_in_row, session_count
           FROM schedules WHERE schedule_id = $1`,
        [scheduleId],
      );
      return row!;
    },
    async endLeases() {
      await sql(
        `UPDATE schedule_runs SET lease_until = hawser_now() - interval '1 second', try_at = hawser_now();
         UPDATE idempotency SET lease_until = hawser_now() - interval '1 second' WHERE state = 'running'`,
      );
    },
    async clear() {
      bed.asked.length = 0;
      for (const command of Object.keys(bed.host))
        delete bed.host[command as keyof typeof bed.host];
      bed.host.start_session = () => started;
      bed.host.send_prompt = () => prompted;
      await sql(`DELETE FROM schedules; UPDATE sessions SET deleted_at = hawser_now()`);
    },
    asked: (command) => bed.asked.filter((each) => each.command === command),
    async [Symbol.asyncDispose]() {
      for (const sweep of sweeps) sweep[Symbol.dispose]();
      await bed[Symbol.asyncDispose]();
    },
  };
  return all;
}

/** One session that got one prompt, and a run that knows both. */
export async function assertFiredOnce(beds: FiringBed, scheduleId: string): Promise<void> {
  const [run, ...others] = await beds.runsOf(scheduleId);
  assert.deepEqual([run?.step, run?.outcome, others], ["watch", "running", []]);
  const made = await beds.bed.sql<{ session_id: string }>(
    `SELECT session_id FROM sessions WHERE deleted_at IS NULL`,
  );
  assert.deepEqual(
    made.map(({ session_id }) => session_id),
    [run!.session_id],
  );
  for (const command of ["start_session", "send_prompt"] as const)
    assert.equal(commandIds(beds, command), 1, command);
  assert.equal((await beds.scheduleOf(scheduleId)).session_count, 1);
}

/** How many different commands of this name hosts received. */
export const commandIds = (beds: FiringBed, command: "start_session" | "send_prompt") =>
  new Set(beds.asked(command).map(({ commandId }) => commandId)).size;

/** The id that callers see of a run's session. */
export const sessionOf = ({ session_id }: TestRun) => formatId("session", session_id!);
