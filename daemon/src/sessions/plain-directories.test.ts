// Sessions in directories outside of git: the diff compares with a copy that was made at the start.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { changedLines } from "@hawser/testkit/changed-lines.ts";
import { codeOf, git, makeSmallHost, wanted } from "@hawser/testkit/small-host.ts";
import { until } from "@hawser/testkit/until.ts";

test("a session outside of git has a diff, also after a restart, and leaves no copy behind", async () => {
  using small = makeSmallHost();
  const file = (name: string) => join(small.folder, name);
  writeFileSync(file("a.txt"), "one\n");
  const baselines = join(small.directory, "state/baselines");
  const asked = wanted(small.folder);
  const { sessionId } = asked;
  let host = small.open();
  const started = await host.must("start_session", asked);
  assert.ok(started.capabilities.includes("diff"));
  assert.ok(!started.capabilities.includes("revert"));
  assert.deepEqual(readdirSync(baselines), [sessionId]);
  assert.deepEqual(await host.must("diff_session", { sessionId }), { files: [], truncated: false });
  writeFileSync(file("a.txt"), "two\n");
  await host.close();

  host = small.open();
  writeFileSync(file("b.txt"), "1\n2\n");
  assert.deepEqual(changedLines((await host.must("diff_session", { sessionId })).files), [
    { path: "a.txt", added: 1, removed: 1 },
    { path: "b.txt", added: 2, removed: 0 },
  ]);
  const page = { sessionId, path: "a.txt", offset: 0 };
  assert.match((await host.must("diff_session_file", page)).patch, /^-one\n\+two$/m);
  assert.deepEqual(readdirSync(small.folder).toSorted(), ["a.txt", "b.txt"]);

  await host.must("end_session", { sessionId });
  await until("the copy is gone", () => readdirSync(baselines).length === 0);
  await host.close();
});

test("a session in a repository without a commit has a diff too", async () => {
  using small = makeSmallHost();
  git(small.folder, "init", "--quiet");
  writeFileSync(join(small.folder, "a.txt"), "one\n");
  const host = small.open();
  const asked = wanted(small.folder);
  const { sessionId } = asked;
  await host.must("start_session", { ...asked, useWorktree: false });
  writeFileSync(join(small.folder, "a.txt"), "one\ntwo\n");
  assert.deepEqual(changedLines((await host.must("diff_session", { sessionId })).files), [
    { path: "a.txt", added: 1, removed: 0 },
  ]);
  await host.close();
});

test("a session in a directory that is too large starts without a diff, and the refusal says why", async () => {
  using small = makeSmallHost();
  writeFileSync(join(small.folder, "large.bin"), Buffer.alloc(65 * 1024 * 1024));
  const host = small.open();
  const asked = wanted(small.folder);
  const { sessionId } = asked;
  const started = await host.must("start_session", asked);
  assert.ok(!started.capabilities.includes("diff"));
  const refused = await host.ask("diff_session", { sessionId });
  assert.equal(codeOf(refused), "not_a_repository");
  assert.match(JSON.stringify(refused), /no copy of its files was made.* limit is 64 MiB/);
  await host.close();
});

test("a start that fails leaves no copy behind", async () => {
  using small = makeSmallHost();
  const failing = join(small.folder, "inner");
  mkdirSync(failing);
  const host = small.open({
    wrapDriver: (driver) =>
      Object.create(driver, {
        start: { value: () => Promise.reject(new Error("It does not start.")) },
      }) as typeof driver,
  });
  assert.notEqual(codeOf(await host.ask("start_session", wanted(failing))), "done");
  await host.close();
  const again = small.open();
  const baselines = join(small.directory, "state/baselines");
  await until(
    "the copy is gone",
    () => existsSync(baselines) && readdirSync(baselines).length === 0,
  );
  await again.close();
});
