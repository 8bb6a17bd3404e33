// Every call of the real opencode is decided about before it has an effect, in each mode, also if the host's
// user lets opencode do everything.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import type { AgentPolicy, SessionMode } from "@hawser/contract";
import {
  never,
  startSession,
  type Recording,
  type Told,
} from "@hawser/testkit/conformance/recording.ts";
import { writeMcpServer } from "@hawser/testkit/mcp-server.ts";
import { openOpencodeBench, type OpencodeBench } from "@hawser/testkit/opencode-bench.ts";
import { writeSlashCommand } from "@hawser/testkit/opencode-home.ts";
import { until } from "@hawser/testkit/until.ts";
import { decide, type Rules } from "../../policy/decide.ts";
import type { Call, Decision } from "../../policy/call.ts";
import { NotOffered } from "../driver.ts";
import { createApi } from "./api.ts";

let bench: OpencodeBench;
const shell = process.env["SHELL"];
before(async () => {
  process.env["SHELL"] = "/bin/dash";
  bench = await openOpencodeBench();
  writeMcpServer(mark("mcp.mjs"), mark("mcp-called"));
  const file = join(bench.home, ".config/opencode/opencode.json");
  const settings = JSON.parse(readFileSync(file, "utf8")) as object;
  const generous = {
    permission: { "*": "allow", bash: { "*": "allow" }, edit: "allow", "notes_*": "allow" },
    formatter: true,
    lsp: true,
    mcp: { notes: { type: "local", command: [process.execPath, mark("mcp.mjs")] } },
    agent: {
      careless: { mode: "subagent", description: "x", permission: { edit: "allow" } },
    },
  };
  writeFileSync(file, JSON.stringify({ ...settings, ...generous }));
  writeSlashCommand(bench.home, "sly", `Say !\`touch ${mark("sly")}\` $ARGUMENTS`);
  const told = '@@[{"text":"Looked."}]';
  writeSlashCommand(bench.home, "look", `Look: @$ARGUMENTS ${told}`);
  writeSlashCommand(bench.home, "first", `Look: $1 ${told}`);
  writeSlashCommand(bench.home, "below", `Look: @${bench.folder}/$1 ${told}`);
  writeSlashCommand(bench.home, "own", `Look: @${mark("own.txt")} $1 ${told}`);
});
after(async () => {
  if (shell === undefined) delete process.env["SHELL"];
  else process.env["SHELL"] = shell;
  await bench[Symbol.asyncDispose]();
});

/** A file outside every repository. */
const mark = (name: string) => join(bench.folder, name);
const bash = (command: string, more = {}) => ({
  tool: "bash",
  input: { command, description: "x", ...more },
});
const write = (filePath: string) => ({ tool: "write", input: { filePath, content: "x" } });
const task = (prompt: string, name = "general") => ({
  tool: "task",
  input: { description: "Help", subagent_type: name, prompt: `${prompt} @@[{"text":"Helped."}]` },
});

const server = () =>
  JSON.parse(readFileSync(bench.stateFile, "utf8")) as { port: number; password: string };
const serverApi = () => createApi(server().port, server().password);

interface Decided {
  call: Call;
  decision: Decision;
}

/** Starts a session whose mode can be changed, and notes every decision. */
async function open(policy: AgentPolicy, directory = bench.directory) {
  const rules: Rules = {
    ...policy,
    mode: "ask",
    directory,
    hasSandbox: false,
    unattendedCommands: false,
    ownDirectories: [],
    temporaryDirectory: "/none",
    secrets: [],
  };
  const decided: Decided[] = [];
  const recording = await startSession(bench, {
    directory,
    policy,
    decide(call) {
      const decision = decide(rules, call);
      decided.push({ call, decision });
      return decision;
    },
  });
  const setMode = (mode: SessionMode) => {
    rules.mode = mode;
  };
  return { recording, decided, directory, setMode };
}

const ask: AgentPolicy = { allowedCommands: ["echo *"], outsideWorktree: "ask" };
const outputs = (recording: Recording) =>
  recording
    .updates()
    .flatMap((update) => (update.sessionUpdate === "tool_call_update" ? [update] : []));

function permissionIn({ asked }: Told<"request">) {
  assert.ok("permission" in asked);
  return asked.permission;
}

