// Scheduled prompts as records: what is stored, shown and computed. schedules-firing.test.ts has what they start.
import assert from "node:assert/strict";
import type { Frequency, ScheduleRecord } from "@hawser/contract";
import type { Caller } from "@hawser/testkit/caller.ts";
import { newMember } from "../new-member.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";
import { bodyWith, create, later, newHost, read } from "../schedule-steps.ts";

useWorld();

scenario(
  "A schedule is returned with everything that was set, and listed in the same way",
  [
    "record.schedule.scheduleId",
    "record.schedule.name",
    "record.schedule.prompt",
    "record.schedule.instanceIds",
    "record.schedule.agentKind",
    "record.schedule.providerId",
    "record.schedule.modelId",
    "record.schedule.useWorktree",
    "record.schedule.fallbackChain",
    "record.schedule.startAt",
    "record.schedule.enabled",
    "create_scheduled_prompt.result",
  ],
  async ({ caller }) => {
    const [a, b] = [await newHost(caller), await newHost(caller)];
    const set = {
      name: "Nightly tests",
      prompt: "Run the tests.\n\nFix what fails 🙂",
      instanceIds: [b, a],
      agentKind: "codex",
      providerId: "openai",
      modelId: "gpt-5.2",
      useWorktree: false,
      fallbackChain: [
        { kind: "claude_code", providerId: "anthropic", modelId: "sonnet" },
        { kind: "opencode", providerId: null, modelId: null },
      ],
      frequency: "weekly",
    } as const;
    const { instanceIds, fallbackChain } = set;
    const full = await create(caller, {
      ...set,
      instanceIds: [...instanceIds],
      fallbackChain: [...fallbackChain],
      startAt: "2100-01-31T10:00:00+01:00",
    });
    for (const [field, value] of Object.entries(set)) {
      assert.deepEqual(full[field as keyof typeof set], value, field);
    }
    assert.match(full.scheduleId, /^sch_/);
    assert.deepEqual([full.startAt, full.nextRunAt, full.enabled], [later, later, true]);
    assert.deepEqual([full.status, full.lastRun, full.sessionCount], ["scheduled", null, 0]);
    assert.equal(full.createdBy.id, (await caller.whoami({})).apiKeyId);

    const bare = await create(caller);
    const { name, agentKind, providerId, modelId, useWorktree, fallbackChain: chain } = bare;
    assert.deepEqual(
      [name, agentKind, providerId, modelId, useWorktree, chain],
      [null, null, null, null, null, null],
    );
    const emptied = await create(caller, { name: "", fallbackChain: [{ kind: "codex" }] });
    assert.equal(emptied.name, "");
    const long = "n".repeat(120);
    assert.equal((await create(caller, { name: long })).name, long);
    assert.deepEqual(emptied.fallbackChain, [{ kind: "codex", providerId: null, modelId: null }]);
    assert.deepEqual((await create(caller, { fallbackChain: [] })).fallbackChain, []);
    const tooLong = { ...(await bodyWith(caller)), name: `${long}n` };
    assertInvalid(await caller.try("create_scheduled_prompt", tooLong), "name");
    for (const made of [full, bare, emptied]) {
      assert.deepEqual(await read(caller, made.scheduleId), made);
    }
  },
);

scenario(
  "A schedule has exactly one target, and shows the others as null",
  ["record.schedule.target", "create_scheduled_prompt.target"],
  async ({ caller }) => {
    const cloneUrl = "https://code.example/acme/widget.git";
    const targets = [{ directory: "/srv/a" }, { cloneRepo: "acme/widget" }, { cloneUrl }];
    for (const target of targets) {
      const { directory, cloneRepo, cloneUrl: url } = await create(caller, target);
      const none = { directory: null, cloneRepo: null, cloneUrl: null };
      assert.deepEqual({ directory, cloneRepo, cloneUrl: url }, { ...none, ...target });
    }
    const { directory, ...without } = await bodyWith(caller);
    const nulled = { ...without, directory, cloneRepo: null };
    assert.equal((await caller.try("create_scheduled_prompt", nulled)).status, 200);
    const wrong = [
      {},
      { directory, cloneRepo: "acme/widget" },
      { cloneRepo: "acme/widget", cloneUrl },
      { directory, cloneUrl },
    ];
    for (const target of wrong) {
      const reply = await caller.try("create_scheduled_prompt", { ...without, ...target });
      assertRefused(reply, 400, "invalid_input", JSON.stringify(target));
    }
  },
);

