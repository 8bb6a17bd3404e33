// The front of a separated host: commands reach the right worker, and a hostile worker speaks for itself only. The
// workers are played in this process.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
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
const usualInstance = "ins_this";
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
function open(
  answering = done,
  more: Handlers = {},
  place = mkdtempSync(join(directory, "of-")),
  instanceId = usualInstance,
  onEnd = () => {},
) {
  const workers = new Map<string, Played>();
  const sent: unknown[] = [];
  /** The users whose processes were ended. */
  const ended: string[] = [];
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
    timing: { joinMs: 3_000, shortJoinMs: 100 },
    async endAll(user) {
      ended.push(user);
      onEnd();
      workers.get(user)?.pipe.close();
    },
  });

  async function order(
    command: HostCommand,
    payload: Record<string, unknown>,
    commandId: string = randomUUID(),
  ) {
    const signed = signCommand(key.privateKey, {
      instanceId,
      commandId,
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
    ended,
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
  assert.equal(
    await again.by("restore_session", { sessionId: "ses_6", parkedId: "ses_2", ownerId: bo }),
    "two",
  );
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
  const without = { ...session("ses_6", ada, "claude_code"), originalId: "ses_1" };
  const { message } = refusalOf(await host.order("fork_session", without));
  assert.match(message, /You have no account of claude_code on this host/);
  const restore = (sessionId: string, ownerId: string | null) =>
    host.order("restore_session", { sessionId, parkedId: "ses_1", ownerId });
  for (const ownerId of [null, bo]) {
    const { code, message } = refusalOf(await restore("ses_5", ownerId));
    assert.equal(code, "agent_not_ready");
    assert.match(message, /only with the same account/);
  }
  assert.equal(resultOf(await restore("ses_5", ada))["user"], "one");
});

test("where the host's own logins are forbidden, a fallback chain leads to the person's account", async () => {
  await using host = open();
  await host.by("link_identity", link(ada));
  const chain = [{ kind: "claude_code" }, { kind: "codex" }];
  const start = (
    sessionId: string,
    ownerId: string,
    fallback: unknown = { chain, threshold: 90 },
  ) => host.by("start_session", { ...session(sessionId, ownerId, "claude_code"), fallback });
  const allow = (ownLogins: string) =>
    writeFileSync(join(host.place, "policy"), `root = /srv\nown-logins = ${ownLogins}\n`);
  allow("yes");
  assert.equal(await start("ses_1", ada), "own");
  allow("no");
  assert.equal(await start("ses_2", ada), "one");
  assert.equal(await start("ses_3", bo), "own", "bo has no account");
  for (const odd of [null, "chain", {}, { chain: [null, {}, { kind: 7 }] }])
    assert.equal(await start(`ses_${JSON.stringify(odd)}`, ada, odd), "own");
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

test("a worker cannot keep the front busy with secrets", async () => {
  await using host = open();
  await host.order("link_identity", link(ada));
  const { pipe } = host.worker("one");
  const calls = Array.from({ length: 100 }, () => pipe.call("unseal", link(ada)));
  const opened = (await Promise.allSettled(calls)).filter(({ status }) => status === "fulfilled");
  assert.ok(opened.length >= 1 && opened.length <= 10, `${opened.length} were opened`);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  assert.equal(await pipe.call("unseal", link(ada)), `secret of ${ada}`);
});

test("when the last account is unlinked, the user's processes end whatever the worker says, and a new worker unlinks", async () => {
  let isHeld = false;
  await using host = open((user, command, commandId) => {
    if (isHeld && command === "unlink_identity") host.worker(user).pipe.close();
    return { reply: { commandId, outcome: { result: { unlinked: true } } }, endsHost: false };
  });
  const unlink = (ownerId: string, kind: string | null) =>
    host.order("unlink_identity", { ownerId, kind });
  await host.order("link_identity", link(ada));
  await host.order("start_login", { ...link(ada), kind: "claude_code" });
  const first = host.worker("one");
  assert.ok((await unlink(ada, "claude_code"))?.isSame);
  assert.deepEqual(host.ended, [], "another account is left");
  // The worker goes on saying that it has an account.
  assert.deepEqual(resultOf(await unlink(ada, "codex")), { unlinked: true });
  assert.deepEqual(host.ended, ["one"]);
  const second = host.worker("one");
  assert.notEqual(second, first);
  const unlinked = { command: "unlink_identity", payload: { ownerId: ada, kind: "codex" } };
  assert.partialDeepStrictEqual([first.got.at(-1), second.got[0]], [unlinked, unlinked]);

  await host.order("link_identity", link(bo));
  isHeld = true;
  const removal = unlink(bo, null);
  await until("its processes end", () => host.ended.includes("two"));
  isHeld = false;
  assert.deepEqual(resultOf(await removal), { unlinked: true });
  await unlink(cy, null);
  assert.deepEqual(host.ended, ["one", "two"], "nobody runs as a user of cy");
});

test("N7: the processes of a worker that does not unlink end within five seconds, and a new worker unlinks", async () => {
  const held = new Set<string>();
  const never = new Promise<never>(() => {});
  const ofKinds = { kinds: () => (held.has("kinds") ? never : ["codex"]) };
  const answering: Answering = (user, command, commandId) =>
    held.has(user) && command === "unlink_identity" ? never : done(user, command, commandId);
  // The next worker is honest, and starts at once.
  const onEnd = () => held.clear();
  await using host = open(answering, ofKinds, undefined, undefined, onEnd);
  const unlink = async (ownerId: string, kind: string | null, user: string) => {
    const removal = host.order("unlink_identity", { ownerId, kind });
    await until("its processes end", () => host.ended.includes(user), 5_000);
    return resultOf(await removal);
  };
  await host.order("link_identity", link(ada));
  held.add("one");
  assert.deepEqual(await unlink(ada, null, "one"), { user: "one" });

  await host.order("link_identity", link(bo));
  await host.order("start_login", { ...link(bo), kind: "claude_code" });
  held.add("two").add("kinds");
  assert.deepEqual(await unlink(bo, "claude_code", "two"), { user: "two" }, "another one is left");
});

test("an unlinking that is sent again while it is under way ends the processes once", async () => {
  await using host = open();
  await host.order("link_identity", link(ada));
  const commandId = randomUUID();
  const unlink = () => host.order("unlink_identity", { ownerId: ada, kind: null }, commandId);
  const answers = await Promise.all([unlink(), unlink(), unlink()]);
  for (const answer of answers) assert.deepEqual(resultOf(answer), { user: "one" });
  assert.deepEqual(host.ended, ["one"]);
});

test("an unlinking that is sent again does not end the new worker while it starts", async () => {
  let startMs = 0;
  await using host = open(done, { begin: () => wait(startMs) });
  await host.order("link_identity", link(ada));
  // Longer than a call waits for a worker.
  startMs = 6_000;
  const commandId = randomUUID();
  const unlink = () => host.order("unlink_identity", { ownerId: ada, kind: null }, commandId);
  assert.equal(await unlink(), undefined);
  assert.deepEqual(resultOf(await unlink()), { user: "one" });
  assert.deepEqual(host.ended, ["one"]);
});

test("what runs as the user of a former person is ended before its worker starts", async () => {
  let place: string;
  {
    await using host = open();
    ({ place } = host);
    await host.order("link_identity", link(ada));
  }
  await using again = open(done, {}, place, "ins_next");
  assert.deepEqual([again.ended, again.users().includes("one")], [["one"], false]);
  await until("its worker has cleaned up", () => again.ended.length === 2);
  assert.deepEqual(again.ended, ["one", "one"]);
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

test("a worker that does not answer is missing from lists, and delays others only once", async () => {
  const frozen = new Set<string>();
  const stays = new Promise(() => {});
  await using host = open((user, command, commandId) => {
    if (frozen.has(user)) return stays;
    const result =
      command === "list_parked_sessions"
        ? { parkedSessions: [], truncated: user === "two" }
        : { user };
    return { reply: { commandId, outcome: { result } }, endsHost: false };
  });
  await host.order("link_identity", link(ada));
  await host.order("link_identity", link(bo));
  frozen.add("one");
  // The control plane gives up a question after a moment, and puts it again with the same id.
  const commandId = randomUUID();
  const first = host.order("list_parked_sessions", {}, commandId);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const askedAt = performance.now();
  assert.deepEqual(resultOf(await host.order("list_parked_sessions", {}, commandId)), {
    parkedSessions: [],
    truncated: true,
  });
  assert.ok(performance.now() - askedAt < 2_000, "it does not begin to wait again");
  assert.ok(await first);
  const again = performance.now();
  resultOf(await host.order("list_parked_sessions", {}));
  assert.ok(performance.now() - again < 2_000, "the worker is known to be silent");
  frozen.clear();
  resultOf(await host.order("list_parked_sessions", {}));
  assert.equal(await host.by("start_session", session("ses_1", ada)), "one");
});

test("a worker that does not start: its person gets the reason, the host a warning, and others their lists", async () => {
  let isBroken = false;
  const stays = new Promise(() => {});
  const facts = { roots: [], codeHostingCli: null, warnings: [] };
  await using host = open(
    (user, command, commandId) => {
      if (command === "rename_session") return stays;
      if (command === "list_parked_sessions") {
        const result = { parkedSessions: [], truncated: true };
        return { reply: { commandId, outcome: { result } }, endsHost: false };
      }
      return done(user, command, commandId);
    },
    {
      begin({ isOwn }: Greeting) {
        if (isBroken && !isOwn) throw new Error("file is not a database");
      },
      facts: () => facts,
    },
  );
  await host.order("link_identity", link(ada));
  await host.order("start_session", session("ses_1", ada));
  assert.deepEqual(await host.front.readFacts!(), facts);
  const begun = randomUUID();
  const unknown = host.order("rename_session", { sessionId: "ses_1", title: "x" }, begun);
  await until("it is begun", () => host.worker("one").got.length === 3);
  isBroken = true;
  host.worker("one").pipe.close();
  assert.equal(await unknown, undefined);
  const warnings = async () => (await host.front.readFacts!()).warnings!;
  await until("a warning", async () => (await warnings()).length === 1);
  const [{ code, message } = assert.fail()] = await warnings();
  assert.equal(code, "worker_down");
  assert.match(message, /Unix user one does not start.*hawserd logs/);
  assert.doesNotMatch(message, /database/, "what a worker says is not shown to everybody");

  const askedAt = performance.now();
  for (const [command, payload] of [
    ["send_prompt", { sessionId: "ses_1" }],
    ["start_session", session("ses_2", ada)],
    ["link_identity", link(ada)],
    ["unlink_identity", { ownerId: ada, kind: null }],
  ] as const) {
    const refused = refusalOf(await host.order(command, payload));
    assert.match(refused.message, /user one does not start.*file is not a database\./, command);
  }
  assert.equal(await host.by("start_session", session("ses_3", ada, "opencode")), "own");
  resultOf(await host.order("list_parked_sessions", {}));
  assert.ok(performance.now() - askedAt < 4_000, "nobody waits for it");
  const repeated = await host.order("rename_session", { sessionId: "ses_1" }, begun);
  assert.equal(repeated, undefined, "the worker may have done it");

  isBroken = false;
  // The pause between two starts has grown meanwhile, to 30 seconds at most.
  await until("it runs again", async () => (await warnings()).length === 0, 35_000);
  assert.equal(await host.by("send_prompt", { sessionId: "ses_1" }), "one");
});

test("a worker cannot make what the host reports or lists too large to be sent", async () => {
  const large = "x".repeat(1_500_000);
  const identity = {
    ownerId: ada,
    kind: "codex",
    authenticated: true,
    account: null as string | null,
    plan: null,
    expiresAt: null,
    utilization: null,
    utilizationAt: null,
    problem: null,
  };
  let result: object = {};
  let facts: unknown;
  const hostile: Answering = (user, _command, commandId) => ({
    reply: { commandId, outcome: { result: user === "one" ? result : {} } },
  });
  await using host = open(hostile, {
    facts() {
      if (facts instanceof Error) throw facts;
      return facts;
    },
  });
  await host.order("link_identity", link(ada));
  await host.order("start_session", session("ses_1", ada));
  const sizeOf = (value: unknown) => JSON.stringify(value).length;
  const most = 600_000;

  const operation = { type: "clone_repository", state: "running", percent: null, operationId: "1" };
  const startedAt = "2026-01-01T00:00:00.000Z";
  const named = (subject: string) => ({ ...operation, subject, step: "a", startedAt });
  for (const operations of [
    [named(large)],
    Array.from({ length: 50 }, () => named("x".repeat(30_000))),
  ]) {
    await host.worker("one").pipe.call("operations", { operations });
    assert.ok(sizeOf(host.front.operations!()) < most);
  }
  await host.worker("own").pipe.call("operations", { operations: [named("widget")] });
  assert.ok(
    host.front.operations!().some(({ subject }) => subject === "widget"),
    "of others",
  );

  const good = { roots: [], codeHostingCli: null, warnings: [] };
  for (facts of [
    { ...good, warnings: [{ code: "a", message: large }] },
    { ...good, warnings: Array.from({ length: 200_000 }, () => 7) },
    new Error(large),
  ]) {
    const { message } = await host.front.readFacts!().then(
      () => assert.fail("these facts are too large"),
      (error: Error) => error,
    );
    assert.ok(message.length < 3_000);
  }

  for (const [command, hostileResult] of [
    ["list_identities", { identities: [{ ...identity, account: large }], separated: true }],
    [
      "list_identities",
      { identities: Array.from({ length: 1_900 }, () => identity), separated: true },
    ],
    ["restart_agent", { detachedSessionIds: Array.from({ length: 50_000 }, () => "ses_1") }],
  ] as const) {
    result = hostileResult;
    assert.ok(sizeOf(resultOf(await host.order(command, {}))) < most, command);
  }
});

test("a report that is wrong in a million places is refused quickly", async () => {
  await using host = open();
  await host.by("list_directories", {});
  const { pipe } = host.worker("own");
  const zeros = Array.from({ length: 900_000 }, () => 0);
  for (const [name, sessions] of [
    ["report", zeros],
    ["introduce", zeros],
    ["report", [{ sessionId: "ses_1", entries: zeros }]],
  ] as const) {
    const before = process.cpuUsage();
    await assert.rejects(pipe.call(name, { sessions }));
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 2_000_000, `${name}: ${user + system} microseconds`);
  }
});

test("a worker publishes no more live text than a link takes", async () => {
  await using host = open();
  await host.by("start_session", session("ses_1"));
  const { pipe } = host.worker("own");
  const publish = (characters: number) => {
    const text = { itemId: "1", turnId: null, kind: "message", offset: 0 };
    return pipe.call("publish", {
      sessionId: "ses_1",
      text: { ...text, text: "x".repeat(characters) },
    });
  };
  const startedAt = performance.now();
  for (let i = 0; i < 40; i++) await publish(1_000_000);
  const seconds = Math.ceil((performance.now() - startedAt) / 1_000);
  const published = host.sent.length;
  assert.ok(published >= 4 && published <= 4 * (seconds + 1), `${published} in ${seconds} s`);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await publish(100);
  assert.equal(host.sent.length, published + 1, "later there is room again");
});
