// The used quota that the real Claude Code reports with the login of a subscription, from the headers of the
// model's answers.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openClaudeHost, type ClaudeHost } from "@hawser/testkit/claude-host.ts";
import { writeClaudeLogin } from "@hawser/testkit/claude-home.ts";
import { placeIn } from "@hawser/testkit/conformance/bench.ts";
import { until } from "@hawser/testkit/until.ts";
import type { AgentEvent, Driver } from "../driver.ts";
import { openQuota } from "../quota.ts";
import type { Step } from "../scripted/script.ts";
import { noteLimit, noteUsage } from "./account-quota.ts";

let host: ClaudeHost;
let driver: Driver;
before(async () => {
  host = await openClaudeHost();
  writeClaudeLogin(host.home, host.model.url);
  driver = host.openDriver();
});
after(async () => {
  await driver.close();
  await host[Symbol.asyncDispose]();
});

const never = new AbortController().signal;
const inAnHour = Math.floor(Date.now() / 1000) + 3600;

const limits = (fiveHours: number, sevenDays: number, status = "allowed") => ({
  "anthropic-ratelimit-unified-status": status,
  "anthropic-ratelimit-unified-reset": String(inAnHour),
  "anthropic-ratelimit-unified-representative-claim": "five_hour",
  "anthropic-ratelimit-unified-5h-status": status,
  "anthropic-ratelimit-unified-5h-utilization": String(fiveHours),
  "anthropic-ratelimit-unified-5h-reset": String(inAnHour),
  "anthropic-ratelimit-unified-7d-status": "allowed",
  "anthropic-ratelimit-unified-7d-utilization": String(sevenDays),
  "anthropic-ratelimit-unified-7d-reset": String(inAnHour),
});

/** Starts a session. `turn` plays one answer of the model, and returns how the turn ended. */
async function startSession() {
  const events: AgentEvent[] = [];
  const place = placeIn(host.makeRepository());
  const session = await driver.start(place, (event) => void events.push(event), never);
  const ends = () => events.filter((event) => event.type === "turn_ended");
  const turn = async (number: number, step: Step) => {
    const script = JSON.stringify([step]);
    const ids = { turnId: `t${number}`, messageId: `m${number}` };
    const { model, options } = place;
    const text = { task: { type: "prompt" as const }, text: `go @@${script}`, context: [] };
    await session.prompt({ ...ids, ...text, attachments: [], model, options, agent: null }, never);
    await until("the turn has ended", () => ends().length === number);
    return ends().at(-1)!;
  };
  return { session, turn };
}

test("the fuller of the two periods counts, after each turn", async () => {
  const { session, turn } = await startSession();
  const utilization = async () => (await driver.readUtilization!(never))?.percent ?? null;
  assert.equal(await utilization(), null);
  await turn(1, { text: "Hello.", headers: limits(0.42, 0.17) });
  await until("it was read", async () => (await utilization()) === 42);
  await turn(2, { text: "Hello.", headers: limits(0.43, 0.8) });
  await until("it was read", async () => (await utilization()) === 80);
  await session.end(never);
});

test("a turn that the limit of the subscription ends names the quota as its cause", async () => {
  const { session, turn } = await startSession();
  const end = await turn(1, { status: 429, headers: limits(1, 0.8, "rejected") });
  assert.deepEqual([end.outcome, end.cause], ["failed", "quota"], end.reason ?? "");
  assert.match(end.reason!, /usage limit\. Prompt again after 2\d{3}-/);
  await session.end(never);
});

test("a limit that is exceeded is full, and an event without a number changes nothing", () => {
  const quota = openQuota();
  const limit = { rateLimitType: "five_hour", resetsAt: inAnHour };
  noteLimit(quota, { ...limit, status: "allowed_warning", utilization: 0.95 });
  assert.equal(quota.read()?.percent, 95);
  noteLimit(quota, { ...limit, status: "allowed" });
  assert.equal(quota.read()?.percent, 95);
  noteLimit(quota, { ...limit, status: "rejected" });
  assert.equal(quota.read()?.percent, 100);
});

test("credits, the periods of one model and periods without a number say nothing", () => {
  const quota = openQuota();
  noteUsage(quota, { rate_limits: { five_hour: null, seven_day: { utilization: null } } });
  noteUsage(quota, { rate_limits: { extra_usage: { utilization: 95 } } });
  noteUsage(quota, { rate_limits: { seven_day_opus: { utilization: 100 } } });
  noteLimit(quota, { status: "rejected", rateLimitType: "seven_day_opus" });
  noteUsage(quota, { rate_limits: null });
  noteUsage(quota, {});
  assert.equal(quota.read(), null);
});