test("each mode answers each kind of call, and all calls of a turn go on", async () => {
  const { recording, decided, directory, setMode } = await open(ask);
  writeFileSync(join(directory, "a.txt"), "a");
  writeFileSync(mark("far.txt"), "far");
  const hook = join(directory, ".git/hooks/made");
  const ofMode = (mode: SessionMode) => [
    { tool: "read", input: { filePath: "a.txt" } },
    { tool: "todowrite", input: { todos: [] } },
    write(`${mode}.txt`),
    bash(`echo ${mode}`),
    { tool: "read", input: { filePath: mark("far.txt") } },
    write(`${hook}-${mode}`),
    write(mark(`${mode}.txt`)),
    bash(`touch ${mark(`${mode}-touched`)}`),
    { tool: "webfetch", input: { url: "http://127.0.0.1:9/x", format: "text" } },
    { tool: "notes_plain", input: {} },
    task("Help."),
    bench.question("Really?", ["Yes"]),
  ];
  const free = ["read", "note", "edit", "execute"];
  const others = ["read", "edit", "edit", "execute", "fetch", "mcp", "agent", "question"];
  for (const mode of ["ask", "auto", "unattended"] as const) {
    setMode(mode);
    decided.length = 0;
    const steps = [{ calls: ofMode(mode) }, { text: "Done." }];
    const requests = await recording.playAnswering(steps, () => "once");
    const typesOf = (answer: string) =>
      decided.filter(({ decision }) => decision.answer === answer).map(({ call }) => call.type);
    assert.deepEqual(typesOf("allow").sort(), free.toSorted(), mode);
    const isAsked = mode !== "unattended";
    assert.deepEqual(typesOf(isAsked ? "ask" : "deny").sort(), others.toSorted(), mode);
    assert.equal(decided.length, free.length + others.length, "one decision for each call");
    assert.equal(requests.length, isAsked ? others.length : 0);
    assert.ok(requests.every(({ rule }) => rule));
    assert.ok(existsSync(join(directory, `${mode}.txt`)));
    for (const path of [`${hook}-${mode}`, mark(`${mode}.txt`), mark(`${mode}-touched`)])
      assert.equal(existsSync(path), isAsked, path);
  }
  assert.equal(readFileSync(mark("mcp-called"), "utf8"), "called\ncalled\n");
  assert.match(JSON.stringify(outputs(recording)), /Refused without asking anybody: .* Go on/);
  assert.equal(recording.messages().filter((text) => text === "Done.").length, 3);
});

test("a mode changed in mid-turn holds for the next call", async () => {
  const { recording, setMode, directory } = await open(ask);
  const calls = ["touch one", "touch two", "touch three"].map((each) => ({ calls: [bash(each)] }));
  const requests = await recording.playAnswering([...calls, { text: "Done." }], ({ asked }) => {
    assert.ok("permission" in asked);
    if (asked.permission.detail === "touch two") setMode("unattended");
    return "once";
  });
  assert.equal(requests.length, 2);
  const made = ["one", "two", "three"].map((name) => existsSync(join(directory, name)));
  assert.deepEqual(made, [true, true, false]);
  assert.deepEqual(recording.messages(), ["Done."]);
});

test("A1: no command runs unasked, whatever opencode finds in its text", async () => {
  const texts = [
    (run: string) => run,
    (run: string) => `x='a[$(${run})]'; ((x))`,
    (run: string) => `x='a[$(${run})]'; [[ x -eq 0 ]]`,
    (run: string) => `declare -i y='a[$(${run})]'`,
    (run: string) => `x='$(${run})'; y="\${x@P}"`,
    (run: string) => `a=(); read 'a[$(${run})]' <<< x`,
    (run: string) => `: "\${x:=$(${run})}"`,
    (run: string) => `cat <(${run})`,
    (run: string) => `trap '${run}' EXIT`,
    (run: string) => run.replace("touch ", "> "),
  ];
  const { recording } = await open({ ...ask, allowedCommands: [] });
  const calls = texts.map((textOf, at) => ({
    calls: [bash(textOf(`touch ${mark(`canary-${at}`)}`))],
  }));
  await recording.playAnswering([...calls, { text: "Done." }], () => "reject");
  const ran = texts.filter((_, at) => existsSync(mark(`canary-${at}`)));
  assert.deepEqual(ran.map(String), []);
});

