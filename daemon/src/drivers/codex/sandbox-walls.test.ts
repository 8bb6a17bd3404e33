// What a command in the sandbox of the real codex cannot read or change (decision 0048), whatever the user's
// own configuration of codex says.
import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import { placeIn } from "@hawser/testkit/conformance/bench.ts";
import { git } from "@hawser/testkit/git-repository.ts";
import { never, Recording } from "@hawser/testkit/conformance/recording.ts";
import { decide, type Rules } from "../../policy/decide.ts";

let bench: CodexBench;
before(async () => {
  bench = await openCodexBench();
  const wider = [
    'default_permissions = ":danger-full-access"',
    'sandbox_mode = "danger-full-access"',
    'approval_policy = "never"',
  ];
  const path = join(bench.home, "config.toml");
  writeFileSync(path, `${wider.join("\n")}\n${readFileSync(path, "utf8")}`);
  appendFileSync(
    path,
    [
      "[sandbox_workspace_write]",
      'writable_roots = ["/"]',
      "network_access = true",
      '[permissions.hawser.filesystem]\n"/" = "write"',
      "# secret of codex\n",
    ].join("\n"),
  );
  const secrets = {
    ".ssh/id_ed25519": "secret key",
    "state/credentials.json": "secret of the daemon",
    "other-project/notes.txt": "secret of another project",
    ".config/git/credentials": "secret of git",
  };
  for (const [name, text] of Object.entries(secrets)) write(join(bench.folder, name), text);
  write(join(bench.folder, ".config/git/config"), "[alias]\n\tfine = status\n");
  write(join(bench.folder, ".cargo/bin/tool"), "#!/bin/sh\necho the tool ran\n", 0o755);
});
after(() => bench[Symbol.asyncDispose]());

function write(path: string, text: string, mode = 0o600): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
}

/** A session in which no person is asked: commands run in the sandbox, and never outside it. */
async function start(directory: string) {
  const rules: Rules = {
    allowedCommands: [],
    outsideWorktree: "refuse",
    mode: "unattended",
    directory,
    hasSandbox: true,
    unattendedCommands: false,
    temporaryDirectory: "/none",
    // The sandbox is to stop the commands, not the reader of their text.
    ownDirectories: [],
    secrets: [],
  };
  const agents = { answer: "allow" as const, rule: "sub-agents are tried too" };
  const place = placeIn(directory, {
    decide: (call) => (call.type === "agent" ? agents : decide(rules, call)),
  });
  const recording = new Recording(bench, place);
  recording.session = await bench.driver().start(place, recording.sink, never);
  return recording;
}

/** What a request to the model contains of the last call's result. */
function lastOutput({ body } = bench.model.requests.at(-1)!): string {
  const { input } = body as { input: { output?: unknown }[] };
  return JSON.stringify(input.findLast(({ output }) => output !== undefined)?.output ?? "");
}

/** Runs a command in a turn of its own and returns what the model reads of it. */
async function outputOf(recording: Recording, cmd: string): Promise<string> {
  await recording.play([{ calls: [bench.command(cmd)] }, { text: "Done." }]);
  return lastOutput();
}

const steal = `cat ~/.ssh/id_ed25519; cat ~/.config/git/credentials; cd ..
  cat state/credentials.json */notes.txt codex/config.toml; ls -a ~ /tmp; echo "tried"`;

test("F6: a command reads neither keys, nor the daemon's files, nor other projects", async () => {
  const recording = await start(bench.makeDirectory());
  await outputOf(recording, steal);
  await recording.play([
    { calls: [bench.subAgent([{ calls: [bench.command(steal)] }, { text: "Helped." }])] },
    { text: "Done." },
  ]);
  const messageId = "before-the-revert";
  await recording.play([{ text: "One." }], { messageId });
  assert.equal(await recording.session.revert!(messageId, never), "reverted");
  await outputOf(recording, steal);
  await bench.reopen();
  await recording.resume();
  await outputOf(recording, steal);
  const outputs = bench.model.requests.map((request) => lastOutput(request));
  const tried = new Set(outputs.filter((output) => output.includes("tried")));
  assert.equal(tried.size, 4, outputs.join("\n"));
  for (const output of outputs) assert.doesNotMatch(output, /secret|other-project/);
});

