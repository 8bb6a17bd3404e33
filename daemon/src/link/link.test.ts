// The link against a real nats-server: it comes back after every loss, renews without a failed
// command, and what the host recorded arrives once and in order.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import {
  makeNkey,
  makeSigningKey,
  signForgetProof,
  type Forget,
  type Heartbeat,
  type Hello,
  type HostFacts,
  type Report,
} from "@hawser/host-protocol";
import { startHost, type Host, type HostOptions } from "../host.ts";
import { createLog } from "../log.ts";
import { openState } from "../state/state.ts";
import { systemClock } from "./server-clock.ts";
import {
  startSmallControlPlane,
  type SmallControlPlane,
} from "@hawser/testkit/small-control-plane.ts";
import { until } from "@hawser/testkit/until.ts";

const text = (content: string) => ({ sessionUpdate: "agent_message_chunk", content });

/** A control plane and a paired host, which is started by `start`. */
async function open(t: TestContext, options: Partial<HostOptions> = {}) {
  const control = await startSmallControlPlane();
  const state = openState(join(control.directory, "state"));
  const instanceId = control.pair(state);
  const log: string[] = [];
  const hosts: Host[] = [];
  const forgotten = Promise.withResolvers<void>();
  t.after(async () => {
    await Promise.all(hosts.map((host) => host.stop()));
    await control[Symbol.asyncDispose]();
    // Whatever happened, the log holds no secret.
    const { seed, token } = { seed: "SU", token: "eyJ", ...state.readCredentials() };
    for (const line of log) assert.ok(!line.includes(seed) && !line.includes(token), line);
  });
  await control.startFabric();
  const start = (more: Partial<HostOptions> = {}) => {
    const host = startHost({
      state,
      log: createLog((line) => log.push(line)),
      onForget: forgotten.resolve,
      ...options,
      ...more,
      timing: { longestMs: 200, callMs: 1_000, ...options.timing, ...more.timing },
      journal: { flush: false },
    });
    hosts.push(host);
    return host;
  };
  return { control, state, instanceId, start, log, forgotten: forgotten.promise };
}

const online = (host: Host) => until("the host is online", () => host.status().state === "online");
const applied = (control: SmallControlPlane, sessionId: string, count: number) =>
  until(`${count} entries are applied`, () => control.logs.get(sessionId)?.length === count);
const runsOf = (outcome: Awaited<ReturnType<SmallControlPlane["ask"]>>) =>
  "result" in outcome ? outcome.result["runs"] : outcome.refusal.code;

test("a host links with its token and proof, says hello, takes commands and reports its log", async (t) => {
  const { control, instanceId, start } = await open(t);
  const host = start();
  host.appendEntry("ses_a", text("before the link"), "turn_1");
  await online(host);
  assert.deepEqual(control.upgrades, { admitted: 1, refused: 0 });
  const hello = control.calls("hello")[0]!.body as Hello;
  assert.deepEqual(hello.sessions, [{ sessionId: "ses_a", lastSeq: 1 }]);
  assert.deepEqual(
    hello.facts.agents.map(({ kind, ready }) => [kind, ready]),
    [
      ["opencode", false],
      ["claude_code", false],
      ["codex", false],
    ],
  );
  host.appendEntry("ses_a", text("on the link"));
  await applied(control, "ses_a", 2);
  const commandId = randomUUID();
  assert.equal(runsOf(await control.ask(instanceId, "refresh_host_facts", commandId)), 1);
  assert.equal(runsOf(await control.ask(instanceId, "refresh_host_facts", commandId)), 1);
  assert.equal(runsOf(await control.ask(instanceId, "refresh_host_facts")), 2);
  await host.stop();
  assert.equal(host.status().state, "stopped");
  assert.deepEqual(control.calls("bye").length, 1);
  await until("nothing is left of the link", () => control.links.count() === 0);
});

test("a host whose clock is two days off links, and judges deadlines by the server's", async (t) => {
  const off = (days: number) => ({
    ...systemClock,
    wall: () => Date.now() + days * 24 * 3600_000,
  });
  for (const days of [-2, 2]) {
    const { control, instanceId, start } = await open(t, { clock: off(days) });
    const host = start();
    await online(host);
    assert.equal(runsOf(await control.ask(instanceId, "refresh_host_facts")), 1);
    const { at } = host.appendEntry("ses_a", text("."));
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < 5_000);
    assert.equal(control.renewals, 0, "the token was good all along");
  }
});

