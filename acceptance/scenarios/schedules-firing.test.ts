// Scheduled prompts that run: three nodes sweep, and the real opencode and codex work on two hosts. Times that are
// an hour away are brought forward in the database.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Calls } from "@hawser/testkit/caller.ts";
import { moveClock } from "@hawser/testkit/clock.ts";
import type { TestHost } from "@hawser/testkit/host.ts";
import { git, useGithub } from "../clone-steps.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import {
  briefly,
  inSeconds,
  makeDue,
  passMinutes,
  schedule,
  scheduleOf,
  sessionsOf,
  untilEnded,
  untilSucceeded,
  untilSwept,
} from "../firing-steps.ts";
import {
  bash,
  logOf,
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  startSession,
  untilAsked,
  updatesOf,
  usedQuota,
  warmUp,
} from "../session-steps.ts";

useWorld({ nodes: 3, hosts: 2, agents: ["opencode", "codex"] });

const hosting = useGithub("gho_schedules", [{ name: "acme/widget" }]);

scenario(
  "Each due time starts one new session with the prompt, in a worktree of its own, on whichever node",
  [
    "general.capabilities",
    "create_scheduled_prompt.fires",
    "create_scheduled_prompt.directory.worktree",
    "create_scheduled_prompt.useWorktree.default",
    "record.schedule.lastRun",
    "record.schedule.sessionCount",
    "record.session.startedBy",
  ],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    await warmUp(caller, host.instanceId);
    const made = await schedule(caller, host, { name: "Every hour" });
    const { scheduleId } = made;
    assert.deepEqual([made.lastRun, made.sessionCount], [null, 0]);
    const branches = new Set<string>();
    for (const count of [1, 2]) {
      const { run, session } = await untilSucceeded(caller, scheduleId, count);
      const { lastRun, sessionCount, nextRunAt } = await scheduleOf(caller, scheduleId);
      assert.deepEqual([lastRun, sessionCount], [run, count]);
      if (count === 1) assert.equal(run.runAt, made.startAt);
      assert.equal(Date.parse(nextRunAt!) - Date.parse(made.startAt), 3_600_000);
      assert.equal((await sessionsOf(caller, scheduleId)).length, count);
      assert.deepEqual(session.startedBy, { type: "schedule", id: scheduleId, name: "Every hour" });
      const events = await logOf(caller, session.sessionId);
      assert.deepEqual(
        updatesOf(events, "user_message_chunk").map(({ content }) => content.text),
        [briefly],
      );
      assert.ok(saidIn(events).join("").includes("All is well."));
      branches.add(session.worktreeBranch!);
      await makeDue(world, scheduleId);
    }
    assert.equal(branches.size, 2, "each run has its own branch");
    await untilSucceeded(caller, scheduleId, 3);
    // A run that fails starts no session.
    await caller.update_scheduled_prompt({ scheduleId, directory: join(host.root, "missing") });
    await makeDue(world, scheduleId);
    const failed = await untilEnded(caller, scheduleId, 4);
    assert.deepEqual([failed.outcome, failed.sessionId], ["failed", null]);
    assert.equal(failed.passedOver[0]?.reason, failed.failure);
    const { lastRun, sessionCount } = await scheduleOf(caller, scheduleId);
    assert.deepEqual([lastRun?.runId, sessionCount], [failed.runId, 3]);
    await caller.delete_scheduled_prompt({ scheduleId });
    const user = world.callerFor(world.organizations[0].keys.member);
    for (const [as, type] of [
      [user, "user"],
      [caller, "organization_key"],
    ] as const) {
      assert.equal((await startSession(as, host)).startedBy.type, type);
    }
  },
);

scenario(
  "A run whose agent waits for an answer says so, and ends when it has the answer",
  ["record.schedule.lastRun"],
  async ({ world, caller }) => {
    const prompt = scripted("Run it.", bash("echo hello"), { text: "Done." });
    const { scheduleId } = await schedule(caller, world.hosts[0]!, { prompt });
    const { lastRun } = await until(
      "the run waits",
      90_000,
      () => scheduleOf(caller, scheduleId),
      (shown) => shown.lastRun?.outcome === "needs_answer",
    );
    const { requestId } = await untilAsked(caller, lastRun!.sessionId!);
    await makeDue(world, scheduleId);
    const skipped = await until(
      "the next time is skipped",
      20_000,
      async () => (await caller.list_schedule_runs({ scheduleId })).runs,
      ([newest]) => newest?.outcome === "skipped",
    );
    assert.match(skipped[0]!.failure!, /waits for an answer/);
    await caller.answer_permission({ requestId, answer: "once" });
    await until(
      "the run ends",
      60_000,
      async () => (await caller.list_schedule_runs({ scheduleId })).runs[1],
      (run) => run?.outcome === "succeeded",
    );
    await caller.delete_scheduled_prompt({ scheduleId });
  },
);

