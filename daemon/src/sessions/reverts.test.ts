// Reverting a session, with the scripted agent and real git: files, HEAD and the index are as they were
// before the message, whatever was done since, and the current files are kept.
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { changedLines } from "@hawser/testkit/changed-lines.ts";
import { until } from "@hawser/testkit/until.ts";
import {
  changeTree,
  filesOf,
  git,
  isIgnored,
  openRandom,
  stateOf,
  write,
} from "@hawser/testkit/generated-trees.ts";
import {
  codeOf,
  makeSessionId,
  makeSmallHost,
  policy,
  script,
  type OpenHost,
} from "@hawser/testkit/small-host.ts";

const author = { name: "Grace Hopper", email: "grace@example.com" };
const isLong = process.env["HAWSER_LONG"] === "1";

async function start(host: OpenHost, directory: string, more: object = {}) {
  const sessionId = makeSessionId();
  const wanted = { sessionId, kind: "opencode" as const, directory, title: null, policy };
  const started = await host.must("start_session", { ...wanted, ...more });
  return { sessionId, started, place: host.journal.driven.get(sessionId)!.directory };
}

async function turn(host: OpenHost, sessionId: string, command: string): Promise<string> {
  const text = script([{ calls: [{ tool: "bash", input: { command } }] }, { text: "Done." }]);
  const { messageId, turnId } = await host.must("send_prompt", { sessionId, text });
  await host.until(sessionId, "turn_finished", (_update, entry) => entry.turnId === turnId);
  return messageId;
}

test("a revert undoes the turn's commits, which carry the starter's name, and keeps the files that were there", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, started, place } = await start(host, small.repository, { author });
  assert.ok(started.capabilities.includes("revert"));
  await turn(host, sessionId, "echo first > one.txt && git add . && git commit -qm one");
  assert.equal(
    git(place, "log", "-1", "--format=%an <%ae> %cn <%ce>").trim(),
    "Grace Hopper <grace@example.com> Grace Hopper <grace@example.com>",
  );
  assert.equal(git(small.repository, "config", "user.name").trim(), "Ada");
  // This edit was made between two turns, so it belongs to the state before the next message.
  write(place, "between.txt", "by the user\n");
  const before = stateOf(place);
  const second = await turn(
    host,
    sessionId,
    "echo second > two.txt; rm between.txt; echo more >> one.txt; git add -A; git commit -qm two; echo x > three.txt",
  );
  const tip = git(place, "rev-parse", "HEAD").trim();
  const agent = [...small.agent.sessions.values()][0]!;
  assert.equal(agent.messages.length, 2);
  await host.must("revert_session", { sessionId, messageId: second });
  assert.deepEqual(stateOf(place), before);
  assert.equal(agent.messages.length, 1, "the conversation went back too");
  assert.deepEqual(await host.until(sessionId, "session_reverted"), {
    sessionUpdate: "session_reverted",
    messageId: second,
  });
  const [kept] = git(
    small.repository,
    "for-each-ref",
    "--format=%(refname)",
    `refs/hawser/reverted/${sessionId}`,
  )
    .trim()
    .split("\n");
  assert.equal(git(small.repository, "show", `${kept}:three.txt`), "x");
  assert.equal(git(small.repository, "rev-parse", `${kept}^1`).trim(), tip);
  const refused = await host.ask("revert_session", { sessionId, messageId: second });
  assert.ok(refused && "refusal" in refused && refused.refusal.code === "not_found");
  await turn(host, sessionId, "echo again > four.txt");
  await host.must("end_session", { sessionId });
  assert.equal(git(small.repository, "for-each-ref", "refs/hawser/snapshots"), "");
  await host.close();
});

