// What sessions of the other kinds can do beside taking prompts, with the real programs: files that go with
// prompts, changes and going back, shell commands and commands of their own.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { changedLines } from "@hawser/testkit/changed-lines.ts";
import { writeClaudeCommand } from "@hawser/testkit/claude-home.ts";
import { writeSkill } from "@hawser/testkit/codex-home.ts";
import { stepsOf } from "@hawser/testkit/kind-steps.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";
import {
  logOf,
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  startSession,
  untilEnd,
  untilLogged,
  updatesOf,
  worktreeOf,
} from "../session-steps.ts";

useWorld({ agents: ["claude_code", "codex"], hosts: 1 });

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

for (const agentKind of ["claude_code", "codex"] as const) {
  scenario(
    `What a session of ${agentKind} changed is what git says, and it is not summarized`,
    ["get_session_diff.git", "summarize_session.opencode_only"],
    async ({ world, caller }) => {
      const host = world.hosts[0]!;
      const session = await startSession(caller, host, { agentKind });
      const { sessionId, capabilities } = session;
      const place = worktreeOf(host, session.worktreeBranch!);
      const write = stepsOf[agentKind].write(join(place, "new.txt"), "one\ntwo\n");
      await runTurn(caller, sessionId, scripted("write it", write, { text: "Written." }));
      const tracked = execFileSync("git", ["-C", place, "ls-files"], { encoding: "utf8" });
      writeFileSync(join(place, tracked.split("\n")[0]!), "another\n");
      const { files, live } = await caller.get_session_diff({ sessionId });
      execFileSync("git", ["-C", place, "add", "--intent-to-add", "new.txt"]);
      const counted = execFileSync("git", ["-C", place, "diff", "--numstat", "HEAD"], {
        encoding: "utf8",
      });
      assert.equal(live, true);
      assert.deepEqual(
        files.map(({ path, added, removed }) => `${added}\t${removed}\t${path}`).sort(),
        counted.trim().split("\n").sort(),
      );
      assert.ok(counted.includes("2\t0\tnew.txt"), counted);
      assert.ok(!capabilities.includes("summarize"));
      const reply = await caller.try("summarize_session", { sessionId });
      assertRefused(reply, 409, "capability_missing");
      await caller.end_session({ sessionId });
    },
  );
}

scenario(
  "Files of a prompt reach codex: an image as an image, a text as text, any other file by its path",
  ["send_prompt.attachments.delivered"],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!, { agentKind: "codex" });
    const data = (mime: string, bytes: string) => ({ mime, url: `data:${mime};base64,${bytes}` });
    const notes = Buffer.from("remember the milk").toString("base64");
    const archive = Buffer.from([0x1f, 0x8b, 0]).toString("base64");
    const events = await runTurn(caller, sessionId, scripted("look", { text: "Seen." }), {
      attachments: [
        { ...data("image/png", png), filename: "dot.png" },
        { ...data("text/plain", notes), filename: "notes.txt" },
        { ...data("application/gzip", archive), filename: "all.tgz" },
      ],
    });
    assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["Seen."]]);
    const asked = JSON.stringify(world.model!.requests.at(-1)!.body);
    assert.ok(asked.includes(`data:image/png;base64,${png}`));
    assert.match(asked, /notes\.txt.*remember the milk/);
    assert.match(asked, /all\.tgz.*It lies at \S+ until this turn ends/);
    await caller.end_session({ sessionId });
  },
);

