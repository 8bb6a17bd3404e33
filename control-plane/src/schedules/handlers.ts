// What the actions on scheduled prompts do. The runs themselves are made by the sweep.
import { Refusal, notFound, parseId, type scheduleActions } from "@hawser/contract";
import { callerReference } from "../access/caller-reference.ts";
import { page, readIdCursor } from "../cursor.ts";
import type { HandlersFor } from "../dispatch/handler.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { changedChoice, newChoice, refuseBeyondLimits, refuseTooLarge } from "./choice.ts";
import type { Recurrence } from "./recurrence.ts";
import { runRecord, scheduleRecord } from "./record.ts";
import * as store from "./store.ts";
import { firstRun, readStart, runsFrom } from "./timing.ts";

const previewedRuns = 10;

export const scheduleHandlers: HandlersFor<typeof scheduleActions, object> = {
  async list_scheduled_prompts({ sql }) {
    const rows = await sql.rows(store.selectSchedules, sql.organizationId);
    return { schedules: rows.map(scheduleRecord) };
  },

  async create_scheduled_prompt({ sql, caller }, input) {
    const { timeZone, now } = await readClock(sql, store.lockClock);
    const choice = await newChoice(sql, input, timeZone);
    refuseTooLarge(choice);
    await refuseBeyondLimits(sql, choice.prompt, null);
    const made = await sql.first(
      store.insertSchedule,
      sql.organizationId,
      await callerReference(sql, caller),
      ...store.valuesOf(choice),
      shown(firstRun(ruleOf(choice, timeZone), now, false)),
      caller.apiKeyId,
    );
    return readRecord(sql, made!.schedule_id);
  },

  async update_scheduled_prompt({ sql, caller }, input) {
    const { scheduleId, ...changes } = input;
    // The organization is locked before the schedule, so that two calls cannot wait for each other.
    const { timeZone, now } = await readClock(sql, changes.prompt ? store.lockClock : undefined);
    const id = await lockSchedule(sql, scheduleId);
    const stored = (await sql.first(store.selectSchedule, sql.organizationId, id))!;
    if (Object.values(changes).every((value) => value === undefined)) return scheduleRecord(stored);
    const choice = await changedChoice(sql, stored, input, timeZone);
    refuseTooLarge(choice);
    if (changes.prompt) await refuseBeyondLimits(sql, changes.prompt, id);
    let nextRunAt = stored.next_run_at;
    if (stored.enabled && (changes.frequency !== undefined || changes.startAt !== undefined)) {
      // A start that is sent again is not a new one.
      const ran = choice.start_at === stored.start_at && (await hasRun(sql, id));
      nextRunAt = shown(firstRun(ruleOf(choice, timeZone), now, ran));
    }
    sql.later(
      store.updateSchedule,
      sql.organizationId,
      id,
      ...store.valuesOf(choice),
      nextRunAt,
      caller.apiKeyId,
      await callerReference(sql, caller),
    );
    return readRecord(sql, id);
  },

  async set_scheduled_prompt_enabled({ sql, caller }, { scheduleId, enabled }) {
    const id = await lockSchedule(sql, scheduleId);
    if (!enabled) {
      sql.later(store.pauseSchedule, sql.organizationId, id);
      return readRecord(sql, id);
    }
    const stored = (await sql.first(store.selectSchedule, sql.organizationId, id))!;
    sql.later(
      store.resumeSchedule,
      sql.organizationId,
      id,
      stored.enabled ? stored.next_run_at : shown(await runAfterResume(sql, stored)),
      caller.apiKeyId,
      await callerReference(sql, caller),
    );
    return readRecord(sql, id);
  },

  async delete_scheduled_prompt({ sql }, { scheduleId }) {
    const id = parseId("schedule", scheduleId);
    const row = id && (await sql.first(store.deleteSchedule, sql.organizationId, id));
    if (!row) throw notFound("schedule");
    return { scheduleId, deleted: true };
  },

  async preview_scheduled_prompt({ sql }, { scheduleId, frequency, startAt }) {
    const { timeZone, now } = await readClock(sql);
    const runs = (rule: Recurrence, first: Date | null) => ({
      timeZone,
      runs: runsFrom(rule, first, previewedRuns).map((run) => run.toISOString()),
    });
    if (scheduleId === undefined) {
      const rule = { startAt: readStart(startAt!, timeZone), frequency: frequency!, timeZone };
      return runs(rule, firstRun(rule, now, false));
    }
    const stored = await findSchedule(sql, scheduleId);
    const next = stored.next_run_at === null ? null : new Date(stored.next_run_at);
    const first = stored.enabled ? next : await runAfterResume(sql, stored);
    return runs(ruleOf(stored, timeZone), first);
  },

  async run_scheduled_prompt_now({ sql, caller }, { scheduleId }) {
    const id = await lockSchedule(sql, scheduleId);
    const earlier = await sql.first(store.selectUnendedRun, sql.organizationId, id);
    const run =
      !earlier &&
      (await sql.first(store.insertRequestedRun, sql.organizationId, id, caller.apiKeyId));
    if (run) return runRecord(run);
    throw new Refusal(
      "schedule_running",
      earlier?.outcome === "needs_answer"
        ? `The run of ${earlier.run_at} waits for an answer. list_pending_requests shows the request; call again when its turn has ended.`
        : `The run of ${earlier?.run_at ?? "this moment"} has not ended. list_schedule_runs shows it, and its session; call again when it has ended.`,
      { nextAction: "list_schedule_runs" },
    );
  },

  async list_schedule_runs({ sql }, { scheduleId, triggerId, cursor, limit = 50 }) {
    const before = readIdCursor(cursor);
    const { schedule_id } =
      scheduleId === undefined
        ? await findTrigger(sql, triggerId!)
        : await findSchedule(sql, scheduleId);
    const read = await sql.rows(
      store.selectRuns,
      sql.organizationId,
      schedule_id,
      before,
      limit + 1,
    );
    const { rows, nextCursor } = page(read, limit, (row) => [row.run_id]);
    return { runs: rows.map(runRecord), nextCursor };
  },
};

