// Every call of the real codex is decided about before it runs, in each mode (decision 0036).
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
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { SessionMode } from "@hawser/contract";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import { placeIn } from "@hawser/testkit/conformance/bench.ts";
import { never, Recording } from "@hawser/testkit/conformance/recording.ts";
import { findUnasked } from "@hawser/testkit/shell-texts.ts";
import { until } from "@hawser/testkit/until.ts";
import { decide, type Rules } from "../../policy/decide.ts";
import type { Call as Wanted, Step } from "../scripted/script.ts";

let bench: CodexBench;
let secret: string;
before(async () => {
  bench = await openCodexBench();
  secret = join(bench.folder, "secret.txt");
  writeFileSync(secret, "do not tell\n");
  const file = fileURLToPath(import.meta.resolve("@hawser/testkit/mcp-server-process.ts"));
  const server = [
    "[mcp_servers.marks]",
    `command = "${process.execPath}"`,
    `args = ["${file}"]`,
    "",
  ];
  appendFileSync(join(bench.home, "config.toml"), server.join("\n"));
});
after(() => bench[Symbol.asyncDispose]());

type Answer = "allow" | "deny" | "ask";

/** A session whose mode can be changed, and which answers every request at once. */
async function start(mode: SessionMode, more: Partial<Rules> = {}) {
  const directory = bench.makeDirectory();
  const rules: Rules = {
    allowedCommands: ["echo *"],
    outsideWorktree: "ask",
    mode,
    directory,
    hasSandbox: true,
    unattendedCommands: false,
    temporaryDirectory: "/none",
    ownDirectories: [join(bench.folder, "own")],
    secrets: [secret],
    ...more,
  };
  const answers: Answer[] = [];
  const titles: string[] = [];
  const session = {
    rules,
    directory,
    answers,
    titles,
    permission: "reject" as "once" | "reject",
    onRequest: () => {},
  };
  const place = placeIn(directory, {
    decide(call) {
      const decision = decide(rules, call);
      answers.push(decision.answer);
      return decision;
    },
  });
  const recording = new Recording(bench, place);
  recording.session = await bench.driver().start(
    place,
    (event) => {
      recording.sink(event);
      if (event.type !== "request") return;
      assert.ok(event.rule);
      titles.push("permission" in event.asked ? event.asked.permission.title : "question");
      session.onRequest();
      const answer =
        "permission" in event.asked ? { permission: session.permission } : { answers: [["Yes"]] };
      setImmediate(() => void recording.session.answer(event.key, answer, never));
    },
    never,
  );
  const play = async (calls: Wanted[]) => {
    const from = answers.length;
    const steps: Step[] = calls.map((call) => ({ calls: [call] }));
    await recording.play([...steps, { text: "Done." }]);
    return answers.slice(from);
  };
  return Object.assign(session, { recording, play });
}

const run = (cmd: string, more: object = {}): Wanted => ({
  tool: "exec_command",
  input: { cmd, ...more },
});
const patch = (path: string): Wanted => ({
  tool: "apply_patch",
  input: { input: `*** Begin Patch\n*** Add File: ${path}\n+hi\n*** End Patch` },
});
const look = (path: string): Wanted => ({ tool: "view_image", input: { path } });