scenario(
  "A session of codex is reverted to a message with its files, even after a restart of codex",
  ["revert_session.undoes"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const session = await startSession(caller, host, { agentKind: "codex" });
    const { sessionId } = session;
    assert.ok(session.capabilities.includes("revert"));
    const place = worktreeOf(host, session.worktreeBranch!);
    const write = async (name: string) => {
      const step = stepsOf.codex.write(join(place, `${name}.txt`), `${name}\n`);
      const text = scripted(`write ${name}`, step, { text: `Wrote ${name}.` });
      const { turnId, messageId } = await caller.send_prompt({ sessionId, text });
      assert.equal(outcomeOf(await untilEnd(caller, sessionId, turnId)), "completed");
      assert.equal(readFileSync(join(place, `${name}.txt`), "utf8"), `${name}\n`);
      return messageId;
    };
    await write("ash");
    const birch = await write("birch");
    await write("cedar");
    await caller.restart_agent_kind({ instanceId: host.instanceId, kind: "codex" });
    assert.deepEqual(await caller.revert_session({ sessionId, messageId: birch }), {
      sessionId,
      messageId: birch,
    });
    await untilLogged(caller, sessionId, "session_reverted");
    const there = ["ash", "birch", "cedar"].filter((name) =>
      existsSync(join(place, `${name}.txt`)),
    );
    assert.deepEqual(there, ["ash"]);
    const { files } = await caller.get_session_diff({ sessionId });
    assert.deepEqual(changedLines(files), [{ path: "ash.txt", added: 1, removed: 0 }]);
    const events = await runTurn(caller, sessionId, scripted("on", { text: "Going on." }));
    assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["Going on."]]);
    const asked = JSON.stringify(world.model!.requests.at(-1)!.body);
    assert.match(asked, /Wrote ash\./);
    assert.doesNotMatch(asked, /Wrote birch\.|Wrote cedar\./);
    await caller.end_session({ sessionId });
  },
);

scenario(
  "A shell command in a session of codex runs without the model, which receives it with the next prompt",
  ["run_shell.runs"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const session = await startSession(caller, host, { agentKind: "codex" });
    const { sessionId } = session;
    assert.ok(session.capabilities.includes("shell"));
    const asked = world.model!.requests.length;
    await caller.run_shell({ sessionId, command: "pwd; expr 6 '*' 7; exit 3" });
    await untilLogged(caller, sessionId, "shell");
    const [entry] = updatesOf(await logOf(caller, sessionId), "shell");
    const place = worktreeOf(host, session.worktreeBranch!);
    assert.deepEqual([entry!.output, entry!.exitCode], [`${place}\n42\n`, 3]);
    assert.equal(world.model!.requests.length, asked);
    await runTurn(caller, sessionId, scripted("go on", { text: "I see." }));
    const told = JSON.stringify(world.model!.requests.at(-1)!.body);
    assert.match(told, /exit code 3\. It wrote:.*42/);
    assert.doesNotMatch(told, /expr 6/);
    await caller.end_session({ sessionId });
  },
);

scenario(
  "A session of codex runs its skills by their names and condenses its history by compact",
  ["run_command.runs", "run_command.unknown"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    writeSkill(join(host.environment["HOME"]!, ".codex"), "greet", "Greet them: who is named.");
    const session = await startSession(caller, host, { agentKind: "codex" });
    const { sessionId } = session;
    assert.ok(session.capabilities.includes("commands"));
    const words = scripted("Ada", { text: "Hello, Ada." });
    const taken = await caller.run_command({ sessionId, command: "greet", arguments: words });
    const events = await untilEnd(caller, sessionId, taken.turnId);
    assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["Hello, Ada."]]);
    assert.match(JSON.stringify(world.model!.requests.at(-1)!.body), /\$greet Ada.*Greet them: /);
    assert.doesNotMatch(JSON.stringify(world.model!.requests.at(-1)!.body), /\/greet Ada/);

    const short = await caller.run_command({ sessionId, command: "compact" });
    const condensed = await untilEnd(caller, sessionId, short.turnId);
    assert.equal(outcomeOf(condensed), "completed");
    assert.equal(updatesOf(condensed, "session_compacted").length, 1);
    await runTurn(caller, sessionId, scripted("on", { text: "Going on." }));
    const asked = JSON.stringify(world.model!.requests.at(-1)!.body);
    assert.match(asked, /The conversation so far was about/);
    assert.doesNotMatch(asked, /"type":"output_text"/);

    // Codex has it, but would run commands in it that nobody was asked about.
    for (const command of ["review", "nope"]) {
      assertInvalid(await caller.try("run_command", { sessionId, command }), "command");
    }
    await caller.end_session({ sessionId });
  },
);

