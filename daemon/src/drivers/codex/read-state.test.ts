// The state that the driver reports on a host where codex cannot work.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { agentProgram } from "@hawser/testkit/agent-programs.ts";
import { silentLog } from "../../log.ts";
import { never } from "@hawser/testkit/conformance/recording.ts";
import { AgentNotReady, type Driver } from "../driver.ts";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import { createCodexDriver } from "./driver.ts";

let bench: CodexBench;
let path: string;
before(async () => {
  bench = await openCodexBench();
  path = await agentProgram("codex");
});
after(() => bench[Symbol.asyncDispose]());

async function lookWith(program: string | undefined, home: string) {
  const driver: Driver = createCodexDriver({
    program: () => (program === undefined ? undefined : { path: program, version: "0.166.0" }),
    home,
    temporaryDirectory: join(bench.folder, "tmp"),
    userHome: bench.folder,
    closed: { secrets: [], ownDirectories: [] },
    log: silentLog,
  });
  try {
    const found = await driver.readState(AbortSignal.timeout(20_000));
    return { ...found, problems: found.problems.map(({ code }) => code), driver };
  } finally {
    await driver.close();
  }
}

test("without a program, codex is not installed", async () => {
  const found = await lookWith(undefined, join(bench.folder, "none"));
  assert.equal(found.installed, false);
  assert.equal(found.authenticated, false);
  assert.deepEqual(found.problems, ["not_installed"]);
  await assert.rejects(found.driver.listModels(never), (error) => {
    assert.ok(error instanceof AgentNotReady);
    assert.match(error.message, /^Codex is not installed on this host\. Call install_agent_kind/);
    return true;
  });
});

test("without a login, codex reports a problem and still lists its models", async () => {
  const found = await lookWith(path, join(bench.folder, "fresh"));
  assert.equal(found.installed, true);
  assert.equal(found.version, "0.166.0");
  assert.equal(found.authenticated, false);
  assert.deepEqual(found.problems, ["not_logged_in"]);
  assert.deepEqual(
    found.options.map(({ id }) => id),
    ["effort"],
  );
});

test("with a key, codex is ready", async () => {
  const home = join(bench.folder, "keyed");
  mkdirSync(home);
  const login = { auth_mode: "apikey", OPENAI_API_KEY: "sk-nothing" };
  writeFileSync(join(home, "auth.json"), JSON.stringify(login), { mode: 0o600 });
  const found = await lookWith(path, home);
  assert.equal(found.authenticated, true);
  assert.deepEqual(found.problems, []);
});

test("a program or a setting that does not work is a problem, not an error", async () => {
  const broken = await lookWith("/bin/false", join(bench.folder, "broken"));
  assert.deepEqual(broken.problems, ["does_not_start"]);
  const home = join(bench.folder, "misconfigured");
  mkdirSync(home);
  writeFileSync(join(home, "config.toml"), "model = [");
  assert.deepEqual((await lookWith(path, home)).problems, ["does_not_start"]);
  const file = join(bench.folder, "a-file");
  writeFileSync(file, "");
  assert.deepEqual((await lookWith(path, file)).problems, ["home_not_writable"]);
});

test("aborting the signal ends the wait", async () => {
  await assert.rejects(
    bench.driver().listModels(AbortSignal.abort(new Error("Enough."))),
    /Enough/,
  );
});