/** One call for each row of the table of modes, with what it answers in the three modes. */
function rowsIn(directory: string) {
  const outside = join(directory, "..", `outside-${Math.random()}.txt`);
  writeFileSync(join(directory, "a.png"), pixel);
  writeFileSync(join(bench.folder, "out.png"), pixel);
  symlinkSync(join(bench.folder, "out.png"), join(directory, "link.png"));
  mkdirSync(join(bench.folder, "own"), { recursive: true });
  const mark = join(directory, "marked.txt");
  const rows: [name: string, Wanted, made: string | undefined, Answer, Answer, Answer][] = [
    ["read inside", look("a.png"), undefined, "allow", "allow", "allow"],
    [
      "A15: read through a link that leads outside",
      look("link.png"),
      undefined,
      "ask",
      "ask",
      "deny",
    ],
    ["read a secret", look(secret), undefined, "deny", "deny", "deny"],
    ["note", { tool: "get_goal", input: {} }, undefined, "allow", "allow", "allow"],
    ["question", bench.question("Really?", ["Yes", "No"]), undefined, "ask", "ask", "deny"],
    ["edit inside", patch("in.txt"), "in.txt", "allow", "allow", "allow"],
    ["edit .git", patch(".git/hooks/x"), ".git/hooks/x", "ask", "ask", "deny"],
    ["edit configuration", patch(".codex/x.toml"), ".codex/x.toml", "ask", "ask", "deny"],
    ["A2: edit above the directory", patch(outside), outside, "ask", "ask", "deny"],
    [
      "edit the agent's own",
      patch(join(bench.folder, "own", "x")),
      undefined,
      "deny",
      "deny",
      "deny",
    ],
    ["covered command", run("echo hi > echoed.txt"), "echoed.txt", "allow", "allow", "allow"],
    ["other command", run("touch other.txt"), "other.txt", "ask", "allow", "allow"],
    ["opaque command", run("x=1; touch opaque-$x"), "opaque-1", "ask", "allow", "allow"],
    ["secret in a command", run(`cat ${secret}`), undefined, "deny", "deny", "deny"],
    [
      "mcp",
      { tool: "mcp__marks/leave_mark", input: { path: mark } },
      mark,
      ...(["ask", "ask", "deny"] as const),
    ],
    ["agent", bench.subAgent([{ text: "Below." }]), undefined, "ask", "ask", "deny"],
  ];
  return rows;
}

const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

for (const [at, mode] of (["ask", "auto", "unattended"] as const).entries()) {
  test(`each call is answered as the table says in mode ${mode}`, async () => {
    const session = await start(mode);
    const rows = rowsIn(session.directory);
    const answers = await session.play(rows.map(([, call]) => call));
    const named = (list: readonly Answer[]) => rows.map(([name], row) => `${name}: ${list[row]}`);
    assert.deepEqual(named(answers), named(rows.map((row) => row[3 + at] as Answer)));
    assert.equal(session.titles.length, answers.filter((answer) => answer === "ask").length);
    for (const [row, [name, , made]] of rows.entries()) {
      if (made === undefined) continue;
      const exists = existsSync(join(session.directory, made)) || existsSync(made);
      assert.equal(exists, answers[row] === "allow", name);
    }
    const ends = session.recording
      .updates()
      .filter((update) => update.sessionUpdate === "tool_call_update");
    const shown = JSON.stringify(ends);
    assert.doesNotMatch(shown, /do not tell/);
    if (mode === "unattended") assert.match(shown, /in mode unattended no person is asked/);
    const { body } = bench.model.requests.at(-1)!;
    assert.doesNotMatch(JSON.stringify(body["tools"]), /web_search|image_generation/);
  });
}

test("a person's yes lets each of these calls run, once", async () => {
  const session = await start("ask");
  session.permission = "once";
  const rows = rowsIn(session.directory);
  const answers = await session.play(rows.map(([, call]) => call));
  for (const [row, [name, , made]] of rows.entries()) {
    if (made === undefined) continue;
    assert.notEqual(answers[row], "deny", name);
    assert.ok(existsSync(join(session.directory, made)) || existsSync(made), name);
  }
  assert.equal(session.titles.length, answers.filter((answer) => answer === "ask").length);
});

