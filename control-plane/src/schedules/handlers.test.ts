import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Refusal, formatId, parseId, type InputOf, type registry } from "@hawser/contract";
import { makeKey } from "@hawser/testkit/organization.ts";
import { openScheduleBed, type ScheduleBed } from "@hawser/testkit/schedule-bed.ts";

let stage: ScheduleBed;
before(async () => {
  stage = await openScheduleBed();
});
after(() => stage[Symbol.asyncDispose]());

const refusedWith = (code: string) => (error: unknown) =>
  error instanceof Refusal && error.code === code;

type Update = Omit<InputOf<(typeof registry)["update_scheduled_prompt"]>, "scheduleId">;

const update = (scheduleId: string, changes: Update, options?: { key?: string }) =>
  stage.call("update_scheduled_prompt", { scheduleId, ...changes }, options);
const setEnabled = (scheduleId: string, enabled: boolean, options?: { key?: string }) =>
  stage.call("set_scheduled_prompt_enabled", { scheduleId, enabled }, options);

test("a start without an offset is in the organization's time zone", async () => {
  await stage.setClock("2026-06-15T12:00:00Z");
  const owner = { key: stage.bed.organization.keys.owner };
  await stage.call("update_settings", { timeZone: "Europe/Berlin" }, owner);
  const made = await stage.create({ startAt: "2026-10-25T02:30:00" });
  assert.equal(made.startAt, "2026-10-25T00:30:00.000Z");
  assert.equal(made.nextRunAt, made.startAt);
  const past = await stage.create({ startAt: "2026-01-31T09:00:00", frequency: "monthly" });
  assert.equal(past.nextRunAt, "2026-06-30T07:00:00.000Z");
  // A change of the time zone counts when the next time is computed.
  await stage.call("update_settings", { timeZone: "UTC" }, owner);
  assert.equal((await stage.read(past.scheduleId)).nextRunAt, "2026-06-30T07:00:00.000Z");
  const changed = await update(past.scheduleId, { frequency: "monthly" });
  assert.equal(changed.nextRunAt, "2026-06-30T08:00:00.000Z");
});

test("a first time in the past means the next regular one, or now for a schedule that runs once", async () => {
  await stage.setClock("2026-06-15T12:00:00.500Z");
  const past = { startAt: "2001-01-01T06:20:00Z" };
  assert.equal((await stage.create(past)).nextRunAt, "2026-06-16T06:20:00.000Z");
  const hourly = await stage.create({ ...past, frequency: "hourly" });
  assert.equal(hourly.nextRunAt, "2026-06-15T12:20:00.000Z");
  const once = await stage.create({ ...past, frequency: "never" });
  assert.equal(once.nextRunAt, "2026-06-15T12:00:00.500Z");
  assert.equal(once.status, "scheduled");
});

test("times that pass during a pause are left out", async () => {
  await stage.setClock("2026-06-15T12:00:00Z");
  const { scheduleId } = await stage.create({
    frequency: "hourly",
    startAt: "2026-06-15T12:30:00Z",
  });
  const paused = await setEnabled(scheduleId, false);
  assert.deepEqual(
    [paused.enabled, paused.status, paused.nextRunAt, paused.pauseReason],
    [false, "paused", null, null],
  );
  await stage.setClock("2026-06-15T15:45:00Z");
  const resumed = await setEnabled(scheduleId, true);
  assert.deepEqual(
    [resumed.enabled, resumed.status, resumed.nextRunAt],
    [true, "scheduled", "2026-06-15T16:30:00.000Z"],
  );
});

test("resuming what is not paused leaves a time that is due", async () => {
  await stage.setClock("2026-06-15T12:00:00Z");
  const { scheduleId } = await stage.create({
    frequency: "hourly",
    startAt: "2026-06-15T12:30:00Z",
  });
  await stage.setClock("2026-06-15T12:31:00Z");
  assert.equal((await setEnabled(scheduleId, true)).nextRunAt, "2026-06-15T12:30:00.000Z");
});

