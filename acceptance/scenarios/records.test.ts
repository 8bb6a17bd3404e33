// The fields of sessions, changed files and instances, on hosts with the real opencode.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { arch, hostname } from "node:os";
import { join } from "node:path";
import { changedLines } from "@hawser/testkit/changed-lines.ts";
import type { SessionListEntry } from "@hawser/contract";
import { writePolicy } from "@hawser/testkit/host.ts";
import { watchPresence } from "@hawser/testkit/presence-watch.ts";
import { askOpencode, opencodeSessions } from "../opencode-server.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import {
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  startSession,
  untilEnd,
  worktreeOf,
  untilKindsListed,
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 2 });

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8" }).trim();

scenario(
  "A session's record names its host, its directory and its branch, wherever it is shown",
  [
    "record.session.instance",
    "record.session.directory",
    "record.session.worktreeBranch",
    "record.session.branch_prefix",
  ],
  async ({ world, caller }) => {
    const folder = join(world.hosts[1]!.root, "plain");
    mkdirSync(folder);
    const places = [
      { host: world.hosts[0]!, input: {}, branches: true },
      { host: world.hosts[1]!, input: {}, branches: true },
      { host: world.hosts[1]!, input: { useWorktree: false }, branches: false },
      { host: world.hosts[1]!, input: { directory: folder }, branches: false },
    ];
    const branches: string[] = [];
    for (const { host, input, branches: hasBranch } of places) {
      const started = await startSession(caller, host, input);
      const { sessionId, worktreeBranch } = started;
      const { sessions } = await caller.list_sessions({ instanceId: host.instanceId });
      const shown: (SessionListEntry | undefined)[] = [
        started,
        sessions.find((each) => each.sessionId === sessionId),
        await caller.get_session_summary({ sessionId }),
      ];
      const directory = realpathSync("directory" in input ? folder : host.repository);
      for (const record of shown) {
        assert.deepEqual(
          [record?.instanceId, record?.directory, record?.worktreeBranch],
          [host.instanceId, directory, worktreeBranch],
        );
      }
      if (!hasBranch) {
        assert.equal(worktreeBranch, null);
        continue;
      }
      assert.match(worktreeBranch!, /^hawser\/./);
      assert.equal(
        git(host.repository, "branch", "--list", worktreeBranch!).slice(2),
        worktreeBranch,
      );
      branches.push(worktreeBranch!);
    }
    assert.equal(new Set(branches).size, 2);
  },
);

scenario(
  "A session's record shows its model and the capabilities of its kind",
  ["record.session.model", "record.session.capabilities"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { agentKinds } = await untilKindsListed(caller, host.instanceId);
    const [opencode] = agentKinds;
    assert.ok(opencode!.capabilities.length > 0);
    for (const modelId of ["stub-small", "stub-1"]) {
      const model = { providerId: "stub", modelId };
      const started = await startSession(caller, host, model);
      const { sessionId } = started;
      const turn = await runTurn(caller, sessionId, scripted("hi", { text: "Hello." }));
      assert.equal(outcomeOf(turn), "completed");
      const summary = await caller.get_session_summary({ sessionId });
      assert.deepEqual([started.model, summary.model, summary.live?.model], [model, model, model]);
      for (const { capabilities } of [started, summary]) {
        assert.deepEqual(capabilities.toSorted(), opencode!.capabilities.toSorted());
      }
    }
  },
);