test("a wrong clock is put right by the edge's refusal alone", async (t) => {
  const wall = () => Date.now() + 3600_000;
  const { control, start } = await open(t, { clock: { ...systemClock, wall } });
  // The server's time moves after the host has learnt it.
  const host = start();
  await online(host);
  control.clockMs = 600_000;
  control.links.cut();
  await until("the host is back", () => control.calls("hello").length === 2);
  assert.equal(control.upgrades.refused, 1);
  assert.equal(control.renewals, 0);
});

test("an expired token is renewed from nothing, and kept", async (t) => {
  const { control, state, start } = await open(t);
  const { token } = state.readCredentials()!;
  control.remint(state, 3 * 24 * 3600);
  const host = start();
  await online(host);
  assert.equal(control.renewals, 1);
  assert.deepEqual(control.upgrades, { admitted: 1, refused: 0 });
  assert.notEqual(state.readCredentials()!.token, token);
});

test("a token that the edge does not take is renewed from nothing", async (t) => {
  const { control, start } = await open(t);
  control.answers.upgrade = () => (control.renewals === 0 ? 401 : undefined);
  await online(start());
  assert.equal(control.renewals, 1);
});

/** Every message of a host, with the way to let it be answered so. */
const everyAnswer: [name: string, arrange: (control: SmallControlPlane, answer: Forget) => void][] =
  [
    [
      "at the renewal",
      ({ answers }, answer) => {
        const error = { code: "forbidden", message: "This host was removed." };
        answers.upgrade = () => 401;
        answers.httpRenew = () => ({ status: 403, text: JSON.stringify({ error, ...answer }) });
      },
    ],
    ["at hello", ({ answers }, answer) => void (answers.hello = () => answer)],
    [
      "at a heartbeat",
      (control, answer) => {
        control.heartbeatSeconds = 0.05;
        control.answers.heartbeat = () => answer;
      },
    ],
    ["at a report", ({ answers }, answer) => void (answers.report = () => answer)],
    [
      "at the renewal of a live link",
      (control, answer) => {
        control.tokenSeconds = 1;
        control.answers.renew = () => answer;
      },
    ],
  ];

test("a host that the control plane proves to have removed forgets its credentials and stops", async (t) => {
  for (const [name, arrange] of everyAnswer) {
    await t.test(name, async (t) => {
      const { control, state, instanceId, start, forgotten } = await open(t);
      arrange(control, control.removal(instanceId));
      control.remint(state);
      const host = start();
      host.appendEntry("ses_a", text("."));
      await forgotten;
      assert.equal(state.readCredentials(), undefined);
      assert.equal(host.status().state, "forgotten");
      await until("the link is closed", () => control.links.count() === 0);
    });
  }
});

test("an answer to forget without the proof for this very host is no reason to forget", async (t) => {
  const invalid: [
    name: string,
    proof: (control: SmallControlPlane, id: string) => Forget["proof"],
  ][] = [
    ["no proof, as from version 0.1.0", () => undefined],
    ["of a former pairing", (control, id) => control.removal(id, makeNkey("user").publicKey).proof],
    [
      "of another instance",
      (control, id) => ({ ...control.removal(id).proof!, instanceId: "ins_other" }),
    ],
    [
      "signed by another key",
      (control, instanceId) => {
        const hostKey = control.hostKeyOf(instanceId);
        const forger = makeSigningKey().privateKey;
        return signForgetProof([forger], { instanceId, hostKey }, Date.now());
      },
    ],
    [
      "recorded an hour ago",
      (control, instanceId) => {
        const hostKey = control.hostKeyOf(instanceId);
        const { privateKey } = control.commandKey;
        return signForgetProof([privateKey], { instanceId, hostKey }, Date.now() - 3600_000);
      },
    ],
  ];
  for (const [what, proof] of invalid) {
    // One function reads every answer; hello and the renewal over HTTP are the two ways to it.
    const messages = what.startsWith("no proof") ? everyAnswer : everyAnswer.slice(0, 2);
    for (const [when, arrange] of messages) {
      await t.test(`${what}, ${when}`, async (t) => {
        const { control, state, instanceId, start } = await open(t, {
          timing: { shortestBeatMs: 1, unknownHost: { firstMs: 20, longestMs: 50 } },
        });
        arrange(control, { forget: true, proof: proof(control, instanceId) });
        control.remint(state);
        const host = start();
        host.appendEntry("ses_a", text("."));
        await until("the owner is warned", () => host.status().warning !== null);
        assert.ok(state.readCredentials());
        assert.notEqual(host.status().state, "forgotten");
        control.answers = {};
        await until("the host is known again", () => host.status().warning === null);
        await online(host);
        await applied(control, "ses_a", 1);
      });
    }
  }
});

