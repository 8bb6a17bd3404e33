// What the real Claude Code offers, whether it is ready, and that a prompt's choices reach the model.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openClaudeHost, type ClaudeHost } from "@hawser/testkit/claude-host.ts";
import { until } from "@hawser/testkit/until.ts";
import { placeIn, promptOf } from "@hawser/testkit/conformance/bench.ts";
import { AgentNotReady, type AgentEvent, type Prompt } from "../driver.ts";

let host: ClaudeHost;
const never = new AbortController().signal;
before(async () => {
  host = await openClaudeHost();
});
after(() => host[Symbol.asyncDispose]());

const place = () => placeIn(host.makeRepository());

test("a program that is missing, does not start or has no login is reported as a problem, and starts nothing", async () => {
  const bare = join(host.folder, "bare-home");
  mkdirSync(bare);
  const states = [
    { code: "not_installed", installed: false, settings: { program: () => undefined } },
    {
      code: "does_not_start",
      installed: true,
      settings: { program: () => ({ path: join(host.folder, "nothing"), version: "1.0.0" }) },
    },
    { code: "not_logged_in", installed: true, settings: { environment: { HOME: bare } } },
  ];
  for (const { code, installed, settings } of states) {
    const driver = host.openDriver(settings);
    const found = await driver.readState(never);
    assert.deepEqual([found.installed, found.authenticated], [installed, false]);
    assert.deepEqual(
      found.problems.map((problem) => problem.code),
      [code],
    );
    await assert.rejects(
      driver.start(place(), () => {}, never),
      AgentNotReady,
    );
    assert.deepEqual(driver.liveStarts(), []);
    await driver.close();
  }
});

test("a prompt's model, effort, thinking, mode and sub-agent apply to that prompt only", async () => {
  const driver = host.openDriver();
  const events: AgentEvent[] = [];
  const session = await driver.start(place(), (event) => events.push(event), never);
  const ask = async (more: Partial<Prompt>) => {
    const ends = () => events.filter(({ type }) => type === "turn_ended").length;
    const before = ends();
    await session.prompt(promptOf([{ text: "Yes." }], more), never);
    await until("the turn is over", () => ends() > before, 20_000);
    const { model, body } = host.model.requests.at(-1)!;
    const {
      output_config: config,
      thinking,
      tools,
    } = body as {
      output_config?: { effort?: string };
      thinking?: { type: string };
      tools: { name: string }[];
    };
    const canEdit = tools.some(({ name }) => name === "Edit");
    const isPlanning = /Plan mode is active/i.test(JSON.stringify(body["messages"]));
    return { model, effort: config?.effort, thinking: thinking?.type, canEdit, isPlanning };
  };
  const usual = await ask({});
  assert.equal(usual.canEdit, true);
  const other = { model: { providerId: "anthropic", modelId: "sonnet" } };
  const chosen = await ask({ ...other, options: { effort: "low" } });
  assert.match(chosen.model, /sonnet/);
  assert.equal(chosen.effort, "low");
  assert.deepEqual(await ask({}), usual);
  assert.notEqual(usual.thinking, "disabled");
  assert.equal((await ask({ options: { thinking: "off" } })).thinking, "disabled");
  assert.deepEqual(await ask({}), usual);
  assert.equal((await ask({ agent: "Explore" })).canEdit, false);
  assert.deepEqual(await ask({}), usual);
  assert.equal((await ask({ agent: "plan" })).isPlanning, true);
  await driver.close();
});
