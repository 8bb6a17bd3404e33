// The front of a separated host: commands reach the right worker, and a hostile worker speaks for itself only. The
// workers are played in this process.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, test } from "node:test";
import type { HostOperation } from "@hawser/contract";
import { makeSigningKey, signCommand, type HostCommand } from "@hawser/host-protocol";
import { until } from "@hawser/testkit/until.ts";
import { createCodeHosting } from "../code-hosting/code-hosting.ts";
import type { Answer } from "../commands/answer-command.ts";
import { createServerClock } from "../link/server-clock.ts";
import { silentLog } from "../log.ts";
import { createOperations } from "../operations.ts";
import { createPolicy } from "../policy/policy.ts";
import { openState } from "../state/state.ts";
import { openPipe, type Handlers, type Pipe } from "./pipe.ts";
import type { WorkerOptions } from "./worker-process.ts";
import { openWorkers, type Greeting } from "./workers.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-workers-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const key = makeSigningKey();
const instanceId = "ins_this";
const [ada, bo, cy] = ["usr_a.1", "usr_b.1", "usr_c.1"];

interface Played {
  pipe: Pipe;
  greeting: Greeting | undefined;
  /** The commands that it got. */
  got: { command: string; payload: Record<string, unknown> }[];
}

type Answering = (user: string, command: string, commandId: string) => unknown;

const done: Answering = (user, _command, commandId) => ({
  reply: { commandId, outcome: { result: { user } } },
  endsHost: false,
});

/** A front with the users own, one and two. */
function open(answering = done, more: Handlers = {}, place = mkdtempSync(join(directory, "of-"))) {
  const workers = new Map<string, Played>();
  const sent: unknown[] = [];
  const refreshed = { count: 0 };
  const launch = (({ user }) => {
    const child = Object.assign(new EventEmitter(), {
      stdin: new PassThrough(),
      stdout: new PassThrough(),
      stderr: new PassThrough(),
    });
    const handlers: Handlers = {
      begin(greeting: Greeting) {
        played.greeting = greeting;
      },
      command({ text }: { text: string }) {
        const { commandId, body } = JSON.parse(text) as { commandId: string; body: string };
        const read = JSON.parse(body) as Played["got"][0];
        played.got.push(read);
        return answering(user, read.command, commandId);
      },
      kinds: () => ["codex"],
      facts: () => ({}),
      close: () => null,
      ...more,
    };
    const played: Played = {
      pipe: openPipe(child.stdin, child.stdout, handlers, silentLog),
      greeting: undefined,
      got: [],
    };
    void played.pipe.closed.then(() => child.emit("exit"));
    workers.set(user, played);
    return child as never;
  }) satisfies WorkerOptions["launch"];

  const state = openState(place);
  const operations = createOperations(() => {});
  const front = openWorkers({
    state,
    instanceId,
    serverUrl: "https://hawser.example",
    clock: createServerClock(),
    uplink: {
      ask: async (name, body) => {
        sent.push([name, body]);
        return { applied: [] } as never;
      },
      async introduce(sessions) {
        sent.push(["introduce", sessions]);
        return [];
      },
      publish: (sessionId) => void sent.push(["publish", sessionId]),
      linkedSince: () => "2026-01-01T00:00:00Z",
      factsChanged: () => (refreshed.count += 1),
      forget() {},
    },
    lane: { put: () => Promise.reject(new Error()), get: () => Promise.reject(new Error()) },
    policy: createPolicy(state.policyPath).read,
    operations,
    codeHosting: createCodeHosting({}),
    sealing: {
      publicKey: async () => ({ kty: "RSA" }) as never,
      open: async ({ ownerId }) => `secret of ${ownerId}`,
      remove() {},
    },
    findAgent: () => undefined,
    commands: {
      hostKey: "UTHIS",
      bootId: "boot",
      commandKeys: () => [key.publicKey],
      installs: undefined,
      refreshFacts: () => Promise.reject(new Error("none")),
      updates: undefined,
      forgetCredentials() {},
      renewToken() {},
      pinCommandKeys() {},
    },
    log: silentLog,
    separation: {
      own: { user: "own", state: "/own" },
      people: [
        { user: "one", state: "/one" },
        { user: "two", state: "/two" },
      ],
    },
    program: [],
    launch,
  });

  async function order(command: HostCommand, payload: Record<string, unknown>) {
    const signed = signCommand(key.privateKey, {
      instanceId,
      commandId: randomUUID(),
      issuedAt: new Date().toISOString(),
      body: {
        command,
        deadlineAt: new Date(Date.now() + 10_000).toISOString(),
        actor: { type: "user", id: "usr_a" },
        payload,
      },
    });
    const answer = await front.answer(Buffer.from(JSON.stringify(signed)));
    return answer && { ...answer, isSame: answer.reply.commandId === signed.commandId };
  }

  return {
    front,
    place,
    sent,
    refreshed,
    order,
    worker: (user: string) => workers.get(user)!,
    users: () => [...workers.keys()].sort(),
    /** Who answered. */
    async by(command: HostCommand, payload: Record<string, unknown>) {
      return resultOf(await order(command, payload))["user"];
    },
    [Symbol.asyncDispose]: () => front.close(),
  };
}