test("leaving the sandbox is decided on its own, whatever was decided about the command", async () => {
  const leaving = { sandbox_permissions: "require_escalated", justification: "I must." };
  const outcomes: [SessionMode, "ask" | "refuse", Answer][] = [
    ["auto", "ask", "ask"],
    ["unattended", "ask", "deny"],
    ["ask", "refuse", "deny"],
  ];
  for (const [mode, outsideWorktree, expected] of outcomes) {
    const session = await start(mode, { outsideWorktree });
    const made = join(bench.home, `left-${mode}.txt`);
    const call = run(`echo hi > ${made}`, leaving);
    session.rules.allowedCommands = [call.input["cmd"] as string];
    assert.deepEqual(await session.play([call]), ["allow", expected]);
    assert.ok(!existsSync(made));
  }
});

test("a mode that is changed in mid-turn holds for the next call", async () => {
  const session = await start("ask");
  session.permission = "once";
  session.onRequest = () => {
    session.rules.mode = session.titles.length === 1 ? "auto" : "unattended";
  };
  const answers = await session.play([
    run("touch one.txt"),
    run("touch two.txt"),
    bench.question("Really?", ["Yes", "No"]),
    bench.question("Again?", ["Yes", "No"]),
    run("touch three.txt"),
  ]);
  assert.deepEqual(answers, ["ask", "allow", "ask", "deny", "allow"]);
  for (const name of ["one", "two", "three"]) {
    assert.ok(existsSync(join(session.directory, `${name}.txt`)), name);
  }
});

test("A1, A8: no shell text runs without being asked about", async () => {
  const marks = join(bench.folder, "marks");
  mkdirSync(marks);
  const mark = (name: number) => `touch ${marks}/${name}`;
  const texts = [
    `x='a[$(${mark(1)})]'; [[ x -eq 0 ]]`,
    `declare -i y='a[$(${mark(2)})]'`,
    `x='$(${mark(3)})'; y="\${x@P}"`,
    `> ${marks}/4`,
    `export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='${mark(5)}'; git status`,
    `cat <<< "$(${mark(6)})"`,
    `bash <<'EOF'\n${mark(7)}\nEOF`,
    `coproc ${mark(8)}`,
    `trap '${mark(9)}' EXIT`,
    `((a[$(${mark(10)})]))`,
    `# nothing\n${mark(11)}`,
  ];
  assert.deepEqual(await findUnasked(bench, texts), []);
  assert.deepEqual(readdirSync(marks), []);
});

test("A1: the model cannot type into a command that runs", async () => {
  const session = await start("auto");
  await session.play([
    run("bash", { tty: true, yield_time_ms: 300 }),
    run("sleep 5; cat", { yield_time_ms: 300 }),
  ]);
  const output = JSON.stringify(bench.model.requests.at(-1)!.body["input"]);
  assert.match(output, /TTY execution is disabled/);
  const id = Number(/session ID (\d+)/.exec(output)![1]);
  await session.play([{ tool: "write_stdin", input: { session_id: id, chars: "typed" } }]);
  const after = JSON.stringify(bench.model.requests.at(-1)!.body["input"]);
  assert.match(after, /stdin is closed for this session/);
});

test("A1: codex is stopped if its hook is killed, before the command has done anything", async () => {
  const session = await start("ask");
  const made = join(session.directory, "unasked.txt");
  session.onRequest = () => {
    // The shell that codex started, with the text of the gate.
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      const isHook = (words: string) =>
        words.split("\0")[1] === "-c" && words.includes("HAWSER_GATE");
      try {
        const isOurs = readFileSync(`/proc/${pid}/environ`, "utf8").includes(bench.home);
        if (isOurs && isHook(readFileSync(`/proc/${pid}/cmdline`, "utf8")))
          process.kill(Number(pid), "SIGKILL");
      } catch {
        // The process has ended.
      }
    }
    session.onRequest = () => {};
  };
  const { recording } = session;
  await recording.prompt([{ calls: [run(`sleep 2; touch ${made}`)] }, { text: "Never." }]);
  const { reason } = await recording.untilType("lost", 10_000);
  assert.match(reason, /may have run without a decision/);
  await until("codex has ended", () => !bench.isAgentAlive());
  assert.ok(!existsSync(made));
});
