// Sessions that are ended while they start or are restored: nothing is left of a start, and a parked tree
// is parked again. A slow git gives the end its moment.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  codeOf,
  git,
  makeSessionId,
  makeSmallHost,
  policy,
  wanted,
  type SmallHost,
} from "@hawser/testkit/small-host.ts";
import { until } from "@hawser/testkit/until.ts";

/** A host whose git waits for a second at this command, once it is armed. */
function openSlowGit(small: SmallHost, command: string) {
  const bin = join(small.directory, "bin");
  const armed = join(small.directory, "armed");
  const reached = join(small.directory, "reached");
  mkdirSync(bin);
  const real = execFileSync("which", ["git"], { encoding: "utf8" }).trim();
  const wait = `[ -e ${armed} ] && case "$*" in *${command}*) touch ${reached}; sleep 1;; esac`;
  writeFileSync(join(bin, "git"), `#!/bin/bash\n${wait}\nexec ${real} "$@"\n`);
  chmodSync(join(bin, "git"), 0o755);
  const environment = { ...process.env, PATH: `${bin}:${process.env["PATH"]}` };
  return {
    host: small.open({ environment }),
    arm: () => writeFileSync(armed, ""),
    waits: () => until("git waits", () => existsSync(reached)),
  };
}

const linesOf = (text: string) => text.trim().split("\n").length;

test("a start that is ended before its worktree exists leaves no worktree and no branch", async () => {
  using small = makeSmallHost();
  const { host, arm, waits } = openSlowGit(small, "rev-parse");
  arm();
  const asked = wanted(small.repository);
  const starting = host.ask("start_session", asked);
  await waits();
  await host.must("end_session", { sessionId: asked.sessionId });
  assert.equal(codeOf(await starting), "session_ended");
  assert.equal(linesOf(git(small.repository, "worktree", "list")), 1);
  assert.equal(linesOf(git(small.repository, "branch")), 1);
  assert.deepEqual(readdirSync(join(small.directory, "state", "worktrees")), []);
  await host.close();
});

test("a restore that is ended while git works leaves the tree parked, and can be repeated", async () => {
  using small = makeSmallHost();
  const { host, arm, waits } = openSlowGit(small, "update-ref");
  const first = wanted(small.repository);
  await host.must("start_session", first);
  await host.must("end_session", { sessionId: first.sessionId });
  const restore = (sessionId: string) =>
    host.ask("restore_session", { sessionId, parkedId: first.sessionId, policy, author: null });
  arm();
  const heir = makeSessionId();
  const restoring = restore(heir);
  await waits();
  await host.must("end_session", { sessionId: heir });
  assert.equal(codeOf(await restoring), "session_ended");
  const { parkedSessions } = await host.must("list_parked_sessions", {});
  assert.deepEqual(
    parkedSessions.map(({ sessionId }) => sessionId),
    [first.sessionId],
  );
  assert.equal(codeOf(await restore(makeSessionId())), "done");
  await host.close();
});

test("files that an agent writes while its session is ended do not stay", async () => {
  using small = makeSmallHost();
  const reached = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const host = small.open({
    wrapDriver: (driver) => ({
      ...driver,
      async start(settings, sink, signal) {
        reached.resolve();
        await gate.promise;
        mkdirSync(join(settings.directory, "late"), { recursive: true });
        return driver.start(settings, sink, signal);
      },
    }),
  });
  const asked = wanted(small.repository);
  const starting = host.ask("start_session", asked);
  await reached.promise;
  await host.must("end_session", { sessionId: asked.sessionId });
  gate.resolve();
  assert.equal(codeOf(await starting), "session_ended");
  assert.deepEqual(readdirSync(join(small.directory, "state", "worktrees")), []);
  await host.close();
});