test("a revert is refused while a turn runs, for unknown messages, and in a user's own directory", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const codeAfter = async (sessionId: string, messageId: string) =>
    codeOf(await host.ask("revert_session", { sessionId, messageId }));
  const { sessionId } = await start(host, small.repository);
  const first = await turn(host, sessionId, "true");
  assert.equal(await codeAfter(sessionId, "msg_unknown"), "not_found");
  await host.must("send_prompt", { sessionId, text: script([{ text: "a b c", paceMs: 60_000 }]) });
  assert.equal(await codeAfter(sessionId, first), "turn_running");
  await host.must("abort_turn", { sessionId });
  const before = filesOf(small.repository);
  const own = await start(host, small.repository, { useWorktree: false });
  assert.ok(!own.started.capabilities.includes("revert"));
  const message = await turn(host, own.sessionId, "echo x > own.txt");
  assert.equal(await codeAfter(own.sessionId, message), "capability_missing");
  assert.deepEqual(Object.keys(filesOf(small.repository)), [...Object.keys(before), "own.txt"]);
  assert.equal(git(small.repository, "for-each-ref", `refs/hawser/snapshots/${own.sessionId}`), "");
  const { files } = await host.must("diff_session", { sessionId: own.sessionId });
  assert.deepEqual(changedLines(files), [{ path: "own.txt", added: 1, removed: 0 }]);
  await host.must("end_session", { sessionId });
  assert.equal(await codeAfter(sessionId, first), "session_ended");
  await host.close();
});

test("a shell command and a revert exclude each other, so that no file the command writes is lost", async () => {
  using small = makeSmallHost();
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const host = small.open({
    wrapDriver: (driver) => ({
      ...driver,
      async start(...given) {
        const session = await driver.start(...given);
        return {
          ...session,
          async revert(...message) {
            asked.resolve();
            if (isHeld) await gate.promise;
            return session.revert!(...message);
          },
        };
      },
    }),
  });
  const { sessionId, place } = await start(host, small.repository);
  const messageId = await turn(host, sessionId, "echo x > one.txt");
  const shell = { sessionId, command: "echo y > two.txt; sleep 60" };
  const { shellId } = await host.must("run_shell", shell);
  await until("what it writes", () => existsSync(join(place, "two.txt")));
  const refused = await host.ask("revert_session", { sessionId, messageId });
  assert.equal(codeOf(refused), "turn_running");
  assert.ok(existsSync(join(place, "one.txt")), "nothing was touched");
  await host.must("abort_turn", { sessionId });
  await host.until(sessionId, "shell", (update) => update.shellId === shellId);
  // The current files are already kept, so a file written after this would be lost.
  isHeld = true;
  const reverting = host.must("revert_session", { sessionId, messageId });
  await asked.promise;
  assert.equal(codeOf(await host.ask("run_shell", shell)), "turn_running");
  gate.resolve();
  await reverting;
  assert.equal(existsSync(join(place, "two.txt")), false);
  const last = await host.must("run_shell", { sessionId, command: "echo z" });
  await host.until(sessionId, "shell", (update) => update.shellId === last.shellId);
  await host.close();
});

for (const seed of Array.from({ length: isLong ? 100 : 4 }, (_, index) => index + 1)) {
  test(`sequence ${seed} of changes, commits and reverts`, async () => {
    using small = makeSmallHost();
    write(small.repository, ".gitignore", "ignored/\n*.log\n");
    git(small.repository, "add", ".");
    // In the only commit, so that no revert leads to before it.
    git(small.repository, "commit", "--quiet", "--amend", "--message=rules");
    const host = small.open();
    const { sessionId, place } = await start(host, small.repository);
    const random = openRandom(seed);
    const states: { messageId: string; state: ReturnType<typeof stateOf> }[] = [];
    for (let step = 0; step < 7; step++) {
      if (states.length > 0 && random.below(3) === 0) {
        const to = random.below(states.length);
        const { messageId, state } = states[to]!;
        const ignored = filesOf(place, (path) => !isIgnored(path) && path !== "ignored");
        await host.must("revert_session", { sessionId, messageId });
        assert.deepEqual(stateOf(place), state, `step ${step}`);
        assert.deepEqual(
          filesOf(place, (path) => !isIgnored(path) && path !== "ignored"),
          ignored,
        );
        states.splice(to);
        continue;
      }
      const state = stateOf(place);
      const commands = [changeTree(random), changeTree(random), changeTree(random)];
      states.push({ messageId: await turn(host, sessionId, commands.join("; ")), state });
    }
    await host.must("end_session", { sessionId });
    await host.close();
  });
}