function resultOf(answer: Answer | undefined): Record<string, unknown> {
  assert.ok(answer && "result" in answer.reply.outcome, JSON.stringify(answer));
  return answer.reply.outcome.result;
}

function refusalOf(answer: Answer | undefined) {
  assert.ok(answer && "refusal" in answer.reply.outcome, JSON.stringify(answer));
  return answer.reply.outcome.refusal;
}

const link = (ownerId: string) => ({
  ownerId,
  kind: "codex",
  sealedSecret: "sealed",
  way: "gateway",
  baseUrl: null,
  region: null,
  projectId: null,
});
const session = (sessionId: string, ownerId: string | null = null, kind = "codex") => ({
  sessionId,
  kind,
  ownerId,
});

test("each person gets a user, and their sessions stay with it, also after a restart", async () => {
  let place: string;
  {
    await using host = open();
    ({ place } = host);
    assert.equal(await host.by("list_directories", {}), "own");
    assert.deepEqual(host.users(), ["own"]);
    assert.equal(await host.by("read_login", { ownerId: ada, loginId: "x" }), "own");
    assert.equal(await host.by("link_identity", link(ada)), "one");
    assert.equal(await host.by("start_login", link(bo)), "two");
    assert.equal(await host.by("link_identity", link(ada)), "one");
    const full = refusalOf(await host.order("link_identity", link(cy)));
    assert.equal(full.code, "login_failed");
    assert.match(full.message, /--separate and a larger number for --people/);

    assert.equal(await host.by("start_session", session("ses_1", ada)), "one");
    assert.equal(await host.by("start_session", session("ses_2", bo)), "two");
    assert.equal(await host.by("start_session", session("ses_3", ada, "opencode")), "own");
    assert.equal(await host.by("start_session", session("ses_4", cy)), "own");
    assert.equal(await host.by("start_session", session("ses_5")), "own");
  }
  await using again = open(done, {}, place);
  for (const [sessionId, user] of [
    ["ses_1", "one"],
    ["ses_2", "two"],
    ["ses_3", "own"],
    ["ses_unknown", "own"],
  ] as const) {
    assert.equal(await again.by("send_prompt", { sessionId }), user, sessionId);
  }
  assert.equal(await again.by("start_session", session("ses_1", bo)), "one", "it is repeated");
  assert.equal(await again.by("restore_session", { sessionId: "ses_6", parkedId: "ses_2" }), "two");
  assert.equal(await again.by("end_session", { sessionId: "ses_6" }), "two");
  assert.deepEqual(again.users(), ["one", "own", "two"]);
  const [own, one] = [again.worker("own").greeting!, again.worker("one").greeting!];
  assert.equal(own.serverUrl, "https://hawser.example");
  assert.deepEqual([own.isOwn, one.isOwn], [true, false]);
  assert.equal(one.journalId, again.front.journal.id);
});

