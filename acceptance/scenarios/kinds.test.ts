// Sessions of Claude Code and Codex, the real programs, from their start to their end: the same actions
// and the same log as with opencode.
import assert from "node:assert/strict";
import { AgentKind } from "@hawser/contract";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import { stepsOf } from "@hawser/testkit/kind-steps.ts";
import {
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  slowly,
  startSession,
  untilAsked,
  untilEnd,
  updatesOf,
  untilKindsListed,
} from "../session-steps.ts";

useWorld({ agents: AgentKind.options, hosts: 1 });

const others = ["claude_code", "codex"] as const;

scenario(
  "Each installed kind lists its models, their variants and its options, and accepts each option",
  [
    "list_agent_kinds.result",
    "list_models.result",
    "record.agentKind.version",
    "record.agentKind.problems",
    "record.agentKind.options",
    "record.agentKind.variants",
  ],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { instanceId } = host;
    const { agentKinds } = await untilKindsListed(caller, instanceId);
    assert.deepEqual(
      agentKinds.map(({ kind, installed, version, authenticated, problems }) => ({
        kind,
        is: [installed, version, authenticated],
        problems,
      })),
      [
        { kind: "opencode", is: [true, "1.18.33", true], problems: [] },
        { kind: "claude_code", is: [true, "2.1.197", true], problems: [] },
        { kind: "codex", is: [true, "0.166.0", true], problems: [] },
      ],
    );
    for (const { kind, options, variants: listedVariants } of agentKinds) {
      const { providers, defaultModel } = await caller.list_models({ instanceId, agentKind: kind });
      const models = providers.flatMap(({ providerId, models: listed }) =>
        listed.map((model) => ({ ...model, providerId })),
      );
      const usual = models.find(
        ({ providerId, modelId }) =>
          providerId === defaultModel?.providerId && modelId === defaultModel.modelId,
      );
      assert.ok(usual, `the default of ${kind} is listed`);
      const [option] = options;
      assert.equal(option?.id, stepsOf[kind].option);
      const some = models.filter(({ variants }) => variants.length > 0);
      assert.ok(some.length > 0, `a model of ${kind} has variants`);
      const shape = ({ providerId, modelId, variants }: (typeof listedVariants)[number]) => ({
        providerId,
        modelId,
        variants,
      });
      assert.deepEqual(listedVariants, some.map(shape), `list_agent_kinds lists them too`);
      for (const value of option.values) {
        const model = some.find(({ variants }) => variants.includes(value));
        assert.ok(model, `${value} is a variant of a model of ${kind}`);
        const { providerId, modelId } = model;
        const { sessionId } = await startSession(caller, host, {
          agentKind: kind,
          providerId,
          modelId,
          options: { [option.id]: value },
        });
        await caller.delete_session({ sessionId });
      }
    }
  },
);

for (const agentKind of AgentKind.options) {
  scenario(
    `A prompt to ${agentKind} may name each of the modes that are listed, and its slash commands are listed`,
    [],
    async ({ world, caller }) => {
      const host = world.hosts[0]!;
      const { agentKinds } = await untilKindsListed(caller, host.instanceId);
      const { modes, commands } = agentKinds.find(({ kind }) => kind === agentKind)!;
      const { sessionId } = await startSession(caller, host, { agentKind });
      assert.ok(modes.includes("plan"), modes.join(" "));
      for (const agent of modes) {
        const text = scripted(`as ${agent}`, { text: "Done." });
        const { turnId } = await caller.send_prompt({ sessionId, text, agent });
        const events = await untilEnd(caller, sessionId, turnId);
        assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["Done."]], agent);
      }
      const own = agentKind === "opencode" ? "init" : "compact";
      assert.ok(commands.includes(own), commands.join(" "));
      await caller.delete_session({ sessionId });
    },
  );

  scenario(
    `A mode set while a turn of ${agentKind} runs holds for its next call`,
    [],
    async ({ world, caller }) => {
      const steps = stepsOf[agentKind];
      const { sessionId, mode } = await startSession(caller, world.hosts[0]!, { agentKind });
      assert.equal(mode, "ask");
      const { turnId } = await caller.send_prompt({
        sessionId,
        text: scripted("go", steps.command("touch one"), steps.command("touch two"), {
          text: "Went on.",
        }),
      });
      const { requestId, rule } = await untilAsked(caller, sessionId);
      assert.match(rule!, /no rule allows the command/);
      const changed = await caller.set_session_mode({ sessionId, mode: "unattended" });
      assert.equal(changed.mode, "unattended");
      await caller.answer_permission({ requestId, answer: "once" });
      const events = await untilEnd(caller, sessionId, turnId);
      assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["Went on."]]);
      const calls = updatesOf(events, "tool_call_update").map(({ status }) => status);
      // Codex runs the second one in its sandbox; the others have none.
      assert.deepEqual(calls, ["completed", agentKind === "codex" ? "completed" : "failed"]);
      const [decided] = updatesOf(events, "call_decided");
      const answer = agentKind === "codex" ? "allow" : "deny";
      assert.deepEqual([decided?.answer, decided?.mode], [answer, "unattended"]);
      await caller.update_settings({ highestMode: "auto" });
      assertRefused(
        await caller.try("set_session_mode", { sessionId, mode: "unattended" }),
        409,
        "mode_not_allowed",
      );
      await runTurn(caller, sessionId, scripted("again", { text: "Narrower." }));
      assert.equal((await caller.get_session_summary({ sessionId })).mode, "auto");
      await caller.update_settings({ highestMode: "unattended" });
      await caller.delete_session({ sessionId });
    },
  );
}

