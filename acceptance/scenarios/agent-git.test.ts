// Repositories whose own git configuration names programs (T1, T7), and the git that each kind of agent runs
// by itself. Each program leaves a mark of its own; none may appear at a start, in a turn or after a resume.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { AgentKind } from "@hawser/contract";
import type { TestHost } from "@hawser/testkit/host.ts";
import { stepsOf } from "@hawser/testkit/kind-steps.ts";
import { scenario, useWorld } from "../scenario.ts";
import { outcomeOf, runTurn, scripted, startSession } from "../session-steps.ts";

useWorld({ agents: AgentKind.options, hosts: 1 });

const place = mkdtempSync(join(tmpdir(), "hawser-agent-git-"));
const marks = join(place, "marks");
mkdirSync(marks);
after(() => rmSync(place, { recursive: true, force: true }));
const touch = (name: string) => `touch ${join(marks, name)}; false`;

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, "-c", "user.name=e", "-c", "user.email=e@x", ...args], {
    encoding: "utf8",
  });

/** Settings with a program, except those for which the repository is refused. */
const settings = [
  "core.fsmonitor",
  "core.sshCommand",
  "core.askPass",
  "core.editor",
  "core.pager",
  "credential.helper",
  "diff.external",
  "diff.evil.command",
  "diff.evil.textconv",
  "merge.evil.driver",
  "sequence.editor",
  "interactive.diffFilter",
  "gpg.program",
  "remote.origin.uploadpack",
  "remote.origin.receivepack",
  "trailer.x.command",
  "uploadpack.packObjectsHook",
];
const hooks = ["post-index-change", "reference-transaction", "post-checkout", "pre-commit"];

let serial = 0;
function poisonedRepository(host: TestHost): string {
  const directory = join(host.root, `git-${serial++}`);
  mkdirSync(join(directory, "hooks"), { recursive: true });
  git(directory, "init", "--quiet", "--initial-branch=main");
  writeFileSync(join(directory, ".gitattributes"), "*.txt diff=evil merge=evil filter=evil\n");
  writeFileSync(join(directory, "a.txt"), "one\n");
  for (const hook of hooks) {
    const file = join(directory, "hooks", hook);
    writeFileSync(file, `#!/bin/sh\n${touch(`hook ${hook}`.replace(" ", "-"))}\n`);
    chmodSync(file, 0o755);
  }
  git(directory, "add", "--all");
  git(directory, "commit", "--quiet", "--message=one");
  git(directory, "remote", "add", "origin", "ssh://git@127.0.0.1:1/x.git");
  for (const name of settings) git(directory, "config", name, touch(name));
  git(directory, "config", "alias.status", `!${touch("alias")}`);
  git(directory, "config", "submodule.x.update", `!${touch("submodule-update")}`);
  git(directory, "config", "log.showSignature", "true");
  git(directory, "config", "core.hooksPath", join(directory, "hooks"));
  writeFileSync(join(directory, "a.txt"), "two\n");
  return directory;
}

/** A repository inside the checkout. */
function addNested(directory: string): void {
  const nested = join(place, `nested-${serial}`);
  mkdirSync(nested, { recursive: true });
  git(nested, "init", "--quiet");
  git(nested, "commit", "--quiet", "--allow-empty", "--message=one");
  git(nested, "config", "core.fsmonitor", touch("nested"));
  cpSync(nested, join(directory, "nested"), { recursive: true });
}

const assertNothingRan = (about: string) => assert.deepEqual(readdirSync(marks), [], about);

scenario(
  "By hand, git runs programs of the poisoned repository's configuration",
  [],
  async ({ world, caller }) => {
    // Otherwise the scenarios below could pass because this configuration does nothing.
    assert.equal((await caller.try("whoami")).status, 200);
    const repository = poisonedRepository(world.hosts[0]!);
    for (const args of [["status"], ["diff"], ["add", "a.txt"], ["commit", "--message=two"]]) {
      try {
        git(repository, ...args);
      } catch {
        // A hook that fails ends the command.
      }
    }
    const ran = readdirSync(marks);
    for (const name of ["core.fsmonitor", "diff.evil.command", "hook-pre-commit"]) {
      assert.ok(ran.includes(name), `${name} in ${ran.join()}`);
    }
  },
);

for (const agentKind of AgentKind.options) {
  for (const useWorktree of [true, false]) {
    scenario(
      `A3: the git of ${agentKind} in a ${useWorktree ? "worktree" : "main checkout"} runs no program of the repository's configuration`,
      ["start_session.trust"],
      async ({ world, caller }) => {
        for (const name of readdirSync(marks)) rmSync(join(marks, name));
        const host = world.hosts[0]!;
        const repository = poisonedRepository(host);
        if (!useWorktree) addNested(repository);
        const start = { agentKind, directory: repository, useWorktree };
        git(repository, "config", "filter.evil.clean", touch("clean"));
        const refused = await caller.try("start_session", {
          instanceId: host.instanceId,
          ...start,
        });
        assert.equal(refused.status, 409);
        assert.match(JSON.stringify(refused.body), /project_config_present.*filter\.evil\.clean/);
        assertNothingRan("a refused start");
        git(repository, "config", "--unset", "filter.evil.clean");
        const { sessionId } = await startSession(caller, host, start);
        assertNothingRan("start");
        const directory = git(repository, "worktree", "list", "--porcelain")
          .split("\n")
          .findLast((line) => line.startsWith("worktree "))!
          .slice("worktree ".length);
        if (useWorktree) addNested(directory);
        const path = (name: string) => (agentKind === "codex" ? name : join(directory, name));
        const write = (name: string) => stepsOf[agentKind].write(path(name), "hello\n");
        const first = await runTurn(
          caller,
          sessionId,
          scripted("1", write("b.txt"), { text: "1" }),
        );
        assert.equal(outcomeOf(first), "completed");
        assertNothingRan("a turn");
        await caller.restart_agent_kind({ instanceId: host.instanceId, kind: agentKind });
        const second = await runTurn(
          caller,
          sessionId,
          scripted("2", write("c.txt"), { text: "2" }),
        );
        assert.equal(outcomeOf(second), "completed");
        assertNothingRan("a turn after a resume");
        await caller.end_session({ sessionId });
        assertNothingRan("the end");
      },
    );
  }
}
