// A host whose agents run as Unix users of their own, while something dies: a worker, the front, the link, and an
// old version. The log of a person's session is complete, and the session goes on.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import type { LinkableKind, UpdateOf } from "@hawser/contract";
import { pairBlobHost } from "@hawser/testkit/blob-host.ts";
import type { Caller } from "@hawser/testkit/caller.ts";
import { untilStatus } from "@hawser/testkit/host.ts";
import { renamed } from "@hawser/testkit/release.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";
import {
  linkModel,
  runShell,
  separatedKinds,
  startIn,
  useSeparatedHost,
  type SeparatedStage,
} from "../separated-steps.ts";
import {
  logOf,
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  slowly,
  untilEnd,
  untilLogged,
  updatesOf,
} from "../session-steps.ts";

useWorld({ agents: [...separatedKinds], nats: 1, releases: true });
const openStage = useSeparatedHost();

const directory = mkdtempSync(join(tmpdir(), "hawser-separated-faults-"));
after(() => removeDirectory(directory));

let linked: Promise<unknown> | undefined;

/** The stage, with accounts of Ada. */
async function open(context: Context): Promise<SeparatedStage> {
  const stage = await openStage(context);
  linked ??= (async () => {
    for (const kind of separatedKinds) await linkModel(context, stage, stage.ada, kind);
  })();
  await linked;
  return stage;
}

const userOfAda = ({ host }: SeparatedStage) => `${host.name}-1`;

interface Running {
  sessionId: string;
  turnId: string;
}

/** A session of Ada in the middle of its second turn. */
async function startTurn(
  stage: SeparatedStage,
  kind: LinkableKind,
  step = slowly(),
): Promise<Running> {
  const { ada } = stage;
  const { sessionId } = await startIn(stage, ada, kind);
  const first = await runTurn(ada, sessionId, scripted("remember the word", { text: "kept" }));
  assert.equal(outcomeOf(first), "completed");
  const { turnId } = await ada.send_prompt({ sessionId, text: scripted("long", step) });
  await until(
    "the turn runs",
    20_000,
    () => ada.get_session_summary({ sessionId }),
    ({ live }) => live?.status === "running",
  );
  // So that the agent has received a part of the answer.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  return { sessionId, turnId };
}

/** Asserts that the turn has ended, that nothing was logged twice, and that the session goes on. */
async function assertGoesOn(
  { world }: Context,
  ada: Caller,
  { sessionId, turnId }: Running,
  outcomes: readonly string[],
): Promise<void> {
  const outcome = outcomeOf(await untilEnd(ada, sessionId, turnId));
  assert.ok(outcomes.includes(outcome!), outcome);
  const next = await runTurn(ada, sessionId, scripted("again", { text: "back" }));
  assert.deepEqual([outcomeOf(next), saidIn(next)], ["completed", ["back"]]);
  const told = JSON.stringify(world.model!.requests.at(-1)!.body);
  assert.ok(told.includes("remember the word"), "the agent knows the earlier conversation");
  const events = await logOf(ada, sessionId);
  for (const name of ["turn_started", "turn_finished"] as const)
    assert.equal(updatesOf(events, name).length, 3, name);
  assert.deepEqual(
    saidIn(events).filter((text) => text === "kept"),
    ["kept"],
  );
  assert.equal((await ada.get_session_summary({ sessionId })).status, "active");
}

/** Waits until each user has one worker, and none of these. */
async function untilOneWorker(
  { host }: SeparatedStage,
  users: readonly string[],
  former: readonly number[],
): Promise<void> {
  const list = async () => users.map((user) => host.workersOf(user));
  await until("one worker of each user", 30_000, list, (found) =>
    found.every((pids) => pids.length === 1 && !former.includes(pids[0]!)),
  );
}

const agentsOf = ({ host }: SeparatedStage, user: string) =>
  host.processesOf(user).filter(({ command }) => /\/claude |\/codex /.test(command));