scenario(
  "A listing has every schedule of the organization, paused or not, and no other",
  ["list_scheduled_prompts.result"],
  async ({ caller, stranger }) => {
    const first = await create(caller);
    const second = await create(caller, { name: "paused" });
    const paused = await caller.set_scheduled_prompt_enabled({
      scheduleId: second.scheduleId,
      enabled: false,
    });
    const foreign = await create(stranger);
    const { schedules } = await caller.list_scheduled_prompts({});
    const of = ({ scheduleId }: ScheduleRecord) =>
      schedules.filter((each) => each.scheduleId === scheduleId);
    assert.deepEqual([...of(first), ...of(second)], [first, paused]);
    assert.deepEqual(of(foreign), []);
  },
);

scenario(
  "Days, weeks and months keep the organization's time of day, counted from the start",
  ["create_scheduled_prompt.frequency.next", "record.schedule.frequency"],
  async ({ caller }) => {
    const { timeZone } = await caller.get_settings({});
    const rows: [timeZone: string, Frequency, startAt: string, ...next: string[]][] = [
      ["UTC", "hourly", "2100-12-31T23:15:00Z", "2101-01-01T00:15", "2101-01-01T01:15"],
      ["UTC", "daily", "2100-02-27T09:00:00Z", "2100-02-28T09:00", "2100-03-01T09:00"],
      ["UTC", "weekly", "2100-12-27T09:00:00Z", "2101-01-03T09:00", "2101-01-10T09:00"],
      ["UTC", "monthly", later, "2100-02-28T09:00", "2100-03-31T09:00", "2100-04-30T09:00"],
      ["UTC", "monthly", "2096-01-31T09:00:00Z", "2096-02-29T09:00", "2096-03-31T09:00"],
      ["UTC", "never", later],
      // Clocks go forward on 28 March 2100, and back on 31 October.
      ["Europe/Berlin", "daily", "2100-03-27T02:30:00", "2100-03-28T01:30", "2100-03-29T00:30"],
      ["Europe/Berlin", "hourly", "2100-03-28T01:30:00", "2100-03-28T01:30", "2100-03-28T02:30"],
      ["Europe/Berlin", "daily", "2100-10-30T02:30:00", "2100-10-31T00:30", "2100-11-01T01:30"],
      ["Asia/Kolkata", "monthly", "2100-01-31T00:00:00", "2100-02-27T18:30", "2100-03-30T18:30"],
    ];
    for (const [zone, frequency, startAt, ...next] of rows) {
      await caller.update_settings({ timeZone: zone });
      const made = await create(caller, { frequency, startAt });
      const { scheduleId } = made;
      const shown = await caller.preview_scheduled_prompt({ scheduleId });
      const expected = [made.startAt, ...next.map((time) => `${time}:00.000Z`)];
      assert.equal(made.frequency, frequency);
      const about = `${frequency} in ${zone} from ${startAt}`;
      assert.equal(shown.timeZone, zone);
      assert.equal(shown.runs.length, frequency === "never" ? 1 : 10, about);
      assert.deepEqual(shown.runs.slice(0, expected.length), expected, about);
      assert.deepEqual(await caller.preview_scheduled_prompt({ frequency, startAt }), shown);
    }
    await caller.update_settings({ timeZone });
  },
);

scenario(
  "Times are asked for by a schedule, or by a frequency and a start",
  [],
  async ({ caller }) => {
    const { scheduleId } = await create(caller);
    const rest = { frequency: "daily", startAt: later };
    const wrong: [object, string][] = [
      [{}, "frequency"],
      [{ frequency: "daily" }, "startAt"],
      [{ startAt: later }, "frequency"],
      [{ scheduleId, ...rest }, "scheduleId"],
      [{ scheduleId, startAt: later }, "scheduleId"],
      [{ ...rest, startAt: "soon" }, "startAt"],
    ];
    for (const [body, field] of wrong) {
      assertInvalid(await caller.try("preview_scheduled_prompt", body), field);
    }
  },
);