scenario(
  "A run in a clone begins with a fresh one each time, which goes with its session",
  ["create_scheduled_prompt.clone.fresh"],
  async (context) => {
    const { world, caller } = context;
    const host = await hosting.addHost(context);
    await warmUp(caller, host.instanceId);
    const cloneUrl = "https://github.com/acme/widget.git";
    const { scheduleId } = await schedule(caller, host, { cloneUrl });
    const first = (await untilSucceeded(caller, scheduleId, 1)).session;
    const work = join(hosting.place, "work");
    const bare = join(hosting.github().directory, "acme/widget.git");
    execFileSync("git", ["clone", "-q", bare, work]);
    writeFileSync(join(work, "between.txt"), "made between the runs\n");
    git(work, "add", ".");
    git(work, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "between");
    git(work, "push", "-q", "origin", "HEAD");
    await makeDue(world, scheduleId);
    const second = (await untilSucceeded(caller, scheduleId, 2)).session;
    const hasCommit = [first, second].map(({ directory }) =>
      existsSync(join(directory!, "between.txt")),
    );
    assert.deepEqual(hasCommit, [false, true]);
    for (const { sessionId, directory } of [first, second]) {
      assert.ok(directory!.includes(sessionId), "the session owns its directory");
      await caller.end_session({ sessionId });
      assert.equal(existsSync(directory!), false);
    }
    await caller.delete_scheduled_prompt({ scheduleId });
  },
);

scenario(
  "The first reachable host of the list takes the run",
  ["create_scheduled_prompt.fall_through"],
  async ({ world, caller }) => {
    const [up, other] = world.hosts;
    const down = await world.addHost();
    down.process.kill("SIGKILL");
    await until(
      "the host is offline",
      60_000,
      () => caller.get_instance({ instanceId: down.instanceId }),
      ({ status }) => status === "offline",
    );
    const instanceIds = [down, up!, other!].map(({ instanceId }) => instanceId);
    const { scheduleId } = await schedule(caller, up!, { instanceIds, frequency: "never" });
    const { run, session } = await untilSucceeded(caller, scheduleId);
    assert.equal(session.instanceId, up!.instanceId);
    assert.deepEqual(
      run.passedOver.map(({ instanceId }) => instanceId),
      [down.instanceId],
    );
    assert.match(run.passedOver[0]!.reason, /not connected/);
    // Without a host that is up, the run fails with the reason of each, and the next time stays.
    const alone = await schedule(caller, up!, { instanceIds: [down.instanceId] });
    await until(
      "the run waits for its host",
      20_000,
      () => scheduleOf(caller, alone.scheduleId),
      (shown) => shown.lastRun?.failure?.startsWith("None of its hosts is connected.") ?? false,
    );
    await passMinutes(world, alone.scheduleId, 6);
    const failed = await untilEnded(caller, alone.scheduleId);
    assert.deepEqual([failed.outcome, failed.passedOver.length], ["failed", 1]);
    const { enabled, nextRunAt } = await scheduleOf(caller, alone.scheduleId);
    assert.deepEqual(
      [enabled, Date.parse(nextRunAt!) - Date.parse(alone.startAt)],
      [true, 3_600_000],
    );
    await caller.delete_scheduled_prompt({ scheduleId: alone.scheduleId });

    // One host is down, and the next one has used up the quota of its preferred kind.
    const chain = [{ kind: "codex" as const }, { kind: "opencode" as const }];
    await caller.set_fallback_chain({ instanceId: other!.instanceId, chain });
    const quota = await useUpQuota(caller, other!);
    const both = await schedule(caller, other!, {
      instanceIds: [down, other!].map(({ instanceId }) => instanceId),
      frequency: "never",
    });
    const story = await untilSucceeded(caller, both.scheduleId);
    assert.deepEqual(
      [story.session.instanceId, story.session.agentKind],
      [other!.instanceId, "opencode"],
    );
    assert.deepEqual(
      story.run.passedOver.map(({ instanceId }) => instanceId),
      [down.instanceId],
    );
    assert.deepEqual(story.run.fallback, story.session.fallback);
    const { preferredKind, skipped } = story.run.fallback!;
    assert.deepEqual(
      [preferredKind, skipped.map(({ kind, reason }) => [kind, reason])],
      ["codex", [["codex", "quota"]]],
    );
    await caller.set_fallback_chain({ instanceId: other!.instanceId, chain: [] });
    await quota.renew();
  },
);

/** Returns when the host starts no more sessions of codex. */
async function useUpQuota(caller: Calls, host: TestHost): Promise<{ renew(): Promise<void> }> {
  const { sessionId } = await startSession(caller, host, { agentKind: "codex" });
  const use = async (percent: number) => {
    const steps = scripted("go", { text: "Hello.", headers: usedQuota(percent) });
    assert.equal(outcomeOf(await runTurn(caller, sessionId, steps)), "completed");
  };
  await use(95);
  await until(
    "the quota counts",
    20_000,
    async () => {
      const started = await startSession(caller, host);
      await caller.end_session({ sessionId: started.sessionId });
      return started;
    },
    ({ agentKind }) => agentKind === "opencode",
  );
  return {
    async renew() {
      await use(3);
      await caller.end_session({ sessionId });
    },
  };
}