test("A1: slash commands and opencode's own shell run nothing", async () => {
  const { recording } = await open(ask);
  const greet = { task: { type: "command" as const, name: "sly" } };
  await recording.play([{ text: "Hello." }], greet);
  assert.match(bench.received!(), /Not run: nobody was asked about this command/);
  const body = { agent: "build", command: `touch ${mark("shell")}` };
  await serverApi().request("POST", `/session/${recording.session.handle}/shell`, { body });
  assert.deepEqual([existsSync(mark("sly")), existsSync(mark("shell"))], [false, false]);
  await assert.rejects(recording.prompt([], { ...greet, text: "see @/etc/hostname" }), NotOffered);
  await assert.rejects(recording.prompt([], { ...greet, text: "ask @general" }), NotOffered);
});

test("F4: a slash command reads no file unasked, wherever its template or its arguments have the @", async () => {
  const { recording, directory } = await open(ask, bench.makeDirectory());
  const from = bench.model.requests.length;
  const far = mark("mentioned.txt");
  writeFileSync(far, "far mention");
  writeFileSync(mark("own.txt"), "the user's own file");
  writeFileSync(join(directory, "near.txt"), "near mention");
  const skill = join(directory, ".claude/skills/helpful");
  mkdirSync(skill, { recursive: true });
  const head = "---\nname: helpful\ndescription: Helps\n---\n";
  writeFileSync(join(skill, "SKILL.md"), `${head}Look: @${far} @@[{"text":"Helped."}]\n`);
  const slash = (name: string, text: string) => ({
    task: { type: "command" as const, name },
    text,
  });
  const refused: [name: string, text: string][] = [
    ["look", far],
    ["look", "general"],
    ["first", `"@${far}"`],
    ["first", `'@${far}'`],
    ["first", `"see @${far}"`],
    ["first", `a '@${far}'`],
    ["first", `!\`true\`@${far}`],
    ["below", "mentioned.txt"],
    ["own", `"@${far}"`],
    ["helpful", ""],
  ];
  for (const [name, text] of refused)
    await assert.rejects(recording.prompt([], slash(name, text)), NotOffered, `/${name} ${text}`);
  for (const [name, text] of [
    ["look", "near.txt"],
    ["first", far],
    ["own", "general"],
  ] as const)
    await recording.play([], slash(name, text));
  const sent = JSON.stringify(bench.model.requests.slice(from).map(({ body }) => body));
  assert.match(sent, /near mention/);
  assert.match(sent, /the user's own file/);
  assert.doesNotMatch(sent, /far mention/);
});

test("A8: an allowed command does not cover the text around it", async () => {
  const { recording } = await open({ ...ask, allowedCommands: ["git status"] });
  const program = `touch ${mark("fsmonitor")}; false`;
  const settings = `GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='${program}'`;
  const requests = await recording.playAnswering(
    [
      { calls: [bash(`export ${settings}; git status`)] },
      { calls: [bash("git status")] },
      { text: "Done." },
    ],
    () => "reject",
  );
  assert.equal(requests.length, 1);
  assert.equal(existsSync(mark("fsmonitor")), false);
});

test("A2: in a subdirectory of a repository the rest of the repository is outside", async () => {
  const repository = bench.directory;
  const directory = join(repository, "sub");
  mkdirSync(directory);
  const files = [join(repository, ".git/hooks/x"), join(repository, "above.txt")];
  const steps = [
    ...[...files, "../beside.txt"].map((path) => ({ calls: [write(path)] })),
    { calls: [bash("echo up", { workdir: ".." })] },
    { calls: [{ tool: "grep", input: { pattern: "x", path: ".." } }] },
    { text: "Done." },
  ];
  const { recording, decided } = await open({ ...ask, outsideWorktree: "refuse" }, directory);
  assert.deepEqual(await recording.playAnswering(steps, () => "once"), []);
  assert.ok(decided.every(({ decision }) => decision.answer === "deny"));
  assert.equal(decided.length, steps.length - 1);
  assert.ok(![...files, join(repository, "beside.txt")].some((path) => existsSync(path)));
});

test("A15: a link to a file outside is not read unasked, nor a file that a sub-agent's prompt mentions", async () => {
  const { recording, directory } = await open(ask);
  writeFileSync(mark("far.txt"), "far away");
  symlinkSync(mark("far.txt"), join(directory, "near.txt"));
  const steps = [
    { calls: [{ tool: "read", input: { filePath: "near.txt" } }] },
    { calls: [task(`Look at @${mark("far.txt")} please.`)] },
    { calls: [task("Look at @near.txt please.")] },
    { calls: [task("Write.", "careless")] },
    { text: "Done." },
  ];
  const requests = await recording.playAnswering(steps, () => "reject");
  const far = mark("far.txt");
  const shown = requests.map((request) => permissionIn(request).detail?.split("\n")[0]);
  assert.deepEqual(shown, [far, `general, which reads ${far}`, `general, which reads ${far}`]);
  const text = JSON.stringify([outputs(recording), bench.model.requests.slice(-4)]);
  assert.ok(!text.includes("far away"));
  assert.match(text, /settings of the agent give the sub-agent careless permissions/);
});

test("F1: a link among the instructions that opencode adds to a read is not followed unasked", async () => {
  const directory = bench.makeDirectory();
  const { recording, decided, setMode } = await open(ask, directory);
  const from = bench.model.requests.length;
  const far = (name: string) => mark(`instructions-${name}`);
  const places = [
    ["AGENTS.md", "n1", "n1/a.txt"],
    ["CLAUDE.md", "n2", "n2/a.txt"],
    ["CONTEXT.md", "n3", "n3/a.txt"],
    ["AGENTS.md", "n4", "n4/x/y/a.txt"],
  ] as const;
  for (const [name, folder, file] of places) {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), "near");
    writeFileSync(far(folder), "far instructions");
    symlinkSync(far(folder), join(directory, folder, name));
  }
  mkdirSync(join(directory, "plain"));
  writeFileSync(join(directory, "plain/a.txt"), "near");
  writeFileSync(join(directory, "plain/AGENTS.md"), "near instructions");
  const read = (filePath: string) => ({ calls: [{ tool: "read", input: { filePath } }] });
  const reads = places.map(([, , file]) => read(file));
  const shownBy = async (steps: Parameters<Recording["playAnswering"]>[0]) => {
    const requests = await recording.playAnswering([...steps, { text: "Done." }], () => "reject");
    return requests.map((request) => permissionIn(request).detail?.split("\n")[0]);
  };
  assert.deepEqual(await shownBy([...reads, { calls: [task("Look at @n1/a.txt please.")] }]), [
    ...places.map(
      ([, folder, file]) => `${join(directory, file)}, with the instructions in ${far(folder)}`,
    ),
    `general, which reads ${join(directory, "n1/a.txt")}, ${far("n1")}`,
  ]);
  const slash = { task: { type: "command" as const, name: "greet" }, text: "see @n1/a.txt" };
  await assert.rejects(recording.prompt([], slash), NotOffered);

  setMode("unattended");
  decided.length = 0;
  assert.deepEqual(await shownBy([...reads, read("plain/a.txt")]), []);
  assert.deepEqual(
    decided.map(({ decision }) => decision.answer),
    ["deny", "deny", "deny", "deny", "allow"],
  );
  const sent = JSON.stringify(bench.model.requests.slice(from).map(({ body }) => body));
  assert.match(sent, /near instructions/, "opencode no longer adds instructions");
  assert.doesNotMatch(sent, /far instructions/);
});