scenario(
  "The next time is the start, the next regular one after a start in the past, and none while paused",
  ["record.schedule.nextRunAt"],
  async ({ caller }) => {
    assert.equal((await create(caller)).nextRunAt, later);
    const past = await create(caller, { frequency: "hourly", startAt: "2001-01-01T00:20:00Z" });
    const wait = Date.parse(past.nextRunAt!) - Date.now();
    assert.ok(wait > -5_000 && wait <= 3_605_000, past.nextRunAt!);
    assert.match(past.nextRunAt!, /:20:00\.000Z$/);
    const { scheduleId } = past;
    const paused = await caller.set_scheduled_prompt_enabled({ scheduleId, enabled: false });
    assert.deepEqual([paused.enabled, paused.status, paused.nextRunAt], [false, "paused", null]);
    const again = await caller.set_scheduled_prompt_enabled({ scheduleId, enabled: false });
    assert.deepEqual(again, paused);
    const resumed = await caller.set_scheduled_prompt_enabled({ scheduleId, enabled: true });
    assert.deepEqual([resumed.enabled, resumed.status], [true, "scheduled"]);
    assert.match(resumed.nextRunAt!, /:20:00\.000Z$/);
  },
);

scenario(
  "A new target replaces the former one, and one must remain",
  ["update_scheduled_prompt.target.clears"],
  async ({ caller }) => {
    const cloneUrl = "https://code.example/acme/widget.git";
    const { scheduleId } = await create(caller);
    const targetsAfter = async (changes: object) => {
      const { directory, ...rest } = await caller.update_scheduled_prompt({
        scheduleId,
        ...changes,
      });
      return [directory, rest.cloneRepo, rest.cloneUrl];
    };
    assert.deepEqual(await targetsAfter({ cloneUrl }), [null, null, cloneUrl]);
    assert.deepEqual(await targetsAfter({ directory: "/srv/b" }), ["/srv/b", null, null]);
    assert.deepEqual(await targetsAfter({ cloneRepo: "a/b" }), [null, "a/b", null]);
    assert.deepEqual(await targetsAfter({ cloneUrl, cloneRepo: null }), [null, null, cloneUrl]);
    assert.deepEqual(await targetsAfter({ directory: null }), [null, null, cloneUrl]);
    const cleared = await caller.try("update_scheduled_prompt", { scheduleId, cloneUrl: null });
    assertInvalid(cleared, "cloneUrl");
    assert.equal((await read(caller, scheduleId))?.cloneUrl, cloneUrl);
  },
);

scenario(
  "The next time follows a change of frequency or start, and no other change",
  ["update_scheduled_prompt.timing"],
  async ({ caller }) => {
    const { scheduleId } = await create(caller);
    const nextAfter = async (changes: object) =>
      (await caller.update_scheduled_prompt({ scheduleId, ...changes })).nextRunAt;
    assert.equal(await nextAfter({ name: "another", prompt: "Something else." }), later);
    const moved = "2101-05-05T05:05:00.000Z";
    assert.equal(await nextAfter({ startAt: moved }), moved);
    assert.equal(await nextAfter({ frequency: "weekly" }), moved);
    const hourly = await nextAfter({ frequency: "hourly", startAt: "2001-01-01T00:40:00Z" });
    assert.match(hourly!, /:40:00\.000Z$/);
    assert.equal(await nextAfter({ useWorktree: true }), hourly);
  },
);

scenario(
  "A change keeps what was not sent, and null clears what can be empty",
  ["update_scheduled_prompt.partial"],
  async ({ caller }) => {
    const made = await create(caller, {
      name: "before",
      agentKind: "codex",
      providerId: "openai",
      modelId: "gpt-5.2",
      useWorktree: true,
      fallbackChain: [{ kind: "opencode" }],
    });
    const { scheduleId } = made;
    const named = await caller.update_scheduled_prompt({ scheduleId, name: "after" });
    assert.deepEqual(named, { ...made, name: "after" });
    assert.deepEqual(await caller.update_scheduled_prompt({ scheduleId }), named);
    const empty = { name: null, agentKind: null, providerId: null, modelId: null };
    const cleared = { ...empty, fallbackChain: null };
    const changed = await caller.update_scheduled_prompt({ scheduleId, ...cleared });
    assert.deepEqual(changed, { ...named, ...cleared });
    assert.deepEqual(await read(caller, scheduleId), changed);
    const other = await newHost(caller);
    const rehosted = await caller.update_scheduled_prompt({ scheduleId, instanceIds: [other] });
    assert.deepEqual(rehosted, { ...changed, instanceIds: [other] });
    for (const field of ["prompt", "frequency", "startAt", "useWorktree"]) {
      assertInvalid(
        await caller.try("update_scheduled_prompt", { scheduleId, [field]: null }),
        field,
      );
    }
  },
);

