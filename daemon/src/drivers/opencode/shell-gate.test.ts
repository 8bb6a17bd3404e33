// The gate itself, without opencode: what it runs, what it refuses, and what it costs.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createShellGate } from "./shell-gate.ts";

const folder = mkdtempSync(join(tmpdir(), "hawser gate's "));
after(() => rmSync(folder, { recursive: true, force: true }));
const cwd = join(folder, "work");
const elsewhere = join(folder, "elsewhere");
mkdirSync(cwd);
mkdirSync(elsewhere);
symlinkSync(cwd, join(folder, "link"));
const gate = createShellGate(join(folder, "gate"));
gate.install({ keepPasses: false });

const sessionId = "ses_1";
const env = { PATH: process.env["PATH"]!, OPENCODE_SERVER_PASSWORD: "secret" };
function run(args: string[], place = cwd): { status: number | null; output: string } {
  const { status, stdout } = spawnSync(gate.program, args, { cwd: place, env, encoding: "utf8" });
  return { status, output: stdout };
}

test("A1: the gate runs a text that has a pass once, and nothing else", () => {
  gate.addPass(sessionId, "prt_1", cwd, "echo one");
  assert.equal(run(["-c", "echo two"]).status, 126);
  assert.equal(run(["-c", "echo one "]).status, 126);
  assert.equal(run(["-c", "echo one"], elsewhere).status, 126);
  assert.equal(run(["-l", "-c", "echo one"]).status, 126);
  assert.equal(run(["-c", "echo one", "more"]).status, 126);
  assert.equal(run([]).status, 126);
  assert.deepEqual(run(["-c", "echo one"]), { status: 0, output: "one\n" });
  const again = run(["-c", "echo one"]);
  assert.equal(again.status, 126);
  assert.match(again.output, /^Not run: nobody was asked about this command/);
});

test("texts reach bash unchanged, and links in the directory are resolved", () => {
  const texts: [string, string][] = [
    ["echo 'a  b'\n\necho \"$#\"  # end\n", "a  b\n0\n"],
    ["printf '%s' $'\\x41'; [[ abc =~ b ]] && echo ü", "Aü\n"],
    ["-x", ""],
    ["echo '*'", "*\n"],
  ];
  for (const [text, output] of texts) {
    gate.addPass(sessionId, "prt_2", join(folder, "link"), text);
    assert.equal(run(["-c", text]).output, output, text);
  }
  gate.addPass(sessionId, "prt_3", cwd, "echo $SHELLOPTS; exit 7");
  assert.equal(run(["-c", "echo $SHELLOPTS; exit 7"]).status, 7);
});

test("A16: a command does not see the server's password", () => {
  gate.addPass(sessionId, "prt_4", cwd, "env");
  assert.doesNotMatch(run(["-c", "env"]).output, /secret/);
});

test("a command has the mark of the session that its pass was made for", () => {
  const text = 'echo "$HAWSER_SESSION"';
  gate.addPass("ses_a", "prt_20", cwd, text);
  assert.equal(run(["-c", text]).output, "ses_a\n");
  gate.addPass("ses_b", "prt_21", cwd, text);
  assert.equal(run(["-c", text]).output, "ses_b\n");
});

test("two calls with the same text need two passes", async () => {
  gate.addPass(sessionId, "prt_5", cwd, "echo ran");
  const codes = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const child = spawn(gate.program, ["-c", "echo ran"], { cwd, env, stdio: "ignore" });
      return new Promise((resolve) => child.once("exit", resolve));
    }),
  );
  assert.equal(codes.filter((code) => code === 0).length, 1);
  gate.addPass(sessionId, "prt_6", cwd, "echo ran");
  gate.addPass(sessionId, "prt_7", cwd, "echo ran");
  const statuses = [1, 2, 3].map(() => run(["-c", "echo ran"]).status);
  assert.deepEqual(statuses, [0, 0, 126]);
});

test("a pass outlives the daemon, but neither its call nor its server", () => {
  gate.addPass(sessionId, "prt_8", cwd, "echo kept");
  const next = createShellGate(join(folder, "gate"));
  next.install({ keepPasses: true });
  assert.equal(run(["-c", "echo kept"]).status, 0);
  gate.addPass(sessionId, "prt_9", cwd, "echo ended");
  next.removePass("prt_9");
  assert.equal(run(["-c", "echo ended"]).status, 126);
  gate.addPass(sessionId, "prt_10", cwd, "echo old");
  next.install({ keepPasses: false });
  assert.equal(run(["-c", "echo old"]).status, 126);
  assert.deepEqual(readdirSync(join(folder, "gate", "passes")), []);
});

test("without its directory of passes the gate refuses everything", () => {
  gate.addPass(sessionId, "prt_11", cwd, "touch made");
  rmSync(join(folder, "gate", "passes"), { recursive: true });
  assert.equal(run(["-c", "touch made"]).status, 126);
  assert.equal(existsSync(join(cwd, "made")), false);
});
