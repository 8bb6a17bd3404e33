// Triggers: two nodes receive what a GitHub on loopback sends, and real agents do the work.
import assert from "node:assert/strict";
import { startDeafHost } from "@hawser/testkit/deaf-host.ts";
import {
  githubDelivery,
  githubPayloads,
  sendSlowly,
  standardDelivery,
} from "@hawser/testkit/webhook-sender.ts";
import { makeDue, schedule, untilEnded } from "../firing-steps.ts";
import { newMember } from "../new-member.ts";
import { assertRefused, refusalOf } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import {
  bash,
  logOf,
  outcomeOf,
  runTurn,
  scripted,
  slowly,
  startSession,
  untilLogged,
  updatesOf,
  usedQuota,
  warmUp,
} from "../session-steps.ts";
import {
  createTrigger,
  deliver,
  forgedEntries,
  sessionsOfTrigger,
  untilRun,
  type MadeTrigger,
} from "../trigger-steps.ts";

useWorld({ nodes: 2, hosts: 1, agents: ["opencode", "codex"] });

const comment = ({ secret }: MadeTrigger, body = "/hawser fix it") =>
  githubDelivery(secret, "issue_comment", githubPayloads.comment(body));

scenario(
  "A GitHub delivery that is sent three times to two nodes at once starts one session",
  [],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    await warmUp(caller, host.instanceId);
    const made = await createTrigger(caller, host, { name: "Comments" });
    const { trigger } = made;
    const delivery = comment(made);
    const sent = [...world.nodes, ...world.nodes, ...world.nodes].map(({ baseUrl }) =>
      deliver(baseUrl, trigger, delivery),
    );
    const replies = await Promise.all(sent);
    const [run] = await untilRun(caller, trigger);
    for (const { status, body } of replies)
      assert.deepEqual([status, body], [202, { runId: run!.runId }]);
    assert.equal(run!.outcome, "succeeded", JSON.stringify(run));
    const [session, ...others] = await sessionsOfTrigger(caller, trigger);
    assert.deepEqual([session?.sessionId, others], [run!.sessionId, []]);
    const { triggerId } = trigger;
    assert.deepEqual(session!.startedBy, { type: "trigger", id: triggerId, name: "Comments" });
    const prompts = updatesOf(await logOf(caller, run!.sessionId!), "user_message_chunk");
    assert.equal(prompts.length, 1);
    const { text } = prompts[0]!.content;
    assert.ok(text.startsWith(`${trigger.prompt}\n\nThe text between the two lines with `));
    assert.match(text, /\ncomment: \/hawser fix it\n/);
    // GitHub's button "Redeliver" sends the same body, later.
    const again = await deliver(world.nodes[1]!.baseUrl, trigger, delivery);
    assert.deepEqual(again.body, { runId: run!.runId });
    assert.equal((await deliver(world.baseUrl, trigger, comment(made))).status, 202);
    await untilRun(caller, trigger, 2);
    assert.equal((await sessionsOfTrigger(caller, trigger)).length, 2);
    await caller.delete_trigger({ triggerId });
  },
);

scenario(
  "A forged delivery starts no session, and leaves an audit entry",
  [],
  async ({ world, caller }) => {
    const made = await createTrigger(caller, world.hosts[0]!);
    const { trigger } = made;
    const other = await createTrigger(caller, world.hosts[0]!);
    const forged = comment(other);
    const id = { "x-request-id": "one" };
    const send = (triggerId: string) =>
      deliver(
        world.nodes[1]!.baseUrl,
        { triggerId },
        { ...forged, headers: { ...forged.headers, ...id } },
      );
    const refused = await send(trigger.triggerId);
    assertRefused(refused, 401, "unauthenticated");
    const unknown = await send(`trg_${"0".repeat(26)}`);
    assert.deepEqual([unknown.status, unknown.text], [401, refused.text]);
    const changed = comment(made);
    const body = changed.body.replace("fix it", "print secrets");
    assertRefused(
      await deliver(world.baseUrl, trigger, { ...changed, body }),
      401,
      "unauthenticated",
    );
    const [entry, ...others] = await forgedEntries(caller, trigger);
    assert.deepEqual([entry?.outcome, entry?.input["count"], others], ["unauthenticated", 1, []]);
    const { runs } = await caller.list_schedule_runs({ triggerId: trigger.triggerId });
    assert.deepEqual([runs, await sessionsOfTrigger(caller, trigger)], [[], []]);
    for (const { triggerId } of [trigger, other.trigger])
      await caller.delete_trigger({ triggerId });
  },
);

