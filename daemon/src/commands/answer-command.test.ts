// A command is carried out once, only when it is genuine, for this host and in time.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  makeSigningKey,
  signCommand,
  type CommandOutcome,
  type SignedCommand,
} from "@hawser/host-protocol";
import { createCodeHosting } from "../code-hosting/code-hosting.ts";
import { createDirectories } from "../directories/directories.ts";
import { createAgentGit } from "../git/agent-git.ts";
import { createGit } from "../git/git.ts";
import { createFacts } from "../facts.ts";
import { openHomes } from "../identities/homes.ts";
import { openSealing } from "../identities/sealing.ts";
import { createIdentities } from "../identities/identities.ts";
import { openJournal } from "../journal/journal.ts";
import { silentLog } from "../log.ts";
import { createOperations } from "../operations.ts";
import { createPolicy } from "../policy/policy.ts";
import { openSessions } from "../sessions/sessions.ts";
import { createCheckouts } from "../worktrees/checkouts.ts";
import { createPushes } from "../worktrees/push.ts";
import { createWorktrees } from "../worktrees/worktrees.ts";
import { createCommands } from "./answer-command.ts";
import { catalogue } from "./catalogue.ts";

const { refresh_host_facts: refreshHostFacts } = catalogue;

const directory = mkdtempSync(join(tmpdir(), "hawser-commands-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const key = makeSigningKey();
const instanceId = "ins_this";
const hostKey = "UTHIS";
const start = Date.parse("2026-01-01T00:00:00Z");

function openWorld(path = join(directory, `${randomUUID()}.sqlite`)) {
  const clock = { time: start };
  const journal = openJournal(path);
  const forgotten = { count: 0 };
  let pinned: readonly string[] = [key.publicKey];
  const operations = createOperations(() => {});
  const policy = createPolicy(join(directory, "policy")).read;
  const directories = createDirectories(policy);
  const git = createGit();
  const codeHosting = createCodeHosting({});
  const identities = createIdentities({
    kinds: {},
    homes: openHomes(join(directory, "homes"), instanceId),
    sealing: openSealing(join(directory, "sealing-key.json")),
    policy,
    onLinkedAgain: () => Promise.resolve(),
    onUnlink: () => Promise.resolve(),
    now: () => clock.time,
    log: silentLog,
  });
  const options = {
    instanceId,
    hostKey,
    bootId: "boot 1",
    commandKeys: () => pinned,
    journal,
    log: silentLog,
    now: () => clock.time,
    policy,
    operations,
    codeHosting,
    clones: { clone: () => Promise.reject(new Error("None here.")), stop: () => Promise.resolve() },
    directories,
    identities,
    exposures: {
      check: () => Promise.reject(new Error("None here.")),
      listPorts: () => [],
      open: () => Promise.reject(new Error("None here.")),
      stop: () => Promise.resolve(),
    },
    sessions: openSessions({
      journal,
      stateDirectory: directory,
      drivers: [],
      identities,
      checkouts: createCheckouts({
        git,
        codeHosting,
        operations,
        directory: join(directory, "checkouts"),
        policy,
      }),
      pushes: createPushes({ git, codeHosting }),
      agentGit: createAgentGit(git),
      attachments: { bring: () => Promise.resolve([]), tidy() {} },
      worktrees: createWorktrees({
        git,
        directory: join(directory, "worktrees"),
        parkedDirectory: join(directory, "parked"),
        baselinesDirectory: join(directory, "baselines"),
        trustedDirectory: join(directory, "trusted"),
        scratchDirectory: join(directory, "scratch"),
      }),
      policy,
      directories,
      publishLive() {},
      now: () => clock.time,
      log: silentLog,
    }),
    installs: undefined,
    refreshFacts: createFacts([], operations, silentLog).refresh,
    updates: undefined,
    forgetCredentials: () => void forgotten.count++,
    renewToken() {},
    pinCommandKeys: (keys: readonly string[]) => void (pinned = keys),
  };
  return { path, clock, journal, forgotten, options, answer: createCommands(options) };
}

interface Changes {
  instanceId?: string;
  commandId?: string;
  command?: string;
  deadlineAt?: string;
  payload?: Record<string, unknown>;
  privateKey?: string;
}

function make(changes: Changes = {}): SignedCommand {
  return signCommand(changes.privateKey ?? key.privateKey, {
    instanceId: changes.instanceId ?? instanceId,
    commandId: changes.commandId ?? randomUUID(),
    issuedAt: new Date(start).toISOString(),
    body: {
      command: changes.command ?? "refresh_host_facts",
      deadlineAt: changes.deadlineAt ?? new Date(start + 10_000).toISOString(),
      actor: { type: "user", id: "usr_ada" },
      payload: changes.payload ?? {},
    },
  });
}

const restoring = { sessionId: "ses_a", parkedId: "ses_b", author: null };
const laterPolicy = { allowedCommands: [], outsideWorktree: "ask", network: "refuse" };

const bytes = (command: unknown) => Buffer.from(JSON.stringify(command));
const codeOf = (outcome: CommandOutcome) => ("refusal" in outcome ? outcome.refusal.code : "done");

test("a repeated id gets the same outcome and runs once, also after a restart", async () => {
  const world = openWorld();
  const command = bytes(make());
  const first = await world.answer(command);
  assert.equal(first!.reply.outcome && "result" in first!.reply.outcome, true);
  assert.deepEqual(await world.answer(command), first);
  // After its deadline the reply still has its outcome.
  world.clock.time += 60_000;
  assert.deepEqual(await world.answer(command), first);
  world.journal.close();
  const again = openWorld(world.path);
  assert.deepEqual(await again.answer(command), first);
  assert.equal(again.journal.count("refresh_host_facts"), 2, "one run, and this look");
  again.journal.close();
});

test("an id that comes again while it runs waits for the same run", async () => {
  const world = openWorld();
  const gate = Promise.withResolvers<void>();
  const answer = createCommands(world.options, {
    ...catalogue,
    refresh_host_facts: {
      ...refreshHostFacts,
      async run(payload, context) {
        await gate.promise;
        return refreshHostFacts.run(payload, context);
      },
    },
  });
  const command = bytes(make());
  const answers = Promise.all(Array.from({ length: 20 }, () => answer(command)));
  gate.resolve();
  for (const each of await answers) assert.deepEqual(each, (await answers)[0]);
  assert.equal(world.journal.count("refresh_host_facts"), 2);
  world.journal.close();
});

test("what is not signed by the control plane for this host is refused, and settles nothing", async () => {
  const world = openWorld();
  const commandId = randomUUID();
  const genuine = make({ commandId });
  const forged: SignedCommand[] = [
    make({ commandId, privateKey: makeSigningKey().privateKey }),
    make({ commandId, instanceId: "ins_other" }),
    { ...make({ commandId, instanceId: "ins_other" }), instanceId },
    { ...genuine, body: genuine.body.replace("usr_ada", "usr_eve") },
    { ...genuine, issuedAt: new Date(start + 1).toISOString() },
    { ...genuine, signature: "" },
  ];
  for (const command of forged) {
    const answered = await world.answer(bytes(command));
    assert.equal(codeOf(answered!.reply.outcome), "not_genuine");
    assert.equal(answered!.reply.commandId, commandId);
  }
  assert.equal(codeOf((await world.answer(bytes(genuine)))!.reply.outcome), "done");
  world.journal.close();
});

test("refusals have their code and last, whatever is corrected afterwards", async (t) => {
  const cases: [name: string, changes: Changes, code: string][] = [
    [
      "a deadline that has passed",
      { deadlineAt: new Date(start).toISOString() },
      "deadline_passed",
    ],
    ["an unknown command", { command: "make_coffee" }, "daemon_outdated"],
    ["a name from the prototype", { command: "constructor" }, "daemon_outdated"],
    ["a payload without a field", { command: "browse_directory" }, "daemon_outdated"],
    [
      "a payload with an unknown word",
      { command: "set_session_mode", payload: { sessionId: "ses_a", mode: "later" } },
      "daemon_outdated",
    ],
    [
      "a policy with a field of a later version",
      { command: "restore_session", payload: { ...restoring, policy: laterPolicy } },
      "daemon_outdated",
    ],
  ];
  for (const [name, changes, code] of cases) {
    await t.test(name, async () => {
      const world = openWorld();
      const command = bytes(make(changes));
      assert.equal(codeOf((await world.answer(command))!.reply.outcome), code);
      world.clock.time -= 3600_000;
      assert.equal(codeOf((await world.answer(command))!.reply.outcome), code);
      assert.equal(world.journal.count("refresh_host_facts"), 1, "it never ran");
      world.journal.close();
    });
  }
});

test("a command runs without the fields of a later version, wherever they are", async () => {
  const world = openWorld();
  const later = { later: [{ deep: 1 }] };
  const command = signCommand(key.privateKey, {
    instanceId,
    commandId: randomUUID(),
    issuedAt: new Date(start).toISOString(),
    body: {
      command: "refresh_host_facts",
      deadlineAt: new Date(start + 10_000).toISOString(),
      actor: { type: "user", id: "usr_ada", ...later },
      payload: later,
      ...later,
    },
  });
  const payloads: unknown[] = [];
  const answer = createCommands(world.options, {
    ...catalogue,
    refresh_host_facts: {
      ...refreshHostFacts,
      run(payload, context) {
        payloads.push(payload);
        return refreshHostFacts.run(payload, context);
      },
    },
  });
  const answered = await answer(bytes({ ...command, ...later }));
  assert.equal(codeOf(answered!.reply.outcome), "done");
  assert.deepEqual(payloads, [{}]);
  world.journal.close();
});

test("a message that is no command is dropped without an answer", async () => {
  const world = openWorld();
  for (const data of ["", "hello", "{}", JSON.stringify({ ...make(), commandId: 7 })]) {
    assert.equal(await world.answer(Buffer.from(data)), undefined);
  }
  world.journal.close();
});

test("a command that a crash cut is repeated if that is harmless, else refused as interrupted", async (t) => {
  const cutOnce = refreshHostFacts;
  const cases: [name: string, repeatable: boolean, lateMs: number, code: string][] = [
    ["repeatable and in time", true, 0, "done"],
    ["repeatable but late", true, 60_000, "interrupted"],
    ["not repeatable", false, 0, "interrupted"],
  ];
  for (const [name, repeatable, lateMs, code] of cases) {
    await t.test(name, async () => {
      const world = openWorld();
      const command = make();
      // What a daemon leaves that is killed after it began.
      world.journal.commands.begin(command.commandId, "refresh_host_facts");
      world.clock.time += lateMs;
      const answer = createCommands(world.options, {
        ...catalogue,
        refresh_host_facts: { ...cutOnce, repeatable },
      });
      const first = await answer(bytes(command));
      assert.equal(codeOf(first!.reply.outcome), code);
      assert.deepEqual(await answer(bytes(command)), first);
      world.journal.close();
    });
  }
});

test("a command that throws is refused with what went wrong, once and for all", async () => {
  const world = openWorld();
  let runs = 0;
  const answer = createCommands(world.options, {
    ...catalogue,
    refresh_host_facts: {
      ...refreshHostFacts,
      run() {
        runs++;
        throw new Error("No such luck.");
      },
    },
  });
  const command = bytes(make());
  const first = await answer(command);
  assert.deepEqual(first!.reply.outcome, {
    refusal: { code: "failed", message: "The host could not do this: No such luck." },
  });
  assert.deepEqual(await answer(command), first);
  assert.equal(runs, 1);
  world.journal.close();
});

test("an outcome that could not be written is not sent, and its command does not run again", async () => {
  const world = openWorld();
  let broken = true;
  const { commands } = world.journal;
  // A disk that fills up between the start and the end of a command.
  const journal = {
    ...world.journal,
    commands: {
      ...commands,
      finish(...outcome: Parameters<typeof commands.finish>) {
        if (broken) throw new Error("disk full");
        commands.finish(...outcome);
      },
    },
  };
  const answer = createCommands({ ...world.options, journal });
  const command = bytes(make());
  assert.equal(await answer(command), undefined);
  broken = false;
  assert.equal(codeOf((await answer(command))!.reply.outcome), "done");
  assert.equal(world.journal.count("refresh_host_facts"), 2, "one run, and this look");
  world.journal.close();
});

test("forget_host wipes the credentials before it is answered, and ends the host after", async () => {
  const world = openWorld();
  const forget = make({ command: "forget_host", payload: { hostKey } });
  const answered = await world.answer(bytes(forget));
  assert.deepEqual(answered!.reply.outcome, { result: {} });
  assert.equal(answered!.endsHost, true);
  assert.equal(world.forgotten.count, 1);
  const again = await world.answer(bytes(forget));
  assert.equal(again!.endsHost, true, "the first reply may have been lost");
  world.journal.close();
});

test("forget_host of an old pairing has no effect, even if the journal has it as done", async () => {
  const first = openWorld();
  const recorded = make({ command: "forget_host", payload: { hostKey } });
  await first.answer(bytes(recorded));
  first.journal.close();

  // The instance is back, from a backup for example, and the host is paired with it again.
  const world = openWorld(first.path);
  const answer = createCommands({ ...world.options, hostKey: "UNEXT" });
  const withoutKey = make({ command: "forget_host" });
  for (const command of [recorded, withoutKey]) {
    const { reply, endsHost } = (await answer(bytes(command)))!;
    assert.deepEqual([codeOf(reply.outcome), endsHost], ["other_host_key", false]);
  }
  assert.equal(world.forgotten.count, 0);
  world.journal.close();
});

test("A14: a host accepts two command keys during a rotation, and afterwards the new key alone", async () => {
  const world = openWorld();
  const next = makeSigningKey();
  const pin = (privateKey: string, ...keys: string[]) =>
    bytes(make({ command: "pin_command_keys", payload: { keys }, privateKey }));
  const outcomeOf = async (data: Uint8Array) => codeOf((await world.answer(data))!.reply.outcome);
  const isAccepted = (privateKey: string) => outcomeOf(bytes(make({ privateKey })));

  assert.equal(await outcomeOf(pin(next.privateKey, next.publicKey)), "not_genuine");
  assert.equal(await outcomeOf(pin(key.privateKey, key.publicKey, next.publicKey)), "done");
  assert.equal(await isAccepted(key.privateKey), "done");
  assert.equal(await isAccepted(next.privateKey), "done");
  assert.equal(await outcomeOf(pin(next.privateKey, next.publicKey)), "done");
  assert.equal(await isAccepted(next.privateKey), "done");
  assert.equal(await isAccepted(key.privateKey), "not_genuine");
  for (const keys of [[], ["x"], [next.publicKey, next.publicKey, key.publicKey]])
    assert.equal(await outcomeOf(pin(next.privateKey, ...keys)), "daemon_outdated");
  world.journal.close();
});
