// A daemon that is killed while it parks or restores a session's files: they are complete in one place or
// the other, and the operation continues from there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { runDaemon, untilStatus, type TestHost } from "@hawser/testkit/host.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";
import { outcomeOf, runTurn, scripted, startSession, worktreeOf } from "../session-steps.ts";

useWorld({ agents: true, nats: 1 });

const git = (place: string, ...args: string[]) =>
  execFileSync("git", ["-C", place, ...args], { encoding: "utf8" });

const stateOf = (place: string) => ({
  head: git(place, "rev-parse", "HEAD"),
  status: git(place, "status", "--porcelain"),
  staged: git(place, "ls-files", "--stage"),
  notes: readFileSync(join(place, "notes.txt"), "utf8"),
});

/** The session, or its parked files; never both, and never neither. */
async function whereItIs({ caller }: Context, { instanceId }: TestHost) {
  const { sessions } = await caller.list_sessions({ instanceId, limit: 200 });
  const live = sessions.filter(({ status }) => status === "active" || status === "detached");
  const { parkedSessions } = await caller.list_parked_sessions({ instanceId });
  return [
    ...live.map(({ sessionId }) => ({ sessionId, isParked: false })),
    ...parkedSessions.map(({ sessionId }) => ({ sessionId, isParked: true })),
  ];
}

scenario(
  "A daemon that is killed while it parks or restores a session loses none of its files",
  [],
  async (context) => {
    const { world, caller } = context;
    const host = await world.addHost();
    const { sessionId: first, worktreeBranch } = await startSession(caller, host, {
      title: "kept",
    });
    const place = worktreeOf(host, worktreeBranch!);
    writeFileSync(join(place, "made.txt"), "made\n");
    git(place, "add", ".");
    git(place, "commit", "--quiet", "--message=unpushed");
    writeFileSync(join(place, "staged.txt"), "staged\n");
    git(place, "add", "staged.txt");
    writeFileSync(join(place, "notes.txt"), "not in git\n");
    const before = stateOf(place);

    let { process: daemon } = host;
    let now = { sessionId: first, isParked: false };
    for (const delayMs of [0, 20, 60, 150, 400, 800]) {
      const { sessionId } = now;
      const asked = caller.try(now.isParked ? "restore_session" : "end_session", { sessionId });
      await sleep(delayMs);
      daemon.kill("SIGKILL");
      await untilStatus(caller, host.instanceId, "offline");
      const again = runDaemon(host.stateDirectory, host.environment);
      after(() => again[Symbol.asyncDispose]());
      daemon = again.process;
      await asked;
      await untilStatus(caller, host.instanceId, "online");
      const found = await until(
        `one place after ${delayMs} ms`,
        40_000,
        () => whereItIs(context, host),
        (places) => places.length === 1,
      );
      now = found[0]!;
      console.log(`killed after ${delayMs} ms: ${now.isParked ? "put aside" : "in its place"}`);
      if (!now.isParked) assert.deepEqual(stateOf(place), before, `after ${delayMs} ms`);
    }

    if (now.isParked)
      now.sessionId = (await caller.restore_session({ sessionId: now.sessionId })).sessionId;
    assert.deepEqual(stateOf(place), before);
    const turn = await runTurn(caller, now.sessionId, scripted("go on", { text: "on" }));
    assert.equal(outcomeOf(turn), "completed");
  },
);