test("a host that the control plane does not find keeps everything, and asks less and less often", async (t) => {
  const { control, state, start, log } = await open(t, {
    timing: { unknownHost: { firstMs: 2, longestMs: 400 } },
  });
  const times: number[] = [];
  control.answers.hello = () => {
    times.push(performance.now());
    return { refused: "unknown_host", retryAfterMs: 0 };
  };
  const host = start();
  await until("it has asked 14 times", () => times.length >= 14);
  const [first, last] = [times[5]! - times[0]!, times[13]! - times[8]!];
  assert.ok(last > first, `five waits: first ${first} ms, then ${last} ms`);
  assert.equal(control.upgrades.admitted, 1, "on one connection");
  assert.match(host.status().warning!, /does not find this host.*keeps its credentials/);
  assert.ok(state.readCredentials());
  const warnings = log.filter((line) => line.includes('does not find this host","warning'));
  assert.equal(warnings.length, 1, "logged when it begins");
  control.answers = {};
  await online(host);
  assert.equal(host.status().warning, null);
});

test("a host waits as long as the answer says before it asks again", async (t) => {
  const { control, start } = await open(t, {
    timing: { unknownHost: { firstMs: 1, longestMs: 1 } },
  });
  let askedAt = 0;
  let waitedMs = 0;
  control.answers.hello = () => {
    if (askedAt > 0) {
      waitedMs = performance.now() - askedAt;
      return undefined;
    }
    askedAt = performance.now();
    return { refused: "unknown_host", retryAfterMs: 700 };
  };
  await online(start());
  assert.ok(waitedMs >= 690, `${waitedMs} ms`);
});

test("a host dials again when a busy edge says so, and not by its own back-off", async (t) => {
  const { control, start } = await open(t);
  const dialledAt: number[] = [];
  control.answers.upgrade = () => {
    dialledAt.push(performance.now());
    return dialledAt.length === 1 ? { status: 503, retryAfter: "1" } : undefined;
  };
  await online(start());
  const waitedMs = dialledAt[1]! - dialledAt[0]!;
  // The host's own first wait is at most 250 ms.
  assert.ok(waitedMs >= 990 && waitedMs < 3_000, `${waitedMs} ms`);
});

test("a bare 403, as a proxy on the way may give, is no reason to forget", async (t) => {
  const { control, state, start } = await open(t);
  control.answers.upgrade = () => 403;
  control.answers.httpRenew = () => ({ status: 403, text: "<h1>Forbidden</h1>" });
  const host = start();
  await until("the host keeps trying", () => control.upgrades.refused >= 3);
  assert.ok(state.readCredentials());
  control.answers = {};
  await online(host);
});

test("forget_host is answered, then the host forgets and is gone", async (t) => {
  const { control, state, instanceId, start, forgotten } = await open(t);
  await online(start());
  assert.deepEqual(await control.askToForget(instanceId), { result: {} });
  await forgotten;
  assert.equal(state.readCredentials(), undefined);
  await until("the link is closed", () => control.links.count() === 0);
});

test("a renewal by a second connection fails no command", async (t) => {
  const { control, state, instanceId, start } = await open(t);
  control.tokenSeconds = 2;
  control.remint(state);
  const host = start();
  await online(host);
  let asked = 0;
  while (control.calls("renew").length < 3) {
    assert.equal(runsOf(await control.ask(instanceId, "refresh_host_facts")), ++asked);
    host.appendEntry("ses_a", text(String(asked)));
  }
  await until("one connection is left", () => control.links.count() === 1);
  assert.equal(host.status().state, "online");
  assert.equal(control.renewals, 0, "never from nothing");
  assert.equal(control.upgrades.refused, 0);
  assert.ok(control.upgrades.admitted >= 3);
  await applied(control, "ses_a", asked);
  // The hello that names a new session is sent over a connection that has been named.
  const named = control.calls("hello").flatMap(({ body }) => (body as Hello).connection ?? []);
  assert.equal(new Set(named.map(({ serverId }) => serverId)).size, 1);
  assert.equal(new Set(named.map(({ clientId }) => clientId)).size, named.length);
  assert.ok(named.length >= 3, "each connection has another number");
});