test("a schedule that runs once runs after a pause only if it has not run", async () => {
  await stage.setClock("2026-06-15T12:00:00Z");
  const once = { frequency: "never", startAt: "2026-06-15T13:00:00Z" } as const;
  const waits = await stage.create(once);
  const ran = await stage.create(once);
  // What a caller asked for is not its own time.
  await stage.call("run_scheduled_prompt_now", { scheduleId: waits.scheduleId });
  await stage.claim(ran.scheduleId, "2026-06-15T13:00:00Z", { step: "ended", outcome: "failed" });
  for (const { scheduleId } of [waits, ran]) await setEnabled(scheduleId, false);
  await stage.setClock("2026-06-15T14:00:00Z");
  const resumed = await setEnabled(waits.scheduleId, true);
  assert.deepEqual([resumed.status, resumed.nextRunAt], ["scheduled", "2026-06-15T14:00:00.000Z"]);
  const finished = await setEnabled(ran.scheduleId, true);
  assert.deepEqual([finished.status, finished.nextRunAt], ["finished", null]);
  // The same start again is not a new one; another start is.
  assert.equal((await update(ran.scheduleId, { startAt: once.startAt })).status, "finished");
  assert.equal((await update(ran.scheduleId, { frequency: "never" })).status, "finished");
  const again = await update(ran.scheduleId, { startAt: "2026-06-15T13:30:00Z" });
  assert.deepEqual([again.status, again.nextRunAt], ["scheduled", "2026-06-15T14:00:00.000Z"]);
});

test("changing a paused schedule leaves it paused", async () => {
  await stage.setClock("2026-06-15T12:00:00Z");
  const { scheduleId } = await stage.create();
  await setEnabled(scheduleId, false);
  const changed = await update(scheduleId, { startAt: "2026-07-01T00:00:00Z" });
  assert.deepEqual([changed.status, changed.nextRunAt], ["paused", null]);
  assert.equal((await setEnabled(scheduleId, true)).nextRunAt, "2026-07-01T00:00:00.000Z");
});

test("a schedule acts as the caller who created, changed or resumed it last", async () => {
  const other = await makeKey(stage.bed.service.database, stage.bed.organization.organizationId, [
    "sessions:edit",
    "sessions:view",
  ]);
  const { apiKeyId } = await stage.call("whoami", {}, { key: other });
  const first = await stage.create();
  assert.deepEqual(first.actsAs, first.createdBy);
  assert.equal(first.actsAs.type, "user");
  const actsAs = async () => (await stage.read(first.scheduleId)).actsAs.id;
  await setEnabled(first.scheduleId, false, { key: other });
  assert.equal(await actsAs(), first.createdBy.id, "pausing is no taking over");
  await update(first.scheduleId, {}, { key: other });
  assert.equal(await actsAs(), first.createdBy.id, "nor is a change of nothing");
  await setEnabled(first.scheduleId, true, { key: other });
  assert.equal(await actsAs(), apiKeyId);
  const changed = await update(first.scheduleId, { prompt: "go on" });
  assert.deepEqual(changed.actsAs, first.createdBy);
  const [row] = await stage.bed.sql<{ same: boolean }>(
    `SELECT api_key_id <> $2 AS same FROM schedules WHERE schedule_id = $1`,
    [parseId("schedule", first.scheduleId), parseId("apiKey", apiKeyId!)],
  );
  assert.ok(row!.same);
});

test("rotating a key moves its schedules to the new key", async () => {
  const { keys } = stage.bed.organization;
  const key = await makeKey(stage.bed.service.database, stage.bed.organization.organizationId, [
    "sessions:edit",
    "sessions:view",
  ]);
  const { apiKeyId } = await stage.call("whoami", {}, { key });
  const moved = await stage.create({}, { key });
  const other = await stage.create();
  assert.equal(moved.actsAs.id, apiKeyId);
  const rotated = await stage.call("rotate_api_key", { apiKeyId: apiKeyId! }, { key: keys.owner });
  const newId = rotated.apiKey.apiKeyId;
  const { actsAs, createdBy } = await stage.read(moved.scheduleId);
  assert.deepEqual([actsAs.id, createdBy.id], [newId, apiKeyId]);
  const rows = await stage.bed.sql<{ schedule_id: string }>(
    `SELECT schedule_id FROM schedules WHERE api_key_id = $1`,
    [parseId("apiKey", newId)],
  );
  assert.deepEqual(
    rows.map((row) => formatId("schedule", row.schedule_id)),
    [moved.scheduleId],
  );
  assert.deepEqual((await stage.read(other.scheduleId)).actsAs, other.actsAs);
});