scenario(
  "Cost and usage of a session are the sums of what its turns used",
  ["record.session.cost", "record.session.usage"],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!, {
      providerId: "stub",
      modelId: "stub-1",
    });
    const turn = async (input: number, output: number, cached: number) => {
      const text = scripted("count", { text: "Counted.", usage: { input, output, cached } });
      await runTurn(caller, sessionId, text);
      return caller.get_session_summary({ sessionId });
    };
    // The price of stub-1 for a million tokens, in testkit's settings of opencode.
    const price = { input: 3, output: 15, cached: 0.3 };
    const dollars = (input: number, output: number, cached: number) =>
      ((input - cached) * price.input + output * price.output + cached * price.cached) / 1e6;
    const first = await turn(2_000, 100, 0);
    assertClose(first.cost, dollars(2_000, 100, 0));
    const second = await turn(3_000, 200, 500);
    assertClose(second.cost, dollars(2_000, 100, 0) + dollars(3_000, 200, 500));
    assert.deepEqual(
      [first.usage, second.usage],
      [
        { inputTokens: 2_000, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0 },
        { inputTokens: 4_500, outputTokens: 300, cacheReadTokens: 500, cacheWriteTokens: 0 },
      ],
    );
    assert.deepEqual(second.live?.usage, second.usage);
    const { sessions } = await caller.list_sessions({});
    assert.equal(sessions.find((each) => each.sessionId === sessionId)?.cost, second.cost);
  },
);

function assertClose(actual: number | null, expected: number): void {
  assert.ok(actual !== null && Math.abs(actual - expected) < 1e-9, `${actual}, not ${expected}`);
}

scenario(
  "A title that the agent proposes is shown with at most 200 characters",
  ["record.session.title"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { sessionId, worktreeBranch, title } = await startSession(caller, host);
    assert.equal(title, null);
    await runTurn(caller, sessionId, scripted("hi", { text: "Hello." }));
    const directory = worktreeOf(host, worktreeBranch!);
    const [id] = await opencodeSessions(host, directory);
    const proposed = `${"🙂 long ".repeat(80)}end`;
    assert.ok([...proposed].length > 500);
    const body = { title: proposed };
    await askOpencode(host, `/session/${id}`, { directory, method: "PATCH", body });
    const shown = await until(
      "the agent's title",
      10_000,
      () => caller.get_session_summary({ sessionId }),
      (summary) => summary.title !== null,
    );
    const { sessions } = await caller.list_sessions({});
    const listed = sessions.find((each) => each.sessionId === sessionId);
    for (const each of [shown.title, listed?.title]) {
      const length = [...each!].length;
      assert.ok(length <= 200 && length > 100, `${length} characters`);
      assert.ok(each!.startsWith("🙂 long 🙂 long"));
    }
  },
);

