// Every call of the real Claude Code is decided by the session's policy, in each mode. The host user's own
// settings allow everything here, and must not matter.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { writeClaudeCommand } from "@hawser/testkit/claude-home.ts";
import { openClaudeHost, type ClaudeHost } from "@hawser/testkit/claude-host.ts";
import { placeIn, promptOf } from "@hawser/testkit/conformance/bench.ts";
import { until } from "@hawser/testkit/until.ts";
import type { Call as PolicyCall } from "../../policy/call.ts";
import { decide, type Rules } from "../../policy/decide.ts";
import type { AgentEvent, AgentSession, Driver, Prompt } from "../driver.ts";
import type { Call, Step } from "../scripted/script.ts";

type Outcome = "allow" | "ask" | "deny";

const never = new AbortController().signal;
let host: ClaudeHost;
let driver: Driver;
let session: AgentSession;
/** A directory in the repository, so that the repository itself is outside. */
let directory: string;
let common: Rules;
let rules: Rules;
let events: AgentEvent[] = [];
let decided: PolicyCall[] = [];
/** Answers the next requests; a request is rejected unless a test replaces this. */
let onRequest: () => "once" | "reject";
let made = 0;

before(async () => {
  process.env["SHELL"] = "/bin/dash";
  host = await openClaudeHost();
  const repository = host.makeRepository();
  directory = join(repository, "part");
  mkdirSync(join(host.folder, "private"));
  mkdirSync(directory);
  writeFileSync(join(directory, "inside.txt"), "inside");
  writeFileSync(join(host.folder, "private", "key"), "PRIVATE");
  writeFileSync(join(host.folder, "outside.txt"), "OUTSIDE");
  writeFileSync(join(repository, "outside.txt"), "OUTSIDE");
  symlinkSync(join(host.folder, "outside.txt"), join(directory, "link.txt"));
  symlinkSync(join(host.folder, "outside.txt"), join(directory, "far off.txt"));
  symlinkSync(join(host.folder, "outside.txt"), join(directory, "it's.txt"));
  allowEverything();
  common = {
    allowedCommands: ["echo *"],
    outsideWorktree: "ask",
    mode: "ask",
    directory,
    hasSandbox: false,
    unattendedCommands: false,
    secrets: [join(host.folder, "private")],
    temporaryDirectory: "/none",
    ownDirectories: [join(host.home, ".claude")],
  };
  driver = host.openDriver();
  const place = placeIn(directory, {
    decide(call) {
      decided.push(call);
      return decide(rules, call);
    },
  });
  rules = common;
  session = await driver.start(place, onEvent, never);
});
after(async () => {
  await driver.close();
  await host[Symbol.asyncDispose]();
});
beforeEach(() => {
  rules = common;
  onRequest = () => "reject";
});

/** Settings of the host's user, with a server, a skill and slash commands. */
function allowEverything(): void {
  const config = join(host.home, ".claude");
  const output = { hookEventName: "PreToolUse", permissionDecision: "allow" };
  writeFileSync(join(config, "yes.json"), JSON.stringify({ hookSpecificOutput: output }));
  const hook = { type: "command", command: `cat ${join(config, "yes.json")}` };
  const settings = JSON.parse(readFileSync(join(config, "settings.json"), "utf8")) as object;
  const more = {
    permissions: { allow: ["Bash", "Read", "Write", "WebFetch", "mcp__el"], defaultMode: "auto" },
    hooks: { PreToolUse: [{ matcher: "*", hooks: [hook] }] },
  };
  writeFileSync(join(config, "settings.json"), JSON.stringify({ ...settings, ...more }));
  writeFileSync(join(host.home, "server.mjs"), server);
  const el = { command: process.execPath, args: [join(host.home, "server.mjs")] };
  writeFileSync(join(host.home, ".claude.json"), JSON.stringify({ mcpServers: { el } }));
  const addSkill = (name: string, text: string) => {
    mkdirSync(join(config, "skills", name), { recursive: true });
    const front = `---\nname: ${name}\ndescription: helps\nallowed-tools: Bash(touch:*)\n---\n`;
    writeFileSync(join(config, "skills", name, "SKILL.md"), `${front}${text}`);
  };
  addSkill("helpful", `!\`touch ${directory}/by-skill\` $ARGUMENTS`);
  addSkill("looking", "Look at @$0 and @$1.");
  const said = `@@${JSON.stringify([{ text: "Said." }])}`;
  writeClaudeCommand(host.home, "shell", `Made: !\`touch ${directory}/by-command\` ${said}`);
  writeClaudeCommand(host.home, "look", `Look: @$ARGUMENTS ${said}`);
  writeClaudeCommand(host.home, "look-first", `Look: @$0 ${said}`);
  writeClaudeCommand(host.home, "look-one", `Look: @$ARGUMENTS[0] ${said}`);
  writeClaudeCommand(host.home, "look-quoted", `Look: @"$0" ${said}`);
}

