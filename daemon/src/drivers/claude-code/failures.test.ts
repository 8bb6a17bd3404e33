// How a turn of the real Claude Code ends when the model's service fails.
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { openClaudeHost, type ClaudeHost } from "@hawser/testkit/claude-host.ts";
import { writeClaudeHome } from "@hawser/testkit/claude-home.ts";
import { placeIn, policy, promptOf } from "@hawser/testkit/conformance/bench.ts";
import type { AgentEvent, Driver } from "../driver.ts";
import type { Step } from "../scripted/script.ts";

let host: ClaudeHost;
let directory: string;
const never = new AbortController().signal;
before(async () => {
  host = await openClaudeHost();
  directory = host.makeRepository();
});
after(() => host[Symbol.asyncDispose]());

/** Plays one turn and returns its end. */
async function endOf(driver: Driver, steps: Step[]) {
  const events: AgentEvent[] = [];
  const ended = Promise.withResolvers<Extract<AgentEvent, { type: "turn_ended" }>>();
  const late = () => ended.reject(new Error(JSON.stringify(events)));
  setTimeout(late, 40_000).unref();
  const session = await driver.start(
    placeIn(directory),
    (event) => {
      events.push(event);
      if (event.type === "turn_ended") ended.resolve(event);
    },
    never,
  );
  await session.prompt(promptOf(steps), never);
  const found = await ended.promise;
  await session.end(never);
  return found;
}

const refusals: [string, Step, RegExp][] = [
  [
    "a wrong key",
    { status: 401 },
    /refused the host's login or key\. Log in on the host with `claude auth login`/,
  ],
  ["a login without rights", { status: 403 }, /refused the host's login or key/],
  ["a limit", { status: 429 }, /rate limit.*Prompt again in a few minutes/],
  ["a limit with its end", { status: 429, retryAfterSeconds: 40 }, /Prompt again after 2\d{3}-/],
  ["a fault", { status: 500 }, /has a fault \(500\)/],
  ["too many requests for it", { status: 529 }, /overloaded/],
  ["a stream that is cut", { text: "So far", cut: true }, /cannot be reached/],
];

for (const [what, step, reason] of refusals) {
  test(`${what} fails the turn and says what to do`, async () => {
    const driver = host.openDriver();
    const end = await endOf(driver, [step]);
    await driver.close();
    assert.equal(end.outcome, "failed");
    assert.match(end.reason ?? "", reason);
  });
}

test("a model that says nothing fails the turn after a while", async () => {
  const driver = host.openDriver({ silenceMs: 1_500 });
  for (const step of [
    { delayMs: 60_000, text: "Late." },
    { text: "One two", paceMs: 60_000 },
  ]) {
    const end = await endOf(driver, [step]);
    assert.equal(end.outcome, "failed");
    assert.match(end.reason ?? "", /said nothing for 2 seconds/);
  }
  await driver.close();
});

test("a tool that runs long does not count as a silent model", async () => {
  const driver = host.openDriver({ silenceMs: 1_000 });
  const sleeping = { tool: "Bash", input: { command: "sleep 3", description: "Wait" } };
  const patient = { ...policy, allowedCommands: ["sleep *"] };
  const events: AgentEvent[] = [];
  await new Promise<void>((resolve) => {
    const sink = (event: AgentEvent) => {
      events.push(event);
      if (event.type === "turn_ended") resolve();
    };
    void driver
      .start(placeIn(directory, { policy: patient }), sink, never)
      .then((session) => session.prompt(promptOf([{ calls: [sleeping] }, { text: "Up." }]), never));
  });
  const end = events.at(-1);
  assert.ok(end?.type === "turn_ended");
  assert.deepEqual([end.outcome, end.reason], ["completed", null]);
  await driver.close();
});

test("a service that cannot be reached fails the turn and says so", async () => {
  const gone: Server = createServer();
  await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  writeClaudeHome(host.home, `http://127.0.0.1:${port}`);
  const driver = host.openDriver();
  const end = await endOf(driver, [{ text: "Never." }]);
  await driver.close();
  writeClaudeHome(host.home, host.model.url);
  assert.equal(end.outcome, "failed");
  assert.match(end.reason ?? "", /cannot be reached from this host/);
});