scenario(
  "Strangers who send slowly, to any address, keep no signed delivery out",
  [],
  async ({ world, caller }) => {
    const made = await createTrigger(caller, world.hosts[0]!);
    const { triggerId } = made.trigger;
    const { headers } = comment({ ...made, secret: "another" });
    const replies: Promise<string>[] = [];
    for (const address of ["nonsense", `trg_${"0".repeat(26)}`, triggerId])
      replies.push(...(await sendSlowly(`${world.baseUrl}/api/triggers/${address}`, headers, 80)));
    const startedAt = performance.now();
    const ping = githubDelivery(made.secret, "ping", { zen: "Keep it simple." });
    assert.equal((await deliver(world.baseUrl, made.trigger, ping)).status, 200);
    assert.ok(performance.now() - startedAt < 2_000);
    const statuses = new Set(await Promise.all(replies));
    assert.deepEqual([...statuses].sort(), ["400", "401", "429"]);
    await caller.delete_trigger({ triggerId });
  },
);

scenario("A deleted trigger receives nothing", [], async ({ world, caller }) => {
  const made = await createTrigger(caller, world.hosts[0]!);
  await caller.delete_trigger({ triggerId: made.trigger.triggerId });
  const reply = await deliver(world.baseUrl, made.trigger, comment(made));
  assert.equal(refusalOf(reply).code, "unauthenticated");
});

scenario(
  "A session of a trigger raises no request, and a change of the rules in mid-run does not widen them",
  [],
  async ({ world, caller }) => {
    const before = await caller.get_settings({});
    const steps = [{ ...slowly("one two three"), ...bash("echo first") }, bash("echo hello")];
    const made = await createTrigger(caller, world.hosts[0]!, {
      prompt: scripted("Run it.", ...steps, { text: "Went on." }),
    });
    const { trigger } = made;
    assert.equal((await deliver(world.baseUrl, trigger, comment(made))).status, 202);
    const { sessionId } = await until(
      "the session runs",
      60_000,
      async () => (await caller.list_schedule_runs({ triggerId: trigger.triggerId })).runs[0]!,
      (run) => run.sessionId !== null && run.startedAt !== null,
    );
    await untilLogged(caller, sessionId!, "turn_started");
    await caller.update_settings({
      defaultMode: "auto",
      defaultAgentPolicy: { allowedCommands: ["echo *"], outsideWorktree: "ask" },
    });
    const [run] = await untilRun(caller, trigger);
    assert.equal(run!.outcome, "succeeded", JSON.stringify(run));
    const decided = async (id: string) =>
      updatesOf(await logOf(caller, id), "call_decided").map(({ answer, mode }) => [answer, mode]);
    const denied = ["deny", "unattended"];
    assert.deepEqual(await decided(sessionId!), [denied, denied]);
    assert.deepEqual(updatesOf(await logOf(caller, sessionId!), "request_raised"), []);
    assert.equal((await caller.get_session_summary({ sessionId: sessionId! })).mode, "unattended");
    // The next run has the new rules, so these commands would have been allowed.
    await deliver(world.baseUrl, trigger, comment(made));
    const [next] = await untilRun(caller, trigger, 2);
    const allowed = ["allow", "unattended"];
    assert.deepEqual(await decided(next!.sessionId!), [allowed, allowed]);
    const { defaultMode, defaultAgentPolicy } = before;
    await caller.update_settings({ defaultMode, defaultAgentPolicy });
    await caller.delete_trigger({ triggerId: trigger.triggerId });
  },
);

scenario(
  "If the organization does not allow unattended work, a trigger starts nothing and is paused",
  [],
  async ({ world, caller }) => {
    const made = await createTrigger(caller, world.hosts[0]!);
    const { triggerId } = made.trigger;
    await caller.update_settings({ highestMode: "ask" });
    await deliver(world.baseUrl, made.trigger, comment(made));
    const [run] = await untilRun(caller, made.trigger);
    await caller.update_settings({ highestMode: "unattended" });
    assert.deepEqual([run!.outcome, run!.sessionId], ["failed", null]);
    const { triggers } = await caller.list_triggers({});
    const paused = triggers.find((each) => each.triggerId === triggerId)!;
    assert.equal(paused.enabled, false);
    assert.match(paused.pauseReason!, /highestMode/);
    const ignored = await deliver(world.baseUrl, made.trigger, comment(made));
    assert.equal(ignored.status, 200);
    assert.match(
      (ignored.body as { ignored: string }).ignored,
      /^The trigger is paused\. .*highestMode/,
    );
    await caller.delete_trigger({ triggerId });
  },
);

scenario(
  "A trigger of a member who has left starts nothing, until somebody resumes it as their own",
  [],
  async (context) => {
    const { world, caller } = context;
    const member = await newMember(context, "member");
    const made = await createTrigger(member.as, world.hosts[0]!, { source: "json" });
    const { triggerId } = made.trigger;
    assert.equal(made.trigger.actsAs.id, member.userId);
    await caller.remove_member({ userId: member.userId });
    const send = () => deliver(world.baseUrl, made.trigger, standardDelivery(made.secret, {}));
    assert.equal((await send()).status, 202);
    const [run] = await untilRun(caller, made.trigger);
    assert.deepEqual([run!.outcome, run!.sessionId], ["failed", null]);
    const { trigger } = await caller.update_trigger({ triggerId, enabled: true });
    assert.equal(trigger.actsAs.id, (await caller.whoami({})).apiKeyId);
    assert.equal((await send()).status, 202);
    const [next] = await untilRun(caller, made.trigger, 2);
    assert.equal(next!.outcome, "succeeded", JSON.stringify(next));
    await caller.delete_trigger({ triggerId });
  },
);