/** A server of the Model Context Protocol with one tool. */
const server = `
import { createInterface } from "node:readline";
const tools = [{ name: "plain", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }];
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "el", version: "1" },
  }),
  "tools/list": () => ({ tools }),
  "tools/call": () => ({ content: [{ type: "text", text: "called" }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = answers[method]?.(params) ?? {};
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
}
`;

function onEvent(event: AgentEvent): void {
  events.push(event);
  if (event.type !== "request") return;
  const answer =
    "questions" in event.asked ? { dismiss: true as const } : { permission: onRequest() };
  void session.answer(event.key, answer, never);
}

interface Played {
  call: Call;
  outcome: Outcome;
  /** What the agent reads. */
  result: string;
  rule: string | undefined;
}

/** Plays a turn. Returns its calls in order, those of sub-agents too. */
async function play(steps: Step[], more: Partial<Prompt> = {}): Promise<Played[]> {
  events = [];
  decided = [];
  // A mention in the script itself would be escaped.
  const script = JSON.stringify(steps).replaceAll("@", "\\u0040");
  await session.prompt(promptOf([], { text: `Go. @@${script}`, ...more }), never);
  await until("the turn is over", () => events.some(({ type }) => type === "turn_ended"), 60_000);
  const updates = events.flatMap((event) => (event.type === "update" ? [event.update] : []));
  return updates
    .filter((update) => update.sessionUpdate === "tool_call")
    .map(({ toolCallId, rawInput }, at): Played => {
      const request = events.find(
        (event) => event.type === "request" && event.toolCallId === toolCallId,
      );
      const end = updates.find(
        (update) => update.sessionUpdate === "tool_call_update" && update.toolCallId === toolCallId,
      );
      const result = JSON.stringify(end);
      const isDenied = result.includes("Refused without asking anybody");
      return {
        call: steps.flatMap(({ calls = [] }) => calls)[at] ?? {
          tool: "of a sub-agent",
          input: rawInput as Record<string, unknown>,
        },
        outcome: request ? "ask" : isDenied ? "deny" : "allow",
        result,
        rule: request?.type === "request" ? request.rule : undefined,
      };
    });
}

const bash = (command: string): Call => ({ tool: "Bash", input: { command, description: "x" } });
const read = (file_path: string): Call => ({ tool: "Read", input: { file_path } });
const write = (file_path: string): Call => ({ tool: "Write", input: { file_path, content: "x" } });
const skill = (args?: string): Call => ({ tool: "Skill", input: { skill: "helpful", args } });
const fresh = () => `file-${++made}`;
const sent = () => JSON.stringify(host.model.requests.at(-1)?.body["messages"]);