scenario(
  "The kind is the host's default, its chain applies, and the schedule's own chain replaces it",
  [
    "create_scheduled_prompt.agentKind.default",
    "create_scheduled_prompt.host_chain",
    "create_scheduled_prompt.fallbackChain.overrides",
  ],
  async ({ world, caller }) => {
    const [plain, chained] = world.hosts;
    await warmUp(caller, chained!.instanceId);
    const once = { frequency: "never" } as const;
    const kindOf = async (host = chained!, input = {}) => {
      const { scheduleId } = await schedule(caller, host, { ...once, ...input });
      const { session } = await untilSucceeded(caller, scheduleId);
      return { kind: session.agentKind, preferred: session.fallback?.preferredKind ?? null };
    };
    const setChain = (...kinds: ("codex" | "opencode" | "claude_code")[]) =>
      caller.set_fallback_chain({
        instanceId: chained!.instanceId,
        chain: kinds.map((kind) => ({ kind })),
      });
    await setChain("codex");
    assert.deepEqual(await kindOf(plain), { kind: "opencode", preferred: null });
    assert.deepEqual(await kindOf(), { kind: "codex", preferred: null });
    const fallbackChain = [{ kind: "opencode" }];
    assert.deepEqual(await kindOf(chained, { fallbackChain }), {
      kind: "opencode",
      preferred: null,
    });
    await setChain("claude_code", "opencode");
    assert.deepEqual(await kindOf(), { kind: "opencode", preferred: "claude_code" });
    await setChain();
  },
);

scenario(
  "A prompt with the frequency never runs exactly once",
  ["create_scheduled_prompt.frequency.never", "record.schedule.status"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { scheduleId, status } = await schedule(caller, host, { frequency: "never" });
    assert.equal(status, "scheduled");
    await untilSucceeded(caller, scheduleId);
    const resumed = await caller.set_scheduled_prompt_enabled({ scheduleId, enabled: true });
    assert.deepEqual([resumed.status, resumed.nextRunAt], ["finished", null]);
    await untilSwept(caller, host, inSeconds(1));
    assert.equal((await sessionsOf(caller, scheduleId)).length, 1);
    const finished = await scheduleOf(caller, scheduleId);
    assert.deepEqual([finished.status, finished.nextRunAt], ["finished", null]);
  },
);

scenario(
  "A deleted schedule never runs again, and its sessions stay usable",
  ["delete_scheduled_prompt.deletes", "delete_scheduled_prompt.sessions_kept"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const ran = await schedule(caller, host);
    const { session } = await untilSucceeded(caller, ran.scheduleId);
    const early = await schedule(caller, host, { startAt: inSeconds(3) });
    for (const { scheduleId } of [ran, early]) await caller.delete_scheduled_prompt({ scheduleId });
    await untilSwept(caller, host, inSeconds(4));
    const { schedules } = await caller.list_scheduled_prompts({});
    const left = schedules.map(({ scheduleId }) => scheduleId);
    for (const { scheduleId } of [ran, early]) assert.ok(!left.includes(scheduleId));
    assert.equal((await sessionsOf(caller, early.scheduleId)).length, 0);
    const [kept] = await sessionsOf(caller, ran.scheduleId);
    assert.equal(kept?.sessionId, session.sessionId);
    const events = await runTurn(
      caller,
      session.sessionId,
      scripted("go", { text: "Still here." }),
    );
    assert.equal(outcomeOf(events), "completed");
  },
);

// The last one: it leaves the clock of the database hours ahead.
scenario(
  "A paused schedule does not run, and a resumed one makes up for no time",
  ["set_scheduled_prompt_enabled.pause", "set_scheduled_prompt_enabled.resume"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const hour = 3_600_000;
    const made = await schedule(caller, host, { startAt: inSeconds(60) });
    const { scheduleId } = made;
    const start = Date.parse(made.startAt);
    await caller.set_scheduled_prompt_enabled({ scheduleId, enabled: false });
    const setClock = (ms: number) =>
      moveClock(world.database.url, Math.round((start + ms - Date.now()) / 1_000));
    await setClock(2.5 * hour);
    // Three times have passed. Any later time of another schedule shows that the nodes have looked.
    await untilSwept(caller, host, new Date(start + hour).toISOString());
    const paused = await scheduleOf(caller, scheduleId);
    assert.deepEqual([paused.status, paused.nextRunAt, paused.lastRun], ["paused", null, null]);
    const resumed = await caller.set_scheduled_prompt_enabled({ scheduleId, enabled: true });
    assert.equal(Date.parse(resumed.nextRunAt!) - start, 3 * hour);
    await untilSwept(caller, host, new Date(start + hour).toISOString());
    assert.equal((await scheduleOf(caller, scheduleId)).lastRun, null);
    for (const count of [1, 2]) {
      await setClock((2 + count) * hour + 1_000);
      const { run } = await untilSucceeded(caller, scheduleId, count);
      assert.equal(Date.parse(run.runAt) - start, (2 + count) * hour);
    }
    assert.equal((await sessionsOf(caller, scheduleId)).length, 2);
  },
);