for (const kind of separatedKinds) {
  scenario(
    `A worker killed during a turn of ${kind}: the turn ends, and the next prompt works`,
    [],
    async (context) => {
      const stage = await open(context);
      const { host, ada } = stage;
      const user = userOfAda(stage);
      const running = await startTurn(stage, kind);
      const former = host.workersOf(user);
      const own = host.workersOf(host.own);
      assert.deepEqual([former.length, own.length], [1, 1]);
      process.kill(former[0]!, "SIGKILL");
      await assertGoesOn(context, ada, running, ["interrupted"]);
      await untilOneWorker(stage, [user], former);
      assert.deepEqual(host.workersOf(host.own), own, "the other workers ran on");
      const { status } = await context.caller.get_instance({ instanceId: host.instanceId });
      assert.equal(status, "online");
    },
  );

  scenario(
    `The front's daemon killed during a turn of ${kind}: no second worker stays, and the next prompt works`,
    [],
    async (context) => {
      const stage = await open(context);
      const { host, ada } = stage;
      const users = [userOfAda(stage), host.own];
      const running = await startTurn(stage, kind);
      const former = users.flatMap((user) => host.workersOf(user));
      const { pid } = host.status();
      process.kill(pid, "SIGKILL");
      await until(
        "it was started again",
        30_000,
        async () => host.status(),
        (status) => status.pid !== pid && status.state === "online",
      );
      await untilStatus(context.caller, host.instanceId, "online");
      await assertGoesOn(context, ada, running, ["interrupted"]);
      await untilOneWorker(stage, users, former);
      assert.ok(agentsOf(stage, users[0]!).length > 0);
    },
  );

  scenario(
    `The link lost during a turn of ${kind}, and back: the log arrives complete`,
    [],
    async (context) => {
      const stage = await open(context);
      const { host, ada, proxy } = stage;
      const text = "one two three four five six";
      const running = await startTurn(stage, kind, { text, paceMs: 1_500 });
      const former = host.workersOf(userOfAda(stage));
      proxy.cut();
      try {
        await untilStatus(context.caller, host.instanceId, "offline");
        // The turn ends in the meantime.
        await new Promise((resolve) => setTimeout(resolve, 9_000));
      } finally {
        proxy.heal();
      }
      await untilStatus(context.caller, host.instanceId, "online");
      const events = await untilEnd(ada, running.sessionId, running.turnId);
      assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", [text]]);
      await assertGoesOn(context, ada, running, ["completed"]);
      assert.deepEqual(host.workersOf(userOfAda(stage)), former, "it ran on");
    },
  );
}

scenario(
  "N7: unlinking ends an agent that stops every program by which it could be ended",
  [],
  async (context) => {
    const stage = await open(context);
    const { host, bo } = stage;
    const { instanceId } = host;
    const user = `${host.name}-2`;
    const left = () => host.processesOf(user).filter(({ command }) => /SIGSTOP/.test(command));
    // The program and what ends it race, so one round proves nothing.
    for (let round = 0; round < 2; round++) {
      await linkModel(context, stage, bo, "claude_code");
      const { sessionId } = await startIn(stage, bo, "claude_code");
      const program = 'for (;;) try { process.kill(-1, "SIGSTOP") } catch {}';
      const command = `cd / && setsid '${host.directory}/daemon/current/node' -e '${program}' > /dev/null 2>&1 < /dev/null &`;
      await bo.run_shell({ sessionId, command });
      await until(
        "it runs",
        10_000,
        async () => left(),
        ({ length }) => length === 1,
      );
      const unlinking = bo.try("unlink_agent_identity", { instanceId, kind: "claude_code" });
      // The front waits 18 seconds for an honest worker, and then ends all by itself.
      await until(
        "it has ended",
        32_000,
        async () => left(),
        ({ length }) => length === 0,
      );
      await unlinking;
      await until(
        "the account is unlinked",
        20_000,
        () => bo.list_agent_identities({ instanceId }),
        ({ identities }) => identities.length === 0,
      );
    }
  },
);

scenario(
  "A large file of a prompt reaches a person's agent, and a large log entry has its blob",
  [],
  async (context) => {
    const { world } = context;
    const stage = await open(context);
    const { host, ada } = stage;
    const { sessionId } = await startIn(stage, ada, "claude_code");
    const notes = `${randomBytes(600_000).toString("hex")} the end`;
    const uploaded = await ada.request("/api/files?filename=notes.txt", {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: notes,
    });
    assert.equal(uploaded.status, 201, uploaded.text);
    const { fileId } = uploaded.body as { fileId: string };
    const text = scripted("look", { text: "I have seen it", paceMs: 700 });
    const attachments = [{ mime: "text/plain", fileId, filename: "notes.txt" }];
    const { turnId } = await ada.send_prompt({ sessionId, text, attachments });
    // The prompt of Claude Code names the file, because its text is too large for a message.
    const place = await until(
      "the agent asks the model",
      20_000,
      async () => /It is at (\S+) while/.exec(JSON.stringify(world.model!.requests))?.[1],
      (found) => found !== undefined,
    );
    assert.ok(place!.startsWith(host.homeOf(userOfAda(stage))), place);
    assert.equal(readFileSync(place!, "utf8"), notes);
    assert.equal(statSync(place!).mode & 0o777, 0o600);
    assert.equal(outcomeOf(await untilEnd(ada, sessionId, turnId)), "completed");

    const shell = await runShell(ada, sessionId, "head -c 1500000 /dev/urandom | base64 -w 0");
    await assertWhole(context, shell);
  },
);