function rows(): [Call, Outcome, Outcome, Outcome][] {
  const outside = join(host.folder, "outside.txt");
  const question = { question: "Which?", header: "h", multiSelect: false };
  const options = ["a", "b"].map((label) => ({ label, description: label }));
  const todos = [{ content: "a", status: "pending", activeForm: "a" }];
  const help = { description: "x", subagent_type: "general-purpose", prompt: "Help." };
  return [
    [read(join(directory, "inside.txt")), "allow", "allow", "allow"],
    [read(outside), "ask", "ask", "deny"],
    [read(join(host.folder, "private", "key")), "deny", "deny", "deny"],
    [{ tool: "TodoWrite", input: { todos } }, "allow", "allow", "allow"],
    [
      { tool: "AskUserQuestion", input: { questions: [{ ...question, options }] } },
      "ask",
      "ask",
      "deny",
    ],
    [write(join(directory, fresh())), "allow", "allow", "allow"],
    [write(join(directory, ".vscode", fresh())), "allow", "allow", "allow"],
    [write(join(directory, ".git", fresh())), "ask", "ask", "deny"],
    [write(join(directory, ".claude", fresh())), "ask", "ask", "deny"],
    [write(join(host.folder, fresh())), "ask", "ask", "deny"],
    [write(join(host.home, ".claude", fresh())), "deny", "deny", "deny"],
    [bash("echo covered; echo too"), "allow", "allow", "allow"],
    [bash(`touch ${fresh()}`), "ask", "ask", "deny"],
    [bash("ls"), "ask", "ask", "deny"],
    [bash("echo $(id)"), "ask", "ask", "deny"],
    [bash(`cat ${join(host.folder, "private", "key")}`), "deny", "deny", "deny"],
    [
      { tool: "WebFetch", input: { url: "https://docs.python.org/3/", prompt: "x" } },
      "ask",
      "ask",
      "deny",
    ],
    [{ tool: "WebSearch", input: { query: "boats" } }, "ask", "ask", "deny"],
    [{ tool: "mcp__el__plain", input: {} }, "ask", "ask", "deny"],
    [{ tool: "Agent", input: help }, "ask", "ask", "deny"],
    [{ tool: "EnterPlanMode", input: {} }, "ask", "ask", "deny"],
    // The last one, because the model takes the skill's text for the next prompt.
    [skill(), "allow", "allow", "allow"],
  ];
}

for (const [at, mode] of (["ask", "auto", "unattended"] as const).entries()) {
  test(`each call is answered as the table says in mode ${mode}`, async () => {
    rules = { ...common, mode };
    const table = rows();
    const played = await play([{ calls: table.map(([call]) => call) }, { text: "Done." }]);
    assert.deepEqual(
      played.map(({ call, outcome }) => [call, outcome]),
      table.map(([call, ...outcomes]) => [call, outcomes[at]]),
    );
    const ids = decided.map(({ callId }) => callId);
    assert.equal(new Set(ids).size, table.length, "each call is decided");
    assert.equal(ids.length, table.length, "and only once");
    for (const { outcome, rule } of played) assert.equal(rule !== undefined, outcome === "ask");
  });
}

test("a mode that is changed in mid-turn holds for the next call", async () => {
  const [first, second, third] = [fresh(), fresh(), fresh()];
  onRequest = () => {
    rules = { ...common, mode: "unattended" };
    return "once";
  };
  const touch = (name: string) => ({ calls: [bash(`touch ${name}`)] });
  const denied = await play([touch(first), touch(second), { text: "Done." }]);
  assert.deepEqual(
    denied.map(({ outcome }) => outcome),
    ["ask", "deny"],
  );
  assert.ok(existsSync(join(directory, first)) && !existsSync(join(directory, second)));
  rules = { ...common, mode: "unattended", unattendedCommands: true };
  const [allowed] = await play([touch(third), { text: "Done." }]);
  assert.equal(allowed?.outcome, "allow");
  assert.ok(existsSync(join(directory, third)));
});

test("a call runs only if it could be decided", async () => {
  rules = undefined as never;
  const [played] = await play([{ calls: [bash("echo never")] }, { text: "Done." }]);
  assert.equal(played?.outcome, "deny");
  assert.match(played.result, /could not be checked/);
});

test("a sub-agent's calls are decided in the session's mode", async () => {
  const name = fresh();
  onRequest = () => {
    rules = { ...common, mode: "unattended" };
    return "once";
  };
  const below: Step[] = [{ calls: [bash(`touch ${name}`)] }, { text: "Below." }];
  const prompt = `Help. @@${JSON.stringify(below)}`;
  const input = { description: "x", subagent_type: "general-purpose", prompt };
  const [agent, inner] = await play([{ calls: [{ tool: "Agent", input }] }, { text: "Done." }]);
  assert.equal(agent?.outcome, "ask");
  assert.equal(inner?.outcome, "deny");
  assert.ok(!existsSync(join(directory, name)));
});

