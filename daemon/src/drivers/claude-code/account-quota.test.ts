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

const limits = (fiveHours: number, sevenDays: number) => ({
  "anthropic-ratelimit-unified-status": "allowed",
  "anthropic-ratelimit-unified-reset": String(inAnHour),
  "anthropic-ratelimit-unified-representative-claim": "five_hour",
  "anthropic-ratelimit-unified-5h-status": "allowed",
  "anthropic-ratelimit-unified-5h-utilization": String(fiveHours),
  "anthropic-ratelimit-unified-5h-reset": String(inAnHour),
  "anthropic-ratelimit-unified-7d-status": "allowed",
  "anthropic-ratelimit-unified-7d-utilization": String(sevenDays),
  "anthropic-ratelimit-unified-7d-reset": String(inAnHour),
});

test("the fuller of the two periods counts, after each turn", async () => {
  const events: AgentEvent[] = [];
  const place = placeIn(host.makeRepository());
  const session = await driver.start(place, (event) => void events.push(event), never);
  const turn = async (number: number, headers: Record<string, string>) => {
    const script = JSON.stringify([{ text: "Hello.", headers }]);
    const ids = { turnId: `t${number}`, messageId: `m${number}` };
    const { model, options } = place;
    const text = { task: { type: "prompt" as const }, text: `go @@${script}`, context: [] };
    await session.prompt({ ...ids, ...text, attachments: [], model, options, agent: null }, never);
    await until("the turn has ended", () => {
      return events.filter(({ type }) => type === "turn_ended").length === number;
    });
  };
  const utilization = async () => (await driver.readUtilization!(never))?.percent ?? null;
  assert.equal(await utilization(), null);
  await turn(1, limits(0.42, 0.17));
  await until("it was read", async () => (await utilization()) === 42);
  await turn(2, limits(0.43, 0.8));
  await until("it was read", async () => (await utilization()) === 80);
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