test("a revert leaves ignored files alone, also if a file becomes ignored or tracked", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, place } = await start(host, small.repository);
  write(place, ".gitignore", "cache/\n");
  write(place, "cache/big.bin", "ignored then\n");
  write(place, "plain.txt", "followed then\n");
  const message = await turn(
    host,
    sessionId,
    "echo plain.txt > .gitignore; rm plain.txt; echo secret > plain.txt; git add .gitignore",
  );
  await host.must("revert_session", { sessionId, messageId: message });
  assert.equal(readFileSync(join(place, "cache/big.bin"), "utf8"), "ignored then\n");
  assert.equal(readFileSync(join(place, "plain.txt"), "utf8"), "followed then\n");
  const [kept] = git(
    small.repository,
    "for-each-ref",
    "--format=%(refname)",
    "refs/hawser/reverted",
  )
    .trim()
    .split("\n");
  assert.equal(git(small.repository, "show", `${kept}:plain.txt`), "secret", "it was in the way");
  await host.close();
});

test("a parked worktree is restored as a new session, also if a daemon died in between", async () => {
  using small = makeSmallHost();
  let host = small.open();
  const origin = "https://code.example/acme/project.git";
  git(small.repository, "remote", "add", "origin", origin);
  const { sessionId, started, place } = await start(host, small.repository, { title: "Left" });
  git(small.repository, "remote", "set-url", "origin", "https://elsewhere.example/x.git");
  await turn(
    host,
    sessionId,
    "echo w > work.txt; git add -A; git commit -qm work; echo u > untracked.txt",
  );
  symlinkSync("work.txt", join(place, "link"));
  const before = stateOf(place);
  await host.must("end_session", { sessionId });
  const { parkedSessions } = await host.must("list_parked_sessions", {});
  assert.deepEqual(
    parkedSessions.map(({ sessionId: id, title, branch }) => ({ id, title, branch })),
    [{ id: sessionId, title: "Left", branch: started.worktreeBranch }],
  );
  // Cut after everything was moved and before the session counted.
  const lost = makeSessionId();
  await host.sessions.restore(
    { sessionId: lost, parkedId: sessionId, policy, author },
    AbortSignal.timeout(30_000),
  );
  await host.close();
  host = small.open();
  const deadline = performance.now() + 20_000;
  while (host.journal.driven.get(lost) && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(host.journal.driven.get(lost), undefined);

  const heir = makeSessionId();
  const wanted = { sessionId: heir, parkedId: sessionId, policy, author };
  const restored = await host.must("restore_session", wanted);
  assert.deepEqual([restored.title, restored.worktreeBranch], ["Left", started.worktreeBranch]);
  assert.equal(host.journal.driven.get(heir)!.origin, origin, "it pushes to where the first did");
  assert.deepEqual(stateOf(place), before);
  const again = await host.ask("restore_session", { ...wanted, sessionId: makeSessionId() });
  assert.ok(again && "refusal" in again && again.refusal.code === "not_found");
  const message = await turn(host, heir, "git commit -qm more --allow-empty; rm untracked.txt");
  assert.equal(git(place, "log", "-1", "--format=%an").trim(), "Grace Hopper");
  await host.must("revert_session", { sessionId: heir, messageId: message });
  assert.deepEqual(stateOf(place), before);
  await host.must("end_session", { sessionId: heir });
  assert.equal((await host.must("list_parked_sessions", {})).parkedSessions.length, 1);
  await host.close();
});

test("a patch comes in pages that fit together, and a page of another patch is refused", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, place } = await start(host, small.repository);
  const text = Array.from({ length: 6_000 }, (_, line) => `line ${line} ünï`).join("\n");
  write(place, "long.txt", text);
  const page = (offset: number, hash?: string) =>
    host.must("diff_session_file", { sessionId, path: "long.txt", offset, ...(hash && { hash }) });
  let read = await page(0);
  let whole = read.patch;
  let count = 1;
  for (; read.nextOffset !== null; count++) {
    assert.ok(Buffer.byteLength(read.patch) <= 64 * 1024);
    read = await page(read.nextOffset, read.hash);
    whole += read.patch;
  }
  assert.ok(count >= 2);
  assert.equal(whole.split("\n+").length - 1, 6_001, "its lines and its name");
  assert.ok(whole.includes("+line 5999 ünï"));
  const first = await page(0);
  rmSync(join(place, "long.txt"));
  write(place, "long.txt", `${text} changed`);
  await assert.rejects(page(first.nextOffset!, first.hash), /invalid_input.*Begin again/);
  await assert.rejects(host.must("diff_session_file", { sessionId, path: "../a.txt", offset: 0 }));
  await host.close();
});