test("after cuts and a killed fabric the host is back, and its log has no gap and no repeat", async (t) => {
  const { control, instanceId, start } = await open(t);
  const host = start();
  await online(host);
  let written = 0;
  const write = (count: number) => {
    for (let i = 0; i < count; i++) host.appendEntry("ses_a", text(String(++written)));
  };
  for (let round = 1; round <= 5; round++) {
    write(20);
    control.links.cut();
    write(20);
    await until("the host says hello again", () => control.calls("hello").length > round);
  }
  await control.killFabric();
  write(20);
  await until("the loss is noticed", () => host.status().state === "connecting");
  await control.startFabric();
  await online(host);
  await applied(control, "ses_a", written);
  assert.deepEqual(
    control.logs.get("ses_a")!.map(({ update }) => update["content"]),
    Array.from({ length: written }, (_, index) => String(index + 1)),
  );
  assert.equal(runsOf(await control.ask(instanceId, "refresh_host_facts")), 1);
});

test("a half-open link is noticed by its silence", async (t) => {
  const { control, start } = await open(t, { timing: { pingMs: 100 } });
  const host = start();
  await online(host);
  control.links.freeze();
  const frozen = Date.now();
  await until("the host dialled again", () => control.calls("hello").length === 2);
  assert.ok(Date.now() - frozen < 3_000);
  await online(host);
});

test("a refused duplicate says so, takes no commands, and gets its place when it is free", async (t) => {
  const { control, instanceId, start } = await open(t, { timing: { duplicateMs: 100 } });
  control.answers.hello = () => ({ refused: "duplicate_host" });
  const host = start();
  await until("it keeps trying", () => control.calls("hello").length >= 3);
  assert.equal(host.status().state, "refused");
  assert.match(host.status().reason!, /another machine/i);
  await assert.rejects(control.ask(instanceId, "refresh_host_facts"), /no responders/i);
  delete control.answers.hello;
  await online(host);
});

test("hello is said again on the same connection until somebody answers", async (t) => {
  const { control, start } = await open(t, { timing: { callMs: 100 } });
  control.answers.hello = () => "silence";
  const host = start();
  await until("hello was said three times", () => control.calls("hello").length >= 3);
  assert.equal(control.upgrades.admitted, 1);
  delete control.answers.hello;
  await online(host);
});

test("the heart beats as the server says, without facts while they stay the same", async (t) => {
  const { control, instanceId, start } = await open(t, { timing: { shortestBeatMs: 1 } });
  control.heartbeatSeconds = 0.03;
  const host = start();
  await until("it beats", () => control.calls("heartbeat").length >= 5);
  const bodies = control.calls("heartbeat").map(({ body }) => body as object);
  assert.deepEqual(bodies[0], { bootId: host.status().bootId });
  assert.equal(runsOf(await control.ask(instanceId, "refresh_host_facts")), 1);
});

test("changed facts are reported at once, however rarely the heart beats, and unchanged ones are not", async (t) => {
  let agents: HostFacts["agents"] = [];
  const { control, instanceId, start } = await open(t, {
    timing: { shortestBeatMs: 20 },
    factReaders: [async () => ({ agents })],
  });
  control.heartbeatSeconds = 3_600;
  const host = start();
  await online(host);
  const reported = () =>
    control.calls("heartbeat").map(({ body }) => (body as Heartbeat).facts?.agents);
  // The facts of the start may have been read only after hello was sent.
  await new Promise((resolve) => setTimeout(resolve, 100));
  const before = reported().length;
  agents = [{ kind: "codex", installed: true, version: "1", ready: true, problems: [] }];
  await control.ask(instanceId, "refresh_host_facts");
  await until("the change is reported", () => reported().length > before);
  assert.deepEqual(reported().slice(before), [agents]);
  await control.ask(instanceId, "refresh_host_facts");
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(reported().length, before + 1);
});