test("resuming clears the reason of the service's pause, and the count of failures", async () => {
  const { scheduleId } = await stage.create();
  await stage.bed.sql(
    `UPDATE schedules SET enabled = false, next_run_at = NULL, pause_reason = 'Five runs failed.', failures_in_row = 5
      WHERE schedule_id = $1`,
    [parseId("schedule", scheduleId)],
  );
  assert.equal((await setEnabled(scheduleId, false)).pauseReason, "Five runs failed.");
  assert.equal((await setEnabled(scheduleId, true)).pauseReason, null);
  const [row] = await stage.bed.sql<{ failures_in_row: number }>(
    `SELECT failures_in_row FROM schedules WHERE schedule_id = $1`,
    [parseId("schedule", scheduleId)],
  );
  assert.equal(row!.failures_in_row, 0);
});

test("an organization has at most 1,000 schedules, also if many are created at once", async () => {
  await stage.bed.sql(
    `INSERT INTO schedules (organization_id, prompt, directory, instance_ids, frequency, start_at, api_key_id, acts_as,
                            created_by)
     SELECT $1, 'go', '/srv', ARRAY[gen_random_uuid()], 'daily', now(), gen_random_uuid(), '{}', '{}'
       FROM generate_series((SELECT count(*) FROM schedules), 994)`,
    [stage.bed.organizationId],
  );
  const body = {
    prompt: "go",
    instanceIds: [stage.bed.instanceId],
    frequency: "daily",
    startAt: "2100-01-01T00:00:00Z",
    directory: "/srv/code",
  };
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => stage.node.call("create_scheduled_prompt", body)),
  );
  const refused = answers.flatMap((answer) => ("refusal" in answer ? [answer.refusal.code] : []));
  assert.deepEqual(refused, Array(5).fill("limit_reached"));
  await stage.bed.sql(`DELETE FROM schedules`);
});

test("a prompt has at most 1 MiB, and all prompts have at most 16 MiB together", async () => {
  const mebibyte = "é".repeat(512 * 1024);
  const refused = refusedWith("limit_reached");
  await assert.rejects(stage.create({ prompt: `${mebibyte}x` }), refused);
  const { scheduleId } = await stage.create({ prompt: mebibyte });
  await assert.rejects(update(scheduleId, { prompt: `${mebibyte}x` }), refused);
  for (let i = 0; i < 15; i++) await stage.create({ prompt: mebibyte });
  await assert.rejects(stage.create({ prompt: "one more" }), refused);
  // The prompt that an update replaces does not count.
  await update(scheduleId, { prompt: mebibyte });
  assert.equal((await update(scheduleId, { name: "still changeable" })).name, "still changeable");
  await stage.bed.sql(`DELETE FROM schedules`);
});

test("the other fields of a schedule have at most 16 KiB together", async () => {
  const refused = refusedWith("limit_reached");
  const long = "x".repeat(17_000);
  const { scheduleId } = await stage.create({});
  const chain = Array.from({ length: 1_000 }, () => ({ kind: "codex" as const }));
  for (const fields of [
    { modelId: long },
    { providerId: long },
    { directory: `/${long}` },
    { fallbackChain: chain },
  ]) {
    await assert.rejects(stage.create(fields), refused);
    await assert.rejects(update(scheduleId, fields), refused);
  }
});

test("a host that is named twice is tried once, and a deleted one is refused", async () => {
  const { instanceIds } = await stage.create({
    instanceIds: [stage.bed.instanceId, stage.bed.instanceId],
  });
  assert.deepEqual(instanceIds, [stage.bed.instanceId]);
  const [gone] = await stage.bed.sql<{ id: string }>(
    `INSERT INTO instances (organization_id, name, deleted_at) VALUES ($1, 'gone', now()) RETURNING instance_id AS id`,
    [stage.bed.organizationId],
  );
  const deleted = formatId("instance", gone!.id);
  await assert.rejects(
    stage.create({ instanceIds: [stage.bed.instanceId, deleted] }),
    refusedWith("not_found"),
  );
});

test("the only target cannot be removed", async () => {
  const { scheduleId } = await stage.create();
  await assert.rejects(update(scheduleId, { directory: null }), refusedWith("invalid_input"));
  assert.equal(
    (await update(scheduleId, { cloneUrl: null, cloneRepo: null })).directory,
    "/srv/code",
  );
  const cloned = await update(scheduleId, { directory: null, cloneRepo: "acme/widget" });
  assert.deepEqual(
    [cloned.directory, cloned.cloneRepo, cloned.cloneUrl],
    [null, "acme/widget", null],
  );
});