scenario(
  "A changed file is shown with its path in the working directory and its lines",
  ["record.fileChange.path", "record.fileChange.added", "record.fileChange.removed"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { repository } = host;
    mkdirSync(join(repository, "src"));
    writeFileSync(join(repository, "src", "list.txt"), "1\n2\n3\n4\n5\n");
    git(repository, "add", "src/list.txt");
    git(repository, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a list");
    const { sessionId, worktreeBranch } = await startSession(caller, host);
    const place = worktreeOf(host, worktreeBranch!);
    const write = (name: string, content: string) => ({
      calls: [{ tool: "write", input: { filePath: join(place, name), content } }],
    });
    const read = { calls: [{ tool: "read", input: { filePath: join(place, "src/list.txt") } }] };
    const text = scripted("edit", read, write("src/list.txt", "1\n4\n5\n"), {
      ...write("new/three.txt", "a\nb\nc\n"),
    });
    assert.equal(outcomeOf(await runTurn(caller, sessionId, text)), "completed");
    const { files } = await caller.get_session_diff({ sessionId });
    assert.deepEqual(
      changedLines(files).toSorted((one, other) => one.path.localeCompare(other.path)),
      [
        { path: "new/three.txt", added: 3, removed: 0 },
        { path: "src/list.txt", added: 0, removed: 2 },
      ],
    );
  },
);

scenario(
  "An instance counts and lists its active sessions, and shows its machine, daemon, agents and roots",
  [
    "record.instance.activeSessionCount",
    "record.instance.daemonVersion",
    "get_instance.activeSessions",
    "get_instance.result",
    "list_instances.result",
  ],
  async ({ world, caller }) => {
    const waiting = (await caller.create_instance({ name: "waiting" })).instance;
    assert.equal(waiting.daemonVersion, null);
    const host = await world.addHost();
    const { instanceId, repository, root } = host;
    const counted = async () => {
      const { activeSessionCount, activeSessions } = await caller.get_instance({ instanceId });
      const { instances } = await caller.list_instances({});
      const listed = instances.find((each) => each.instanceId === instanceId)!;
      assert.equal(listed.activeSessionCount, activeSessionCount);
      assert.equal(activeSessions.length, activeSessionCount);
      return activeSessions.map(({ sessionId }) => sessionId).sort();
    };
    assert.deepEqual(await counted(), []);
    const one = await startSession(caller, host, { title: "one" });
    const two = await startSession(caller, host, { title: "two" });
    assert.deepEqual(await counted(), [one.sessionId, two.sessionId].sort());
    await caller.end_session({ sessionId: one.sessionId });
    assert.deepEqual(await counted(), [two.sessionId]);

    writePolicy(host, `root = ${root}\nroot = ${repository}\n`);
    const shown = await caller.refresh_instance({ instanceId });
    const [node, program] = host.process.spawnargs.slice(host.process.spawnargs.indexOf("--") + 1);
    const version = execFileSync(node!, [program!, "--version"], { encoding: "utf8" }).trim();
    assert.match(version, /^\d+\.\d+\.\d+/);
    for (const each of [
      shown,
      await caller.get_instance({ instanceId }),
      (await caller.list_instances({})).instances.find((i) => i.instanceId === instanceId)!,
    ]) {
      assert.deepEqual([each.instanceId, each.status], [instanceId, "online"]);
      assert.equal(each.name, `host ${world.hosts.length}`);
      assert.deepEqual([each.host?.hostname, each.host?.arch], [hostname(), arch()]);
      assert.equal(each.daemonVersion, version);
      assert.deepEqual(
        each.agents.map(({ kind, installed, version: has, ready }) => [
          kind,
          installed,
          has,
          ready,
        ]),
        [
          ["opencode", true, "1.18.33", true],
          ["claude_code", false, null, false],
          ["codex", false, null, false],
        ],
      );
      assert.equal(each.activeSessionCount, 1);
      assert.ok(Date.now() - Date.parse(each.lastSeenAt!) < 300_000);
    }
    const detail = await caller.get_instance({ instanceId });
    assert.equal(typeof detail.codeHostingCli?.installed, "boolean");
    assert.equal(typeof detail.codeHostingCli?.loggedIn, "boolean");
    const plain = { isGitRepository: false, branch: null, remote: null };
    assert.deepEqual(detail.roots, [
      { path: root, type: "folder", ...plain },
      { path: repository, type: "repository", isGitRepository: true, branch: "main", remote: null },
    ]);
    const [active] = detail.activeSessions;
    assert.deepEqual([active?.title, active?.directory], ["two", realpathSync(repository)]);
  },
);

scenario(
  "A new pairing token leaves a paired host at work: its turn finishes, and it stays online",
  ["regenerate_pairing_token.paired"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { instanceId } = host;
    const { sessionId } = await startSession(caller, host);
    await runTurn(caller, sessionId, scripted("warm up", { text: "Ready." }));
    await using watch = watchPresence(caller);
    await watch.until("online", [instanceId], ({ status }) => status === "online");
    const words = Array.from({ length: 8 }, (_, i) => `word${i}`).join(" ");
    const { turnId } = await caller.send_prompt({
      sessionId,
      text: scripted("talk", { text: words, paceMs: 500 }),
    });
    const { live } = await caller.get_session_summary({ sessionId });
    assert.equal(live?.status, "running");
    const { pairingToken } = await caller.regenerate_pairing_token({ instanceId });
    assert.match(pairingToken, /^hwp_/);
    const events = await untilEnd(caller, sessionId, turnId);
    assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", [words]]);
    const again = await runTurn(caller, sessionId, scripted("next", { text: "Still here." }));
    assert.deepEqual(saidIn(again), ["Still here."]);
    assert.deepEqual(
      new Set(watch.seen(instanceId).map(({ status }) => status)),
      new Set(["online"]),
    );
  },
);