test("a session continues only with the account that has it", async () => {
  await using host = open();
  await host.by("link_identity", link(ada));
  await host.by("start_session", session("ses_1", ada));
  const fork = (sessionId: string, ownerId: string | null) =>
    host.order("fork_session", { ...session(sessionId, ownerId), originalId: "ses_1" });
  assert.equal(refusalOf(await fork("ses_2", null)).code, "agent_not_ready");
  assert.equal(refusalOf(await fork("ses_3", bo)).code, "agent_not_ready");
  assert.equal(resultOf(await fork("ses_4", ada))["user"], "one");
});

test("the front answers what is its own, and what it cannot read", async () => {
  await using host = open();
  assert.deepEqual(resultOf(await host.order("renew_token", {})), {});
  assert.equal(refusalOf(await host.order("send_prompt", {})).code, "daemon_outdated");
  assert.equal(refusalOf(await host.order("unknown" as HostCommand, {})).code, "daemon_outdated");
  assert.equal(await host.front.answer(Buffer.from("hello")), undefined);
  await host.by("list_directories", {});
  assert.deepEqual(
    host.worker("own").got.map(({ command }) => command),
    ["list_directories"],
  );
});

test("a worker cannot end the host, nor answer another command or nonsense", async () => {
  const other = randomUUID();
  const answers: unknown[] = [
    { reply: { commandId: other, outcome: { result: { user: "own" } } }, endsHost: true },
    { reply: { commandId: other, outcome: {} }, endsHost: false },
    { reply: "text", endsHost: true },
    {},
    "text",
    7,
    null,
  ];
  await using host = open(() => answers.shift());
  const first = (await host.order("list_directories", {}))!;
  assert.deepEqual([first.endsHost, first.isSame], [false, true]);
  while (answers.length > 0) assert.equal(await host.order("list_directories", {}), undefined);
});

test("a worker reports, introduces and shows its own sessions only", async () => {
  await using host = open();
  await host.by("link_identity", link(ada));
  await host.by("link_identity", link(bo));
  await host.by("start_session", session("ses_1", ada));
  await host.by("start_session", session("ses_2", bo));
  await host.by("start_session", session("ses_3"));
  const one = host.worker("one").pipe;
  const entry = {
    seq: 1,
    at: "2026-01-01T00:00:00Z",
    turnId: null,
    update: { sessionUpdate: "a" },
  };
  const parts = { report: { entries: [entry] }, introduce: { lastSeq: 1 } };
  for (const name of ["report", "introduce"] as const) {
    const of = (...ids: string[]) => ({
      sessions: ids.map((sessionId) => ({ sessionId, ...parts[name] })),
    });
    for (const ids of [["ses_2"], ["ses_1", "ses_3"], ["ses_unknown"]]) {
      await assert.rejects(one.call(name, of(...ids)), /another Unix user/);
    }
    for (const odd of [{}, { sessions: null }, { sessions: [null] }, { sessions: "ses_1" }])
      await assert.rejects(one.call(name, odd));
    await one.call(name, of("ses_1"));
    const own = host.worker("own").pipe;
    await assert.rejects(own.call(name, of("ses_1")), /another Unix user/);
    await assert.rejects(own.call(name, of("ses_unknown")), /another Unix user/);
  }
  const text = { itemId: "1", turnId: null, kind: "message", text: "a", offset: 0 };
  await assert.rejects(one.call("publish", { sessionId: "ses_2", text }), /another Unix user/);
  await assert.rejects(one.call("publish", { sessionId: "ses_1", text: "a" }));
  await one.call("publish", { sessionId: "ses_1", text });
  assert.deepEqual(host.sent, [
    [
      "report",
      { journalId: host.front.journal.id, sessions: [{ sessionId: "ses_1", ...parts.report }] },
    ],
    ["introduce", [{ sessionId: "ses_1", ...parts.introduce }]],
    ["publish", "ses_1"],
  ]);
});