test("an edit of an assume-unchanged file shows in the diff, and a revert keeps it in the snapshot", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, place } = await start(host, small.repository);
  git(place, "update-index", "--assume-unchanged", "a.txt");
  const first = await turn(host, sessionId, "echo mine > a.txt");
  const { files } = await host.must("diff_session", { sessionId });
  assert.deepEqual(changedLines(files), [{ path: "a.txt", added: 1, removed: 1 }]);
  await host.must("revert_session", { sessionId, messageId: first });
  assert.equal(readFileSync(join(place, "a.txt"), "utf8"), "one\n");
  const refs = git(small.repository, "for-each-ref", "--format=%(refname)", "refs/hawser/reverted");
  assert.equal(git(small.repository, "show", `${refs.split("\n")[0]}:a.txt`), "mine");
});

test("a worktree whose git directory points elsewhere is neither reverted, pushed nor restored", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const other = join(small.folder, "other");
  git(small.folder, "clone", "--quiet", small.repository, other);
  git(small.repository, "remote", "add", "origin", "https://code.example/x.git");
  const refs = () =>
    [small.repository, other].map((place) => git(place, "for-each-ref", "refs/heads"));
  const { sessionId, place } = await start(host, small.repository);
  const first = await turn(host, sessionId, "echo 1 > one.txt");
  const before = [refs(), filesOf(other)];
  const pointer = readFileSync(join(place, ".git"), "utf8");
  const ways = [
    `echo "gitdir: ${other}/.git" > .git`,
    `rm .git; ln -s ${other}/.git .git`,
    `cp .git ../kept; rm .git; ln -s ../kept .git`,
    `rm .git; cp -r ${other}/.git .git`,
    `head -c 100000 /dev/zero > .git`,
  ];
  const codeFor = async (asked: ReturnType<OpenHost["ask"]>) => codeOf(await asked);
  for (const way of ways) {
    const led = await turn(host, sessionId, way);
    const pushing = host.ask("push_session", { sessionId, pullRequest: null });
    assert.equal(await codeFor(pushing), "unsafe_repository", way);
    const reverting = host.ask("revert_session", { sessionId, messageId: led });
    assert.equal(await codeFor(reverting), "revert_failed", way);
    const comparing = host.ask("diff_session", { sessionId });
    assert.equal(await codeFor(comparing), "diff_failed", way);
    assert.deepEqual([refs(), filesOf(other)], before, way);
    rmSync(join(place, ".git"), { recursive: true, force: true });
    write(place, ".git", pointer);
  }
  await host.must("revert_session", { sessionId, messageId: first });
  write(place, ".git", `gitdir: ${other}/.git\n`);
  await host.must("end_session", { sessionId });
  const wanted = { sessionId: makeSessionId(), parkedId: sessionId, policy, author };
  assert.equal(await codeFor(host.ask("restore_session", wanted)), "restore_failed");
  assert.equal(existsSync(place), false, "put aside again");
  assert.deepEqual(filesOf(other), before[1]);
  await host.close();
});
