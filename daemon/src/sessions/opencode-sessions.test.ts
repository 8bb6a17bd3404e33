// Sessions of the real opencode, with a scripted model: the session layer behaves as it does with the scripted agent.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { agentProgram } from "@hawser/testkit/agent-programs.ts";
import { writeOpencodeHome } from "@hawser/testkit/opencode-home.ts";
import { startScriptedModel } from "@hawser/testkit/scripted-model.ts";
import { until } from "@hawser/testkit/until.ts";
import { listAgentProcesses } from "../drivers/agent-processes.ts";
import { createOpencodeDriver } from "../drivers/opencode/driver.ts";
import { isStartOf } from "../drivers/start-id.ts";
import { temporaryIn } from "../drivers/temporary-directories.ts";
import { silentLog } from "../log.ts";
import { git, makeSessionId, makeSmallHost, policy, script } from "@hawser/testkit/small-host.ts";
import type { OpenHost, SmallHost } from "@hawser/testkit/small-host.ts";

const path = await agentProgram("opencode");
const model = await startScriptedModel();
after(() => model[Symbol.asyncDispose]());

function open(small: SmallHost): OpenHost {
  const home = join(small.directory, "home");
  mkdirSync(home, { recursive: true });
  writeOpencodeHome(home, model.url);
  const driver = createOpencodeDriver({
    program: () => ({ path, version: "1.18.33" }),
    stateFile: join(small.directory, "state/opencode-server.json"),
    environment: {
      HOME: home,
      XDG_CONFIG_HOME: join(home, ".config"),
      XDG_DATA_HOME: join(home, ".local/share"),
      XDG_CACHE_HOME: join(home, ".cache"),
      XDG_STATE_HOME: join(home, ".local/state"),
    },
    log: silentLog,
  });
  return small.open({ wrapDriver: () => driver });
}

const servers = (small: SmallHost) =>
  listAgentProcesses().filter(({ startId }) => isStartOf(join(small.directory, "state"), startId));

const bash = (command: string) => ({
  calls: [{ tool: "bash", input: { command, description: "Do it" } }],
});

test(
  "a session lives through the death of its agent and of the daemon",
  { timeout: 120_000 },
  async () => {
    using small = makeSmallHost();
    let host = open(small);
    const sessionId = makeSessionId();
    try {
      const wanted = { sessionId, kind: "opencode" as const, directory: small.repository, policy };
      const started = await host.must("start_session", { ...wanted, title: "Try it" });
      const steps = [bash("echo hi > made.txt"), { text: "Done." }];
      await host.must("send_prompt", { sessionId, text: script(steps) });
      const { requestId, shownHash } = await host.until(sessionId, "request_raised");

      // The daemon stops while the agent waits; the next daemon delivers the answer.
      await host.close();
      host = open(small);
      const answer = { sessionId, requestId, shownHash, answer: "always" as const, answers: null };
      assert.deepEqual(await host.must("answer_request", answer), { status: "answered" });
      const first = await host.until(sessionId, "turn_finished");
      assert.equal(first.outcome, "completed");
      const place = host.journal.driven.get(sessionId)!.directory;
      assert.equal(git(place, "status", "--porcelain"), "?? made.txt\n");

      // The remembered command is not asked about again; another one is.
      const again = await host.must("send_prompt", { sessionId, text: script(steps) });
      const ended = (turnId: string) =>
        host.until(sessionId, "turn_finished", (_, entry) => entry.turnId === turnId);
      assert.equal((await ended(again.turnId)).outcome, "completed");
      const other = await host.must("send_prompt", {
        sessionId,
        text: script([bash("ls > x.txt")]),
      });
      await host.until(sessionId, "request_raised", (update) => update.requestId !== requestId);

      // The agent is killed.
      const [server] = servers(small);
      process.kill(server!.pid, "SIGKILL");
      const killedAt = performance.now();
      assert.equal((await ended(other.turnId)).outcome, "interrupted");
      assert.ok(performance.now() - killedAt < 5_000);
      await host.until(sessionId, "session_status", ({ status }) => status === "error");
      const next = await host.must("send_prompt", { sessionId, text: script([{ text: "Back." }]) });
      assert.equal((await ended(next.turnId)).outcome, "completed");

      // It is restarted, and stopped.
      await host.must("restart_agent", { kind: "opencode" });
      await host.until(sessionId, "session_status", ({ status }) => status === "detached");
      const slow = script([{ text: "slow", delayMs: 30_000 }]);
      const stopped = await host.must("send_prompt", { sessionId, text: slow });
      await host.until(sessionId, "turn_started", (_, { turnId }) => turnId === stopped.turnId);
      assert.equal((await host.must("abort_turn", { sessionId })).aborted, true);
      assert.equal((await ended(stopped.turnId)).outcome, "aborted");

      await host.must("end_session", { sessionId });
      assert.equal(git(small.repository, "branch", "--list", started.worktreeBranch!), "");
      const entries = host.entries(sessionId);
      assert.deepEqual(
        entries.map(({ seq }) => seq),
        entries.map((_, index) => index + 1),
      );
    } finally {
      await host.close();
      for (const { pid } of servers(small)) process.kill(pid, "SIGKILL");
    }
  },
);

test("opencode loads its library from a directory of its own, which is removed after it", async () => {
  using small = makeSmallHost();
  let host = open(small);
  try {
    const sessionId = makeSessionId();
    const wanted = { sessionId, kind: "opencode" as const, directory: small.repository, policy };
    await host.must("start_session", { ...wanted, title: "Try it" });
    const [server] = servers(small);
    const { pid, startId } = server!;
    const temporary = temporaryIn(join(small.directory, "state"));
    const own = join(temporary, startId);
    assert.equal(statSync(own).mode & 0o777, 0o700);
    const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
    assert.deepEqual(
      variables.filter((each) => each.startsWith("TMPDIR=")),
      [`TMPDIR=${own}`],
    );
    // opencode writes the library when it first needs it.
    await host.must("send_prompt", { sessionId, text: script([{ text: "Hello." }]) });
    await host.until(sessionId, "turn_finished");
    const isLibrary = (name: string) => name.endsWith(".so");
    await until("the library is there", () => readdirSync(own).some(isLibrary));
    const loaded = readFileSync(`/proc/${pid}/maps`, "utf8");
    assert.ok(loaded.includes(join(own, readdirSync(own).find(isLibrary)!)));

    // The next daemon keeps the directory, because it adopts the server.
    await host.close();
    mkdirSync(join(temporary, "left-behind"));
    host = open(small);
    await until("the others are removed", () => !readdirSync(temporary).includes("left-behind"));
    assert.deepEqual(readdirSync(temporary), [startId]);
    await host.must("restart_agent", { kind: "opencode" });
    await host.must("end_session", { sessionId });
    await until("it is removed", () => !readdirSync(temporary).includes(startId));
  } finally {
    await host.close();
    for (const { pid } of servers(small)) process.kill(pid, "SIGKILL");
  }
});