test("a worker gets the secrets of its own person only", async () => {
  await using host = open();
  await host.by("link_identity", link(ada));
  await host.by("link_identity", link(bo));
  const one = host.worker("one").pipe;
  const wanted = (ownerId: unknown) => ({ ...link(ada), ownerId });
  assert.equal(await one.call("unseal", wanted(ada)), `secret of ${ada}`);
  for (const ownerId of [bo, cy])
    await assert.rejects(one.call("unseal", wanted(ownerId)), /another/);
  for (const ownerId of [null, 7, {}, undefined])
    await assert.rejects(one.call("unseal", wanted(ownerId)));
  await assert.rejects(one.call("unseal", { ...wanted(ada), userId: "usr_b" }));
  await assert.rejects(host.worker("own").pipe.call("unseal", wanted(ada)), /another/);
});

test("operations and facts of a worker count only if the control plane accepts them", async () => {
  const good = { roots: [], codeHostingCli: null, warnings: [{ code: "a", message: "b" }] };
  let facts: unknown = good;
  await using host = open(done, { facts: () => facts });
  await host.by("list_directories", {});
  const operation: HostOperation = {
    operationId: "1",
    type: "clone_repository",
    subject: "widget",
    state: "running",
    step: "cloning",
    percent: 5,
    startedAt: "2026-01-01T00:00:00.000Z",
  };
  const { pipe } = host.worker("own");
  await pipe.call("operations", { operations: [operation] });
  for (const operations of [
    null,
    "text",
    [{ ...operation, percent: 1e9 }],
    Array.from({ length: 51 }, () => operation),
  ]) {
    await assert.rejects(pipe.call("operations", { operations }));
  }
  assert.deepEqual(host.front.operations!(), [operation]);
  assert.equal(host.refreshed.count, 1);
  assert.deepEqual(await host.front.readFacts!(), facts);
  pipe.close();
  await until("another one runs", () => host.worker("own").pipe !== pipe);
  assert.deepEqual(host.front.operations!(), [], "they ended with the worker");
  for (facts of [
    null,
    "text",
    { ...good, roots: 7 },
    { ...good, agents: [] },
    { ...good, host: {} },
  ])
    await assert.rejects(host.front.readFacts!());
});

test("lists of all workers are joined, without what a worker says about others", async () => {
  const identity = (ownerId: string) => ({
    ownerId,
    kind: "codex",
    authenticated: true,
    account: null,
    plan: null,
    expiresAt: null,
    utilization: null,
    utilizationAt: null,
    problem: null,
  });
  const results: Record<string, (user: string) => object> = {
    list_identities: () => ({ identities: [ada, bo, cy].map(identity), separated: false }),
    restart_agent: () => ({ detachedSessionIds: ["ses_1", "ses_2", "ses_3"] }),
  };
  await using host = open((user, command, commandId) => {
    const result = results[command]?.(user) ?? {};
    return { reply: { commandId, outcome: { result } }, endsHost: false };
  });
  await host.order("link_identity", link(ada));
  await host.order("link_identity", link(bo));
  await host.order("start_session", session("ses_1", ada));
  await host.order("start_session", session("ses_2", bo));
  await host.order("start_session", session("ses_3"));
  const listed = resultOf(await host.order("list_identities", {}));
  assert.deepEqual(listed, {
    identities: [identity(ada), identity(bo)],
    separated: true,
    sealingKey: { kty: "RSA" },
  });
  const { detachedSessionIds } = resultOf(await host.order("restart_agent", { kind: "codex" }));
  assert.deepEqual((detachedSessionIds as string[]).sort(), ["ses_1", "ses_2", "ses_3"]);
});

test("a command whose worker ends is not answered, and reaches the next one", async () => {
  let ends = true;
  await using host = open((user, command, commandId) => {
    if (!ends) return done(user, command, commandId);
    ends = false;
    host.worker(user).pipe.close();
    return new Promise(() => {});
  });
  assert.equal(await host.order("list_directories", {}), undefined);
  assert.equal(await host.by("list_directories", {}), "own");
});