for (const agentKind of others) {
  const steps = stepsOf[agentKind];

  scenario(
    `A session of ${agentKind} works, asks, is answered, stopped and ended`,
    ["record.session.agentKind", "answer_permission.status.answered", "abort_session.stops"],
    async ({ world, caller }) => {
      const host = world.hosts[0]!;
      const session = await startSession(caller, host, { agentKind, title: "a try" });
      const { sessionId } = session;
      assert.equal(session.agentKind, agentKind);
      const first = await runTurn(caller, sessionId, scripted("hello", { text: "Good morning." }));
      assert.deepEqual([outcomeOf(first), saidIn(first)], ["completed", ["Good morning."]]);

      for (const answer of ["once", "reject"] as const) {
        const command = `echo it was ${answer} > ${answer}.txt; cat ${answer}.txt`;
        const { turnId } = await caller.send_prompt({
          sessionId,
          text: scripted("make it", steps.command(command), { text: "So be it." }),
        });
        const { requestId, permission } = await untilAsked(caller, sessionId);
        assert.equal(permission?.detail, command);
        const { status } = await caller.answer_permission({ requestId, answer });
        assert.equal(status, "answered");
        const events = await untilEnd(caller, sessionId, turnId);
        assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["So be it."]]);
        const [call] = updatesOf(events, "tool_call_update");
        const ran = JSON.stringify(call?.content).includes(`it was ${answer}`);
        assert.deepEqual(
          [call?.status, ran],
          answer === "once" ? ["completed", true] : ["failed", false],
        );
      }

      const asked = await caller.send_prompt({
        sessionId,
        text: scripted("ask me", steps.question("Which colour?", ["Red", "Blue"]), { text: "Ok." }),
      });
      const { requestId, questions } = await untilAsked(caller, sessionId);
      assert.deepEqual(
        questions?.map(({ question }) => question),
        ["Which colour?"],
      );
      assert.deepEqual(await caller.answer_question({ requestId, answers: [["Blue"]] }), {
        status: "answered",
      });
      const answered = await untilEnd(caller, sessionId, asked.turnId);
      assert.equal(outcomeOf(answered), "completed");
      assert.match(JSON.stringify(updatesOf(answered, "tool_call_update")), /Blue/);

      const long = await caller.send_prompt({ sessionId, text: scripted("long", slowly()) });
      await until(
        "running",
        20_000,
        () => caller.get_session_summary({ sessionId }),
        ({ live }) => live?.status === "running",
      );
      await caller.abort_session({ sessionId });
      assert.equal(outcomeOf(await untilEnd(caller, sessionId, long.turnId)), "aborted");
      const again = await runTurn(caller, sessionId, scripted("again", { text: "Still here." }));
      assert.deepEqual([outcomeOf(again), saidIn(again)], ["completed", ["Still here."]]);

      assert.equal((await caller.end_session({ sessionId })).status, "ended");
    },
  );

  scenario(
    `Options reach the model of ${agentKind}: those of the start, and those of a prompt for all that follow`,
    agentKind === "codex" ? ["start_session.options.apply", "send_prompt.options.sticky"] : [],
    async ({ world, caller }) => {
      const host = world.hosts[0]!;
      const { option } = steps;
      const seen = () => steps.optionIn(world.model!.requests.at(-1)!);
      const start = { agentKind, options: { [option]: "high" } };
      const { sessionId } = await startSession(caller, host, start);
      await runTurn(caller, sessionId, scripted("one", { text: "1" }));
      assert.equal(seen(), "high");
      const options = { [option]: "low" };
      await runTurn(caller, sessionId, scripted("two", { text: "2" }), { options });
      assert.equal(seen(), "low");
      await runTurn(caller, sessionId, scripted("three", { text: "3" }));
      assert.equal(seen(), "low");
      const { instanceId, repository: directory } = host;
      const where = { instanceId, directory, agentKind };
      const bogus = { ...where, options: { [option]: "bogus" } };
      assertInvalid(await caller.try("start_session", bogus), `options.${option}`);
      const unknown = { ...where, options: { nothing: "high" } };
      assertInvalid(await caller.try("start_session", unknown), "options.nothing");
      await caller.end_session({ sessionId });
    },
  );
}

scenario(
  "A session of each kind is renamed",
  ["rename_session.renames"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    for (const agentKind of AgentKind.options) {
      const { sessionId } = await startSession(caller, host, { agentKind, title: "before" });
      await caller.rename_session({ sessionId, title: `after ${agentKind}` });
      const { sessions } = await caller.list_sessions({ instanceId: host.instanceId });
      const found = sessions.find((each) => each.sessionId === sessionId);
      assert.equal(found?.title, `after ${agentKind}`);
      await caller.delete_session({ sessionId });
    }
  },
);