scenario(
  "A schedule acts as the caller who created, changed or resumed it last",
  [],
  async (context) => {
    const member = await newMember(context, "member");
    const { caller } = context;
    const key = (await caller.whoami({})).apiKeyId;
    const { scheduleId, createdBy } = await create(member.as);
    const actsAs = async (as: Caller, action: Promise<ScheduleRecord>) => {
      const record = await action;
      assert.deepEqual(await read(as, scheduleId), record);
      assert.deepEqual(record.createdBy, createdBy);
      return record.actsAs.id;
    };
    const enable = (as: Caller, enabled: boolean) =>
      actsAs(as, as.set_scheduled_prompt_enabled({ scheduleId, enabled }));
    assert.equal(createdBy.id, member.userId);
    assert.equal(await enable(caller, false), member.userId);
    assert.equal(await enable(caller, true), key);
    const change = member.as.update_scheduled_prompt({ scheduleId, prompt: "Mine again." });
    assert.equal(await actsAs(member.as, change), member.userId);
    const renamed = caller.update_scheduled_prompt({ scheduleId, name: "not mine" });
    assert.equal(await actsAs(caller, renamed), key);
  },
);

scenario("A host that does not exist is refused", [], async ({ caller }) => {
  const { scheduleId, instanceIds } = await create(caller);
  const wrong = { instanceIds: [...instanceIds, "ins_00000000000000000000000000"] };
  const body = { ...(await bodyWith(caller)), ...wrong };
  assertRefused(await caller.try("create_scheduled_prompt", body), 404, "not_found");
  const change = await caller.try("update_scheduled_prompt", { scheduleId, ...wrong });
  assertRefused(change, 404, "not_found");
  assert.deepEqual((await read(caller, scheduleId))?.instanceIds, instanceIds);
});

scenario("A deleted schedule is gone with its runs", [], async ({ caller }) => {
  const { scheduleId } = await create(caller);
  const deleted = await caller.delete_scheduled_prompt({ scheduleId });
  assert.deepEqual(deleted, { scheduleId, deleted: true });
  assert.equal(await read(caller, scheduleId), undefined);
  for (const action of [
    "delete_scheduled_prompt",
    "run_scheduled_prompt_now",
    "list_schedule_runs",
    "preview_scheduled_prompt",
  ]) {
    assertRefused(await caller.try(action, { scheduleId }), 404, "not_found", action);
  }
});

scenario(
  "A run that a caller asks for is listed, and leaves the next time",
  [],
  async ({ caller }) => {
    const { scheduleId } = await create(caller);
    assert.deepEqual(await caller.list_schedule_runs({ scheduleId }), {
      runs: [],
      nextCursor: null,
    });
    const run = await caller.run_scheduled_prompt_now({ scheduleId });
    assert.match(run.runId, /^run_/);
    assert.ok(Math.abs(Date.parse(run.runAt) - Date.now()) < 60_000);
    const { runs } = await caller.list_schedule_runs({ scheduleId });
    assert.deepEqual(
      runs.map(({ runId, runAt }) => [runId, runAt]),
      [[run.runId, run.runAt]],
    );
    const record = await read(caller, scheduleId);
    assert.deepEqual([record?.nextRunAt, record?.lastRun?.runId], [later, run.runId]);
    assertInvalid(await caller.try("list_schedule_runs", { scheduleId, limit: 0 }), "limit");
    assertInvalid(await caller.try("list_schedule_runs", { scheduleId, cursor: "x" }), "cursor");
  },
);
