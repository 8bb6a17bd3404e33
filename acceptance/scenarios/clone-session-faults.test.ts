// Sessions of real agents whose clone is interrupted: by ending or deleting the session, by a daemon that
// dies or cannot be reached (F15), and by a full disk (F8).
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { runDaemon, untilStatus, type TestHost } from "@hawser/testkit/host.ts";
import { makeSmallDisk, type SmallDisk } from "@hawser/testkit/small-disk.ts";
import { checkoutsOf, git, processesAt, untilReceiving, useGithub } from "../clone-steps.ts";
import { assertRefused, resultOf } from "../refusal.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";
import { outcomeOf, runTurn, scripted, startPlaced } from "../session-steps.ts";

useWorld({ agents: ["opencode", "codex"], nats: 1 });

const hosting = useGithub("gho_cloneFaults", [
  { name: "acme/widget" },
  { name: "acme/large", bytes: 4_000_000 },
]);
const { addHost } = hosting;
const clone = { repo: "acme/large" };
/** The agent of sessions that never run a turn: it starts in a tenth of opencode's processor time. */
const agentKind = "codex";

/** Two sessions in the middle of their clones. `asked` has the promises of their starts. */
async function startTwo(context: Context, host: TestHost) {
  const { caller } = context;
  const { instanceId } = host;
  hosting.github().hold(true);
  const first = caller.try("start_session", { instanceId, agentKind, clone });
  const one = await untilReceiving(context, host);
  const second = caller.try("start_session", { instanceId, agentKind, clone });
  const two = await until(
    "the second",
    30_000,
    () => untilReceiving(context, host),
    ({ sessionId }) => sessionId !== one.sessionId,
  );
  return { asked: [first, second], ended: one.sessionId, deleted: two.sessionId };
}

async function untilGone({ caller }: Context, host: TestHost, ended: string, deleted: string) {
  await until(
    "it has ended",
    40_000,
    () => caller.get_session_summary({ sessionId: ended }),
    ({ status }) => status === "ended",
  );
  await until(
    "no clone is left",
    40_000,
    async () => checkoutsOf(host),
    (left) => left.length === 0,
  );
  const reply = await caller.try("get_session_summary", { sessionId: deleted });
  assertRefused(reply, 404, "not_found");
  const { sessions } = await caller.list_sessions({ instanceId: host.instanceId, limit: 200 });
  assert.deepEqual(
    sessions.map(({ sessionId, status }) => [sessionId, status]),
    [[ended, "ended"]],
  );
  const { activeSessionCount } = await caller.get_instance({ instanceId: host.instanceId });
  assert.equal(activeSessionCount, 0);
  assert.deepEqual(processesAt(join(host.stateDirectory, "checkouts")), []);
}

scenario(
  "A session whose daemon is killed while it clones leaves nothing, and its record says why (F15)",
  [],
  async (context) => {
    const { caller } = context;
    const host = await addHost(context);
    const { instanceId } = host;
    hosting.github().hold(true);
    const asked = caller.try("start_session", { instanceId, agentKind, clone });
    const { sessionId } = await untilReceiving(context, host);
    host.process.kill("SIGKILL");
    await once(host.process, "exit");
    const refused = assertRefused(await asked, 409, "in_progress");
    assert.equal(refused.sessionId, sessionId);
    await untilStatus(caller, instanceId, "offline");
    await using _again = runDaemon(host.stateDirectory, host.environment);
    const { statusReason, statusMessage } = await until(
      "the end of the session",
      20_000,
      () => caller.get_session_summary({ sessionId }),
      ({ status }) => status === "ended",
    );
    assert.equal(statusReason, "start_failed");
    assert.match(statusMessage ?? "", /was stopped while/);
    assert.deepEqual(checkoutsOf(host), []);
    hosting.github().hold(false);
    assert.deepEqual(processesAt(join(host.stateDirectory, "checkouts")), []);
  },
);