scenario(
  "A host that was paired again gets nothing of a schedule or trigger that was saved before",
  [],
  async ({ world, caller }) => {
    using first = await startDeafHost(caller, world.baseUrl, { listens: true });
    const { instanceId } = first;
    const isOnline = () =>
      until(
        "the host is online",
        30_000,
        () => caller.get_instance({ instanceId }),
        ({ status }) => status === "online",
      );
    await isOnline();
    const cloneUrl = "https://code.example/acme/widget.git";
    const where = { instanceIds: [instanceId], agentKind: "codex" as const, cloneUrl };
    const plan = { ...where, startAt: "2100-01-01T00:00:00Z" };
    const host = world.hosts[0]!;
    // The machine that was chosen is asked.
    const asked = await schedule(caller, host, plan);
    await makeDue(world, asked.scheduleId);
    const commands = (lines: string[]) => lines.filter((line) => line.startsWith("MSG ")).length;
    await until(
      "it is asked",
      30_000,
      async () => commands(first.lines),
      (count) => count > 0,
    );
    await caller.delete_scheduled_prompt({ scheduleId: asked.scheduleId });

    const { scheduleId } = await schedule(caller, host, plan);
    const made = await caller.create_trigger({ ...where, prompt: "go", source: "json" });
    using second = await startDeafHost(caller, world.baseUrl, { listens: true, instanceId });
    await isOnline();
    await makeDue(world, scheduleId);
    await deliver(world.baseUrl, made.trigger, standardDelivery(made.secret, {}));
    const runs = [await untilEnded(caller, scheduleId), (await untilRun(caller, made.trigger))[0]!];
    for (const { outcome, sessionId, failure } of runs) {
      assert.deepEqual([outcome, sessionId], ["failed", null]);
      assert.match(failure!, /This host was paired again/);
    }
    assert.equal(commands(second.lines), 0, "the new machine was asked for nothing");
    await caller.delete_scheduled_prompt({ scheduleId });
    await caller.delete_trigger({ triggerId: made.trigger.triggerId });
  },
);

scenario(
  "With the first host down and the second over its quota, the run starts there with the next kind",
  ["create_scheduled_prompt.fall_through"],
  async ({ world, caller }) => {
    const up = world.hosts[0]!;
    const down = await world.addHost();
    down.process.kill("SIGKILL");
    await until(
      "the first host is offline",
      60_000,
      () => caller.get_instance({ instanceId: down.instanceId }),
      ({ status }) => status === "offline",
    );
    const chain = [{ kind: "codex" as const }, { kind: "opencode" as const }];
    await caller.set_fallback_chain({ instanceId: up.instanceId, chain });
    const spent = await startSession(caller, up, { agentKind: "codex" });
    const turn = await runTurn(
      caller,
      spent.sessionId,
      scripted("go", { text: "Hello.", headers: usedQuota(95) }),
    );
    assert.equal(outcomeOf(turn), "completed");
    // Codex reports its quota beside the turn.
    await until(
      "the quota counts",
      20_000,
      async () => {
        const { sessionId, agentKind } = await startSession(caller, up);
        await caller.end_session({ sessionId });
        return agentKind;
      },
      (kind) => kind === "opencode",
    );
    const instanceIds = [down.instanceId, up.instanceId];
    const { scheduleId } = await schedule(caller, up, { instanceIds, frequency: "never" });
    const made = await createTrigger(caller, up, { instanceIds });
    await deliver(world.baseUrl, made.trigger, comment(made));
    for (const run of [
      await untilEnded(caller, scheduleId),
      (await untilRun(caller, made.trigger))[0]!,
    ]) {
      assert.equal(run.outcome, "succeeded", JSON.stringify(run));
      assert.deepEqual(
        run.passedOver.map(({ instanceId }) => instanceId),
        [down.instanceId],
      );
      assert.match(run.passedOver[0]!.reason, /not connected/);
      const session = await caller.get_session_summary({ sessionId: run.sessionId! });
      assert.deepEqual([session.instanceId, session.agentKind], [up.instanceId, "opencode"]);
      const { preferredKind, skipped } = session.fallback!;
      assert.equal(preferredKind, "codex");
      assert.deepEqual(
        skipped.map(({ kind, reason, utilization }) => [kind, reason, utilization]),
        [["codex", "quota", 95]],
      );
    }
    await caller.set_fallback_chain({ instanceId: up.instanceId, chain: [] });
    await caller.end_session({ sessionId: spent.sessionId });
    await caller.delete_trigger({ triggerId: made.trigger.triggerId });
  },
);