test("F6: a command changes no configuration of an agent or of git, and leaves no trace of the walls", async () => {
  for (const inWorktree of [false, true]) {
    const repository = bench.makeDirectory();
    write(join(repository, ".mcp.json"), "{}");
    git(repository, "add", ".");
    git(repository, "commit", "--quiet", "--message=second");
    const directory = inWorktree ? join(bench.folder, "trees", "walled") : repository;
    if (inWorktree) git(repository, "worktree", "add", "--quiet", directory);
    const recording = await start(directory);
    const names = [".claude/settings.json", ".opencode/plugin/x.js", ".codex/config.toml"];
    const files = [...names, ".agents/skills/x/SKILL.md", ".mcp.json"];
    const gitFiles = inWorktree
      ? ["hooks/pre-commit", "config", "worktrees/walled/commondir"]
      : ["hooks/pre-commit", "config"];
    const targets = [...files, ...gitFiles.map((name) => join(repository, ".git", name))];
    const before = readFileSync(join(repository, ".git/config"), "utf8");
    const tries = targets.map((name) => `mkdir -p $(dirname ${name}); echo bad >> ${name};`);
    const cmd = `${tries.join(" ")} mv .claude .gone; rmdir .claude; echo made > made.txt
      git add -A && git commit -qm third; echo "ended with $?"; git status --short`;
    const output = await outputOf(recording, cmd);
    assert.match(output, /ended with 0/);
    for (const name of files.slice(0, 4)) assert.ok(!existsSync(join(directory, name)), name);
    assert.equal(readFileSync(join(directory, ".mcp.json"), "utf8"), "{}");
    assert.equal(readFileSync(join(repository, ".git/config"), "utf8"), before);
    assert.ok(!existsSync(join(repository, ".git/hooks/pre-commit")));
    const shown = await outputOf(recording, "git show --name-only --format=%s HEAD; git fine");
    assert.match(shown, /third\\n\\nmade\.txt\\n.*nothing to commit/);
    await recording.session.end(never);
    assert.deepEqual(
      readdirSync(directory)
        .filter((name) => name !== ".git")
        .sort(),
      [".mcp.json", "README.md", "made.txt"],
    );
  }
});

test("a command finds the user's programs, its own files, the prompt's files and skills; the model reads about the sandbox", async () => {
  const directory = bench.makeDirectory();
  symlinkSync("README.md", join(directory, ".opencode"));
  const recording = await start(directory);
  const attached = join(bench.folder, "state/attachments/1/0");
  write(attached, "\0attached");
  const own = join(bench.folder, "tmp", recording.place.sessionId, "attachments/0");
  const cmd = `~/.cargo/bin/tool; git log --format=%s; cat ${own}; echo no >> ${own}
    cat ${bench.home}/skills/greet/SKILL.md; mktemp > /dev/null && echo temporary`;
  const attachments = [{ mime: "application/gzip", filename: "all.tgz", path: attached }];
  await recording.play([{ calls: [bench.command(cmd)] }, { text: "Done." }], { attachments });
  const output = lastOutput();
  assert.match(output, /the tool ran.*first.*attached.*Greet them.*temporary/);
  assert.ok(bench.received!().includes(own));
  assert.equal(readFileSync(own, "utf8"), "\0attached");
  await recording.play([{ text: "Next." }]);
  assert.ok(!existsSync(own));
  // Codex's own text would say that every file can be read.
  const read = JSON.stringify(bench.model.requests.at(-1)!.body["input"]);
  assert.equal(read.split("Commands run in a sandbox").length, 2);
  assert.doesNotMatch(read, /permissions instructions|Escalation Requests/);
});