/** Asserts that the log entry of a shell command with two million characters names a blob that has them all. */
async function assertWhole({ world, caller }: Context, shell: UpdateOf<"shell">): Promise<void> {
  const { "hawser/whole": whole } = (shell as { _meta?: Record<string, unknown> })._meta ?? {};
  const { sha256, size } = whole as { sha256?: string; size: number };
  assert.ok(sha256 !== undefined && size > 2_000_000, JSON.stringify(whole));
  const reader = await pairBlobHost(caller, world.baseUrl);
  const path = join(directory, "whole");
  const patience = { deadlineMs: 20_000, signal: new AbortController().signal };
  await reader.lane.get(sha256, path, patience);
  const full = JSON.parse(readFileSync(path, "utf8")) as { output: string };
  assert.equal(full.output.length, 2_000_000);
  assert.ok(full.output.startsWith(shell.output.slice(0, 1_000)));
}

scenario(
  "The front's daemon killed while it uploads a large log entry: the entry has its blob",
  [],
  async (context) => {
    const stage = await open(context);
    const { host, ada, proxy } = stage;
    const { sessionId } = await startIn(stage, ada, "claude_code");
    const command = "sleep 2; head -c 1500000 /dev/urandom | base64 -w 0";
    await ada.run_shell({ sessionId, command });
    proxy.freeze("up");
    try {
      // The command ends, and its output is on the way.
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      const uploads = join(host.directory, "scratch", `worker-${userOfAda(stage)}`);
      assert.equal(readdirSync(uploads).length, 1);
      process.kill(host.status().pid, "SIGKILL");
    } finally {
      proxy.heal();
    }
    const events = await untilLogged(ada, sessionId, "shell");
    await assertWhole(context, updatesOf(events, "shell")[0]!);
    await untilOneWorker(stage, [userOfAda(stage), host.own], []);
  },
);

scenario(
  "An update that the workers' users cannot run is given up, and the session goes on",
  [],
  async (context) => {
    const { world, caller } = context;
    const stage = await open(context);
    const { host, ada } = stage;
    const { instanceId } = host;
    const { sessionId } = await startIn(stage, ada, "claude_code");
    const { pid, version } = host.status();
    const bad = "if (process.env.SUDO_USER) throw new Error('not as this user');";
    world.releases!.publishProgram("8.0.0", (program, from) =>
      renamed("8.0.0")(program, from).replace("\n", `\n${bad}\n`),
    );
    await caller.update_agent({ instanceId });
    await until(
      "a warning",
      40_000,
      () => caller.get_instance({ instanceId }),
      ({ warnings }) => warnings.some(({ code }) => code === "update_failed"),
    );
    assert.deepEqual([host.status().pid, host.status().version], [pid, version]);
    const events = await runTurn(ada, sessionId, scripted("hello", { text: "Hi." }));
    assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["Hi."]]);
  },
);

scenario(
  "An update of the daemon: workers of the new version, and a person's session goes on",
  [],
  async (context) => {
    const { world, caller } = context;
    const stage = await open(context);
    const { host, ada } = stage;
    const { instanceId } = host;
    const users = [userOfAda(stage), host.own];
    const running = await startTurn(stage, "claude_code");
    const idle = await startIn(stage, ada, "codex");
    const former = users.flatMap((user) => host.workersOf(user));
    world.releases!.publishProgram("9.0.0", renamed("9.0.0"));
    await caller.update_agent({ instanceId });
    await until(
      "the new version",
      60_000,
      () => caller.get_instance({ instanceId }),
      ({ daemonVersion, status }) => daemonVersion === "9.0.0" && status === "online",
    );
    await assertGoesOn(context, ada, running, ["completed", "interrupted"]);
    const next = await runTurn(ada, idle.sessionId, scripted("hello", { text: "Hi." }));
    assert.deepEqual([outcomeOf(next), saidIn(next)], ["completed", ["Hi."]]);
    await untilOneWorker(stage, users, former);
    const place = join(host.directory, "daemon/9.0.0");
    for (const { pid, command } of users.flatMap((user) => host.processesOf(user))) {
      if (!command.includes(" work --state ")) continue;
      assert.ok(command.includes(`${place}/hawserd.mjs`), command);
      assert.ok(readlinkSync(`/proc/${pid}/exe`).startsWith(host.directory));
    }
  },
);