scenario(
  "Ending or deleting a session while it clones stops the clone, and nothing of it is kept (F15)",
  ["end_session.status"],
  async (context) => {
    const { caller } = context;
    const host = await addHost(context);
    const { asked, ended, deleted } = await startTwo(context, host);
    assert.equal((await caller.end_session({ sessionId: ended })).status, "ended");
    const { deleted: told } = await caller.delete_session({ sessionId: deleted });
    assert.deepEqual(told, [deleted]);
    for (const reply of await Promise.all(asked)) {
      // On a slow machine the call was answered before the session was ended.
      if (reply.status === 200) assert.equal(resultOf(reply)["directory"], null);
    }
    hosting.github().hold(false);
    await untilGone(context, host, ended, deleted);
    const { parkedSessions } = await caller.list_parked_sessions({ instanceId: host.instanceId });
    assert.deepEqual(parkedSessions, []);
  },
);

scenario(
  "A session that is ended or deleted while its host is dead in the middle of its clone does not come back (F15)",
  [],
  async (context) => {
    const { caller } = context;
    const host = await addHost(context);
    const { asked, ended, deleted } = await startTwo(context, host);
    host.process.kill("SIGKILL");
    await once(host.process, "exit");
    await untilStatus(caller, host.instanceId, "offline");
    await endBoth(context, ended, deleted);
    await Promise.all(asked);
    await using _again = runDaemon(host.stateDirectory, host.environment);
    await untilGone(context, host, ended, deleted);
    hosting.github().hold(false);
    const { parkedSessions } = await caller.list_parked_sessions({ instanceId: host.instanceId });
    assert.deepEqual(parkedSessions, []);
  },
);

scenario(
  "A session that is ended or deleted while its host cannot be reached is parked, if its clone completes meanwhile (F15)",
  [],
  async (context) => {
    const { caller } = context;
    const host = await addHost(context);
    const { asked, ended, deleted } = await startTwo(context, host);
    host.process.kill("SIGSTOP");
    try {
      await untilStatus(caller, host.instanceId, "offline", 45_000);
      await endBoth(context, ended, deleted);
      await Promise.all(asked);
      hosting.github().hold(false);
    } finally {
      host.process.kill("SIGCONT");
    }
    await untilGone(context, host, ended, deleted);
  },
);

async function endBoth({ caller }: Context, ended: string, deleted: string): Promise<void> {
  assert.equal((await caller.end_session({ sessionId: ended })).status, "cleanup_failed");
  const answer = await caller.delete_session({ sessionId: deleted });
  assert.deepEqual(answer, { deleted: [deleted], failed: [] });
}

const disk = makeSmallDisk(48);
if (typeof disk === "string") console.log(`skipped: ${disk}`);
else testFull(disk);

function testFull(small: SmallDisk): void {
  after(() => small[Symbol.dispose]());

  scenario(
    "A full disk stops a clone and a push with the reason, and both work once there is room (F8)",
    [],
    async (context) => {
      const { caller } = context;
      await using host = await addHost(context, join(small.directory, "host"));
      const { instanceId } = host;
      const start = (repo: string) => startPlaced(caller, { instanceId, clone: { repo } });
      const { sessionId, directory } = await start("acme/widget");
      const before = checkoutsOf(host);
      small.fill(2_500_000);
      const reply = await caller.try("start_session", { instanceId, clone });
      assertRefused(reply, 409, "host_refused");
      assert.match(reply.text, /disk is full. Make room, then try again/);
      assert.deepEqual(checkoutsOf(host), before);
      const { sessions } = await caller.list_sessions({ instanceId });
      assert.deepEqual(
        sessions.map((each) => each.sessionId),
        [sessionId],
      );

      git(directory!, "commit", "--quiet", "--allow-empty", "--message=made");
      small.fill();
      const refused = await caller.try("push_session", { sessionId, openPr: false });
      assertRefused(refused, 409, "host_refused");
      assert.match(refused.text, /disk is full/);
      assert.equal((await caller.get_instance({ instanceId })).status, "online");
      small.empty();
      const { branch } = await caller.push_session({ sessionId, openPr: false });
      const bare = join(hosting.github().directory, "acme/widget.git");
      assert.equal(git(bare, "rev-parse", branch), git(directory!, "rev-parse", "HEAD"));
      const events = await runTurn(caller, sessionId, scripted("hi", { text: "hello" }));
      assert.equal(outcomeOf(events), "completed");
      const large = await start("acme/large");
      assert.ok(readdirSync(large.directory!).includes("noise"));
    },
  );
}