scenario(
  "A session of claude_code receives shell commands and files and is reverted, even after a restart",
  ["run_shell.runs", "send_prompt.attachments.delivered", "revert_session.undoes"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const asked = () => JSON.stringify(world.model!.requests.at(-1)!.body["messages"]);
    const { sessionId } = await startSession(caller, host, { agentKind: "claude_code" });
    const before = world.model!.requests.length;
    await caller.run_shell({ sessionId, command: "pwd; exit 5" });
    await untilLogged(caller, sessionId, "shell");
    const [shell] = updatesOf(await logOf(caller, sessionId), "shell");
    assert.equal(shell?.exitCode, 5);
    assert.equal(world.model!.requests.length, before);
    const place = shell.output.trim();
    const write = (name: string, content: string) => ({
      calls: [{ tool: "Write", input: { file_path: join(place, name), content } }],
    });

    const notes = Buffer.from("the milk").toString("base64");
    const first = scripted("one", write("first.txt", "first\n"), { text: "First done." });
    const events = await runTurn(caller, sessionId, first, {
      attachments: [
        { mime: "image/png", url: `data:image/png;base64,${png}` },
        { mime: "text/plain", url: `data:text/plain;base64,${notes}` },
      ],
    });
    assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["First done."]]);
    assert.match(asked(), /exit code 5.*image\/png.*the milk.*one `@@/);
    assert.ok(asked().includes(png));

    const text = scripted("two", write("second.txt", "second\n"), { text: "Second done." });
    const { turnId, messageId } = await caller.send_prompt({ sessionId, text });
    await untilEnd(caller, sessionId, turnId);
    await caller.restart_agent_kind({ instanceId: host.instanceId, kind: "claude_code" });
    assert.deepEqual(await caller.revert_session({ sessionId, messageId }), {
      sessionId,
      messageId,
    });
    assert.ok(!existsSync(join(place, "second.txt")));
    assert.equal(readFileSync(join(place, "first.txt"), "utf8"), "first\n");
    await runTurn(caller, sessionId, scripted("three", { text: "Third done." }));
    assert.match(asked(), /First done\./);
    assert.doesNotMatch(asked(), /Second done\./);
    await caller.end_session({ sessionId });
  },
);

scenario(
  "A session of claude_code runs its own slash commands; it condenses its history by one of them",
  ["run_command.runs", "run_command.unknown", "summarize_session.opencode_only"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { sessionId } = await startSession(caller, host, { agentKind: "claude_code" });
    await runTurn(caller, sessionId, scripted("the old subject", { text: "An old answer." }));
    // The session's process has begun without it.
    writeClaudeCommand(host.environment["HOME"]!, "greet", "Greet them: $ARGUMENTS");
    const run = async (command: string, words?: string) => {
      const given = words === undefined ? {} : { arguments: words };
      const { turnId } = await caller.run_command({ sessionId, command, ...given });
      return untilEnd(caller, sessionId, turnId);
    };
    const greeted = await run("greet", scripted("Ada", { text: "Hello, Ada." }));
    assert.deepEqual([outcomeOf(greeted), saidIn(greeted)], ["completed", ["Hello, Ada."]]);
    const asked = () => JSON.stringify(world.model!.requests.at(-1)!.body["messages"]);
    assert.match(asked(), /Greet them: Ada/);
    assert.doesNotMatch(asked(), /\/greet Ada/);
    for (const command of ["nope", "/compact", "clear"]) {
      assertInvalid(await caller.try("run_command", { sessionId, command }), "command");
    }
    assertRefused(await caller.try("summarize_session", { sessionId }), 409, "capability_missing");
    const condensed = await run("compact");
    assert.equal(outcomeOf(condensed), "completed");
    assert.equal(updatesOf(condensed, "session_compacted").length, 1);
    await runTurn(caller, sessionId, scripted("the new subject", { text: "A new answer." }));
    assert.doesNotMatch(asked(), /An old answer\./);
    await caller.end_session({ sessionId });
  },
);