test("an agent that is planning may write its plan, and needs permission for any other effect", async () => {
  const plan: Partial<Prompt> = { agent: "plan" };
  const done = { text: "Done." };
  const calls = [bash("echo covered"), write(join(directory, fresh()))];
  const effects = await play([{ calls }, done], plan);
  assert.deepEqual(
    effects.map(({ rule }) => rule),
    Array(2).fill("the agent is planning, so this needs permission"),
  );
  const [file] = /[^" ]*\/plans\/[^" ]*\.md/.exec(sent()) ?? [];
  const carryOut = { tool: "ExitPlanMode", input: {} };
  rules = { ...common, mode: "unattended" };
  const unattended = await play([{ calls: [write(file!)] }, { calls: [carryOut] }, done], plan);
  assert.deepEqual(
    unattended.map(({ outcome }) => outcome),
    ["allow", "deny"],
  );
  rules = common;
  const [asked] = await play([{ calls: [carryOut] }, done], plan);
  assert.equal(asked?.outcome, "ask");
});

test("the agent may read its own long output", async () => {
  onRequest = () => "once";
  await play([{ calls: [bash("seq 1 20000")] }, { text: "Done." }]);
  const [file] = /[^" ]*\/tool-results\/[^" \\]*/.exec(sent()) ?? [];
  const [played] = await play([{ calls: [read(file!)] }, { text: "Done." }]);
  assert.equal(played?.outcome, "allow");
  assert.match(played.result, /19\d\d\b/);
});

test("A1, A8: no shell text has an effect without a request", async () => {
  const mark = join(directory, "canary");
  const texts = [
    `x='a[$(touch ${mark})]'; [[ x -eq 0 ]]`,
    `declare -i y='a[$(touch ${mark})]'`,
    `x='$(touch ${mark})'; y="\${x@P}"`,
    `> ${mark}`,
    `export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='touch ${mark}'; git status`,
    `cat <<< "$(touch ${mark})"`,
    `ls # ${mark}`,
    "git status",
    "git log --oneline",
    "cat inside.txt",
    "pwd && whoami",
  ];
  rules = { ...common, allowedCommands: [] };
  const played = await play([{ calls: texts.map(bash) }, { text: "Done." }]);
  assert.deepEqual(
    played.map(({ call, outcome }) => [call, outcome]),
    texts.map((text) => [bash(text), "ask"]),
  );
  assert.ok(!existsSync(mark));
});

test("A1: commands in the text of a skill or of a slash command do not run", async () => {
  const review = { tool: "Skill", input: { skill: "security-review" } };
  const [asked] = await play([{ calls: [review, skill()] }]);
  assert.equal(asked?.outcome, "ask", "it would run git");
  await play([], { task: { type: "command", name: "shell" }, text: "" });
  assert.ok(sent().includes("shell command execution disabled by policy"));
  assert.ok(!existsSync(join(directory, "by-skill")));
  assert.ok(!existsSync(join(directory, "by-command")));
});

test("A2: a session in a subdirectory asks before it changes its repository, or is refused", async () => {
  const above = ["../.git/hooks/post-checkout", "../.git/config", "../above.txt", "link.txt"];
  const calls = above.map((path) => write(`${directory}/${path}`));
  const asked = await play([{ calls }, { text: "Done." }]);
  rules = { ...common, outsideWorktree: "refuse" };
  const refused = await play([{ calls }, { text: "Done." }]);
  // A file that exists must be read before it is written, so those fail before they are decided.
  const outcomes = (played: Played[]) =>
    played.filter(({ result }) => !result.includes("not been read")).map(({ outcome }) => outcome);
  assert.deepEqual(
    [outcomes(asked), outcomes(refused)],
    [Array(2).fill("ask"), Array(2).fill("deny")],
  );
  assert.ok(!existsSync(join(directory, "../.git/hooks/post-checkout")));
});