test("F7: a request shows the content of a change, a sub-agent's prompt and the arguments of an MCP tool, and no rule", async () => {
  const { recording, directory } = await open(ask, bench.makeDirectory());
  const hook = join(directory, ".git/hooks/post-checkout");
  const config = join(directory, ".mcp.json");
  writeFileSync(config, "one\ntwo\n");
  const long = `begin ${"x".repeat(20_000)} end`;
  const edit = { filePath: config, oldString: "two", newString: "three" };
  const calls = [
    { tool: "write", input: { filePath: hook, content: "#!/bin/sh\ntouch one\n" } },
    { tool: "write", input: { filePath: mark("long.txt"), content: long } },
    { tool: "edit", input: edit },
    task("Delete everything."),
    { tool: "notes_plain", input: { target: "prod" } },
  ];
  const steps = [...calls.map((call) => ({ calls: [call] })), { text: "Done." }];
  const requests = (await recording.playAnswering(steps, () => "reject")).map(permissionIn);
  assert.deepEqual(
    requests.map(({ alwaysRules }) => alwaysRules),
    calls.map(() => []),
  );
  const [written, cut, edited, started, used] = requests.map(({ detail }) => detail ?? "");
  assert.ok(written!.startsWith(`${hook}\n\n`));
  assert.match(written!, /^\+touch one$/m);
  assert.match(cut!, /begin x+\n… 11818 of 20010 characters are left out here …\nx+ end$/);
  assert.match(edited!, /^-two\n\+three$/m);
  assert.match(started!, /^general\n\nDelete everything\./);
  assert.equal(used, '{"target":"prod"}');
});