test("reports stay below their limit, and a failed or lost one is said again", async (t) => {
  const { control, start } = await open(t, { timing: { callMs: 200 } });
  let troubles = 0;
  control.answers.report = () => {
    troubles++;
    if (troubles === 1) return { failed: true };
    if (troubles === 3) delete control.answers.report;
    return "silence";
  };
  const host = start();
  for (let i = 0; i < 40; i++) host.appendEntry("ses_a", text(`${i} ${"x".repeat(100_000)}`));
  for (let i = 0; i < 1200; i++) host.appendEntry("ses_b", text(String(i)));
  await applied(control, "ses_a", 40);
  await applied(control, "ses_b", 1200);
  for (const { body } of control.calls("report")) {
    assert.ok(Buffer.byteLength(JSON.stringify(body)) <= 512 * 1024);
    assert.ok((body as Report).sessions.flatMap(({ entries }) => entries).length <= 500);
  }
  await until("the last answer has come", () => host.journal.log.size().unappliedBytes === 0);
});

test("A6: a refused report is sent again after the time that the refusal says, and not before", async (t) => {
  const { control, start } = await open(t);
  let refusedAt = 0;
  let repeatedAt = 0;
  control.answers.report = () => {
    if (refusedAt === 0) {
      refusedAt = performance.now();
      return { refused: "rate_limited", retryAfterMs: 1_200 };
    }
    repeatedAt ||= performance.now();
    return undefined;
  };
  const host = start();
  host.appendEntry("ses_a", text("."));
  await applied(control, "ses_a", 1);
  assert.ok(repeatedAt - refusedAt >= 1_150, `after ${repeatedAt - refusedAt} ms`);
  await until("the entry is applied", () => host.journal.log.size().unappliedBytes === 0);
});

test("one session whose entries are never accepted does not delay the others", async (t) => {
  const { control, start } = await open(t);
  control.answers.report = ({ sessions }) =>
    sessions.some(({ sessionId }) => sessionId === "ses_bad") ? { failed: true } : undefined;
  const host = start();
  host.appendEntry("ses_bad", text("."));
  host.appendEntry("ses_good", text("."));
  await applied(control, "ses_good", 1);
  assert.equal(control.logs.get("ses_bad"), undefined);
});

test("entries of a session nobody knows are not said again", async (t) => {
  const { control, start } = await open(t);
  control.answers.report = () => ({ applied: [] });
  const host = start();
  host.appendEntry("ses_gone", text("."));
  await until("the entry is dropped", () => host.journal.log.size().unappliedBytes === 0);
  assert.equal(control.calls("report").length, 1);
});

test("a journal that was lost goes on after what was applied", async (t) => {
  const { control, start } = await open(t);
  const log = Array.from({ length: 3 }, (_, index) => ({
    seq: index + 1,
    at: new Date().toISOString(),
    turnId: null,
    update: text("from the lost journal"),
  }));
  control.logs.set("ses_a", log);
  control.journals.set("ses_a", "the lost one");
  const host = start();
  host.appendEntry("ses_a", text("first of the new one"));
  await applied(control, "ses_a", 5);
  assert.deepEqual(
    control.logs
      .get("ses_a")!
      .slice(3)
      .map(({ seq, update }) => `${seq} ${update.sessionUpdate}`),
    ["4 journal_reset", "5 agent_message_chunk"],
  );
});

test("one process can be many hosts, which return over the window if they lose their links together", async (t) => {
  const control = await startSmallControlPlane();
  control.reconnectSeconds = 1;
  const states = Array.from({ length: 60 }, (_, index) => {
    const state = openState(join(control.directory, `host-${index}`));
    return { state, instanceId: control.pair(state) };
  });
  await control.startFabric();
  const hosts = states.map(({ state }) => startHost({ state, journal: { flush: false } }));
  t.after(async () => {
    await Promise.all(hosts.map((host) => host.stop()));
    await control[Symbol.asyncDispose]();
  });
  await Promise.all(hosts.map(online));
  const answers = states.map(({ instanceId }) => control.ask(instanceId, "refresh_host_facts"));
  for (const outcome of await Promise.all(answers)) assert.equal(runsOf(outcome), 1);
  const ids = control.calls("hello").map(({ body }) => (body as Hello).machineId);
  assert.equal(new Set(ids).size, hosts.length);

  const admitted = control.upgrades.admitted;
  control.links.cut();
  const since = performance.now();
  const areBack = () => control.upgrades.admitted >= admitted + hosts.length;
  await until("all are back", areBack, 30_000);
  const tookMs = performance.now() - since;
  assert.ok(tookMs > 600, `all were back after ${tookMs} ms`);
});
