// The real agents in tests: unpacked, installed on a host, and answered by the scripted model.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { isWhole, programOf, readCurrent } from "@hawser/daemon/installs/current.ts";
import { AgentKind } from "@hawser/contract";
import { agentProgram, giveProgram } from "./agent-programs.ts";
import { writeOpencodeHome } from "./opencode-home.ts";
import { startScriptedModel } from "./scripted-model.ts";
import { startWorld } from "./world.ts";

const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), "hawser-agents-"));
after(() => rmSync(directory, { recursive: true, force: true }));

for (const kind of AgentKind.options) {
  test(`the daemon finds ${kind} installed in a state directory it was given to`, async () => {
    const agents = join(directory, "state", "agents");
    await giveProgram(join(directory, "state"), kind);
    const current = readCurrent(agents, kind);
    assert.ok(current && isWhole(agents, kind, current));
    const { stdout } = await run(programOf(agents, kind, current), ["--version"]);
    assert.ok(stdout.includes(current.version));
  });
}

test("those who ask at once get one and the same program", async () => {
  const programs = await Promise.all([agentProgram("opencode"), agentProgram("opencode")]);
  assert.equal(programs[0], programs[1]);
});

test("opencode plays a script with its own tools, by the settings of the home", async () => {
  await using model = await startScriptedModel();
  const home = join(directory, "home");
  writeOpencodeHome(home, model.url);
  const steps = [
    {
      text: "First.",
      calls: [{ tool: "bash", input: { command: "echo hi > made.txt", description: "x" } }],
    },
    { text: "All done." },
  ];
  const running = run(await agentProgram("opencode"), ["run", "--pure", "--title", "a try"], {
    cwd: home,
    env: { PATH: process.env["PATH"], HOME: home, OPENCODE_DISABLE_MODELS_FETCH: "1" },
    timeout: 60_000,
  });
  running.child.stdin!.end(`do it @@${JSON.stringify(steps)}`);
  const { stdout } = await running;
  assert.match(stdout, /All done\./);
  assert.ok(existsSync(join(home, "made.txt")));
  assert.deepEqual(
    model.requests.map(({ model: name, kind, step }) => [name, kind, step]),
    [
      ["stub-1", "scripted", 0],
      ["stub-1", "scripted", 1],
    ],
  );
  assert.ok(model.requests[0]?.tools.includes("bash"));
});

test("the hosts of a world with agents say that opencode is installed", async () => {
  await using world = await startWorld({ hosts: 1, agents: true });
  const { instanceId } = world.hosts[0]!;
  const { agents } = await world.caller.refresh_instance({ instanceId });
  const opencode = agents.find(({ kind }) => kind === "opencode");
  assert.deepEqual([opencode?.installed, opencode?.version], [true, "1.18.33"]);
  assert.ok(world.model);
});