test("a request shows the value that the tool uses, not another field of its input", async () => {
  const { recording } = await open(ask);
  writeFileSync(mark("far.txt"), "far");
  const calls = [
    { tool: "webfetch", input: { command: "x", url: "http://127.0.0.1:9/x", format: "text" } },
    { tool: "read", input: { command: "README.md", filePath: mark("far.txt") } },
    { tool: "grep", input: { command: "x", pattern: "secret", path: bench.folder } },
  ];
  const steps = [...calls.map((call) => ({ calls: [call] })), { text: "Done." }];
  const requests = await recording.playAnswering(steps, () => "reject");
  assert.deepEqual(
    requests.map((request) => permissionIn(request).alwaysRules),
    [
      ["webfetch: http://127.0.0.1:9/x"],
      [`read: ${mark("far.txt")}`],
      [`grep: in "${bench.folder}": secret`],
    ],
  );
});

test("A16: commands run in bash without the server's password, whatever shell the host's user has", async () => {
  const { recording, directory } = await open(ask);
  // A formatter would be a program of the repository.
  const prettier = join(directory, "node_modules/.bin/prettier");
  mkdirSync(dirname(prettier), { recursive: true });
  writeFileSync(prettier, `#!/bin/sh\ntouch ${mark("formatted")}\n`, { mode: 0o755 });
  writeFileSync(join(directory, "package.json"), '{"devDependencies":{"prettier":"3"}}');
  const steps = [
    { calls: [bash("env; echo $BASH_VERSION")] },
    { calls: [write("a.ts")] },
    { text: "Done." },
  ];
  await recording.playAnswering(steps, () => "once");
  const text = JSON.stringify(outputs(recording)[0]?.content);
  assert.match(text, /SHELL=\/bin\/bash.*\\n5\./);
  assert.ok(!text.includes(server().password) && !text.includes("OPENCODE_CONFIG_CONTENT"));
  assert.equal(existsSync(mark("formatted")), false);
});

test("after a restart of the daemon a held command can be allowed, and runs", async () => {
  const { recording, directory } = await open(ask);
  await recording.prompt([
    { calls: [bash("touch held", { workdir: directory })] },
    { text: "Ok." },
  ]);
  const { key } = await recording.untilType("request");
  await bench.reopen();
  await recording.resume();
  assert.equal(await recording.session.answer(key, { permission: "once" }, never), "accepted");
  assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
  assert.ok(existsSync(join(directory, "held")));
});

test("a turn that asked while no daemon ran, in a way that opencode cannot repeat, fails and says so", async () => {
  const { recording, directory } = await open(ask);
  const glob = { tool: "glob", input: { pattern: "*.txt" } };
  await recording.prompt([{ delayMs: 1_000, calls: [glob] }, { text: "Never." }]);
  const api = serverApi();
  await bench.driver().close();
  const canList = () => api.request("GET", "/permission", { directory });
  await until(
    "opencode's list fails",
    () =>
      canList().then(
        () => false,
        () => true,
      ),
    30_000,
  );
  await bench.reopen();
  await recording.resume();
  const { outcome, reason } = await recording.untilType("turn_ended");
  assert.equal(outcome, "failed");
  assert.match(reason ?? "", /while the daemon was not running.*Prompt again/);
});