interface Clock {
  timeZone: string;
  /** By the database's clock. */
  now: Date;
}

async function readClock(sql: TenantSql, statement = store.selectClock): Promise<Clock> {
  const row = await sql.first(statement, sql.organizationId);
  return { timeZone: row!.time_zone, now: new Date(row!.now) };
}

async function lockSchedule(sql: TenantSql, scheduleId: string): Promise<string> {
  const id = parseId("schedule", scheduleId);
  const row = id && (await sql.first(store.lockSchedule, sql.organizationId, id));
  if (!row) throw notFound("schedule");
  return id;
}

async function findSchedule(sql: TenantSql, scheduleId: string): Promise<store.ScheduleRow> {
  const id = parseId("schedule", scheduleId);
  const row = id && (await sql.first(store.selectSchedule, sql.organizationId, id));
  if (!row) throw notFound("schedule");
  return row;
}

async function findTrigger(sql: TenantSql, triggerId: string): Promise<{ schedule_id: string }> {
  const id = parseId("trigger", triggerId);
  const row = id && (await sql.first(store.selectTriggerId, sql.organizationId, id));
  if (!row) throw notFound("trigger");
  return row;
}

const readRecord = async (sql: TenantSql, id: string) =>
  scheduleRecord((await sql.first(store.selectSchedule, sql.organizationId, id))!);

async function hasRun(sql: TenantSql, id: string): Promise<boolean> {
  return (await sql.first(store.selectHasRun, sql.organizationId, id))!.has_run;
}

/** The next run of a paused schedule, if it were resumed now. */
async function runAfterResume(sql: TenantSql, stored: store.ScheduleRow): Promise<Date | null> {
  const { timeZone, now } = await readClock(sql);
  return firstRun(ruleOf(stored, timeZone), now, await hasRun(sql, stored.schedule_id));
}

function ruleOf(choice: store.ScheduleChoice, timeZone: string): Recurrence {
  return { startAt: new Date(choice.start_at), frequency: choice.frequency, timeZone };
}

const shown = (run: Date | null) => run && run.toISOString();