test("A15: a file outside is not read without a request: by a link, from home, or by a skill", async () => {
  const outside = join(host.folder, "outside.txt");
  const calls = [
    read(join(directory, "link.txt")),
    read("~/server.mjs"),
    skill(`Look at @${outside} now`),
    skill(`"${outside}"`),
    skill("link.txt, please"),
    skill("~/server.mjs"),
  ];
  const played = await play([{ calls }, { text: "Done." }]);
  assert.deepEqual(
    played.map(({ outcome }) => outcome),
    Array(calls.length).fill("ask"),
  );
  assert.ok(!sent().includes("OUTSIDE"));
});

test("A15: a file outside that a prompt or a command's arguments mention is not read", async () => {
  const outside = join(host.folder, "outside.txt");
  const script = `@@${JSON.stringify([{ text: "Said." }])}`;
  const prompts = [
    ...[`@${outside}`, `@"a @${outside} b"`, `@a\u3002@${outside}`].map(
      (text) => `${text} ${script}`,
    ),
    ...[`@" ${outside}"`, `@"\n${outside}"`].map((text) => `See ${text} ${script}`),
    // The script itself is a mention too: a path that leaves the name `@[…` again.
    `Go. @@${JSON.stringify([{ text: `/${"../".repeat(20)}${outside}` }])}`,
  ];
  for (const text of prompts) {
    await play([], { text });
    assert.ok(sent().includes(outside));
    assert.ok(!sent().includes("OUTSIDE"), text);
  }
  const look = { type: "command", name: "look" } as const;
  for (const text of [outside, `"@${outside}"`, "link.txt"]) {
    await assert.rejects(play([], { task: look, text }), /outside the session's directory/);
  }
  writeFileSync(join(directory, "seen.txt"), "SEEN");
  await play([], { task: look, text: "seen.txt" });
  assert.ok(sent().includes("SEEN"), "a file inside may be mentioned");
});

/** Arguments from which Claude Code makes the path of a file outside, with a command that mentions it. */
const disguised: [string, string][] = [
  ["look-first", "../outside.txt x"],
  ["look-first", '.""./outside.txt x'],
  ["look-first", ".''./outside.txt x"],
  ["look-first", ".``./outside.txt x"],
  ["look-first", ".\\./outside.txt x"],
  ["look-first", "link.txt;x"],
  ["look-one", ".$1 ./outside.txt"],
  ["look-quoted", '"far off.txt" x'],
  ["look-quoted", "far\\ off.txt x"],
  ["look-quoted", "x;'far off.txt'"],
  ["look-first", `"it's.txt" x`],
  ["look", ".\uFFFF./outside.txt"],
];

test("A15: a command's arguments cannot name a file outside in a disguise", async () => {
  const accepted: string[] = [];
  const run = async (name: string, text: string) => {
    const task = { type: "command", name } as const;
    await play([], { task, text }).then(
      () => accepted.push(text),
      (error: Error) => assert.match(error.message, /outside the session's directory/),
    );
  };
  for (const [name, text] of disguised) await run(name, text);
  const plain = ["Fix the user's file (inside.txt); is it #1?", `Don't say "far away", it isn't.`];
  for (const text of plain) await run("look-first", text);
  assert.deepEqual(accepted, plain);
  assert.ok(!sent().includes("OUTSIDE"));
});

test("A15: a skill's arguments cannot name a file outside in a disguise", async () => {
  const call = (args: string) => ({ tool: "Skill", input: { skill: "looking", args } });
  const outcomes: [string, string | undefined][] = [];
  for (const mode of ["ask", "unattended"] as const) {
    rules = { ...common, mode };
    // One turn each, because the model takes a skill's text for the next prompt.
    for (const [, args] of disguised) {
      const [played] = await play([{ calls: [call(args)] }, { text: "Done." }]);
      outcomes.push([args, played?.outcome]);
    }
  }
  const expected = (outcome: Outcome) => disguised.map(([, args]) => [args, outcome]);
  assert.deepEqual(outcomes, [...expected("ask"), ...expected("deny")]);
  assert.ok(!sent().includes("OUTSIDE"));
});

test("A16: commands run in bash, whichever shell the host's user has", async () => {
  onRequest = () => "once";
  const [played] = await play([{ calls: [bash("echo $SHELL $BASH_VERSION")] }, { text: "Done." }]);
  assert.match(played!.result, /\/bin\/bash \d/);
});
