// Shell commands in sessions, on a host with the real opencode: they run, and their text is nowhere.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { AgentKind, parseId } from "@hawser/contract";
import { request } from "@hawser/testkit/caller.ts";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { untilStatus } from "@hawser/testkit/host.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { readSession } from "@hawser/testkit/session-reader.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";
import {
  logOf,
  runTurn,
  scripted,
  slowly,
  startSession,
  untilLogged,
  updatesOf,
  worktreeOf,
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 1, environment: { HAWSER_LOG_LEVEL: "debug" } });

scenario(
  "A command runs in the session's directory, and no model is asked",
  ["run_shell.runs", "general.accepted.return"],
  async ({ world, caller }) => {
    const { sessionId, capabilities } = await startSession(caller, world.hosts[0]!);
    assert.ok(capabilities.includes("shell"));
    const asked = world.model!.requests.length;
    const command = 'pwd; for i in 1 2; do echo "n$i"; done; sleep 5; exit 5';
    const before = performance.now();
    const { shellId } = await caller.run_shell({ sessionId, command });
    assert.ok(performance.now() - before < 3_000, "answered while it runs");
    const wait = await caller.wait_for_session({ sessionId, timeoutSeconds: 1 });
    assert.deepEqual([wait.activity, wait.runningShellIds], ["running", [shellId]]);
    const running = await untilLogged(caller, sessionId, "shell_started");
    assert.deepEqual(updatesOf(running, "shell"), [], "it has not ended");
    await untilLogged(caller, sessionId, "shell");
    const [entry] = updatesOf(await logOf(caller, sessionId), "shell");
    assert.equal(entry!.shellId, shellId);
    const { activity, runningShellIds } = await caller.wait_for_session({ sessionId });
    assert.deepEqual([activity, runningShellIds], ["idle", []]);
    assert.match(entry!.output, /^\/\S*\/worktrees\/\S+\nn1\nn2\n$/);
    assert.deepEqual([entry!.exitCode, entry!.reason, entry!.agent], [5, null, null]);
    assert.equal(world.model!.requests.length, asked);

    await runTurn(caller, sessionId, scripted("go on", { text: "I see." }));
    const told = JSON.stringify(world.model!.requests.at(-1)!.body);
    assert.match(told, /exit code 5/);
    assert.doesNotMatch(told, /for i in/, "the agent knows what came of it, not what it was");
  },
);

scenario(
  "Without an agent the output is recorded under the session's own, and not the agent of another call",
  ["run_shell.agent.default"],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    await runTurn(caller, sessionId, scripted("plan it", { text: "A plan." }), { agent: "plan" });
    const agents = [undefined, "plan", undefined, "build"];
    for (const agent of agents) {
      const { shellId } = await caller.run_shell({
        sessionId,
        command: "true",
        ...(agent !== undefined && { agent }),
      });
      await untilLogged(caller, sessionId, "shell", (entry: { shellId: string }) => {
        return entry.shellId === shellId;
      });
    }
    const log = await logOf(caller, sessionId);
    const named = agents.map((agent) => agent ?? null);
    for (const name of ["shell_started", "shell"] as const) {
      assert.deepEqual(
        updatesOf(log, name).map(({ agent }) => agent),
        named,
        name,
      );
    }
  },
);

scenario(
  "It waits for no turn, ends with an abort, and is refused where it cannot run",
  ["run_shell.capability"],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const input = { sessionId, command: "sleep 100" };
    assertInvalid(await caller.try("run_shell", { ...input, agent: "nope" }), "agent");
    await caller.run_shell(input);
    const { aborted } = await caller.abort_session({ sessionId });
    assert.equal(aborted, true);
    await untilLogged(caller, sessionId, "shell");
    const [entry] = updatesOf(await logOf(caller, sessionId), "shell");
    assert.deepEqual([entry!.exitCode, entry!.reason], [null, "It was stopped."]);

    await caller.send_prompt({ sessionId, text: scripted("slow", slowly()) });
    assertRefused(await caller.try("run_shell", input), 409, "turn_running");
    await caller.abort_session({ sessionId });
    const other = await startSession(caller, world.hosts[0]!);
    // As a kind without the capability would be on record. The others stay.
    await ownerSql(
      world.database.url,
      "UPDATE sessions SET capabilities = array_remove(capabilities, 'shell') WHERE session_id = $1",
      [parseId("session", other.sessionId)],
    );
    const kept = (await caller.get_session_summary({ sessionId: other.sessionId })).capabilities;
    assert.deepEqual([kept.includes("shell"), kept.includes("commands")], [false, true]);
    const without = { sessionId: other.sessionId, command: "touch ran.txt" };
    assertRefused(await caller.try("run_shell", without), 409, "capability_missing");
    // A turn later the command would have run.
    await runTurn(caller, other.sessionId, scripted("and", { text: "then" }));
    const ran = join(worktreeOf(world.hosts[0]!, other.worktreeBranch!), "ran.txt");
    assert.equal(existsSync(ran), false);
    const log = await logOf(caller, other.sessionId);
    assert.deepEqual([updatesOf(log, "shell_started"), updatesOf(log, "shell")], [[], []]);
    await caller.end_session({ sessionId });
    assertRefused(await caller.try("run_shell", input), 409, "session_ended");
  },
);

scenario(
  "The call is audited with who, when and where; the command's text is found on the host alone",
  ["run_shell.audited", "run_shell.text_unrecorded"],
  async ({ world, caller }) => {
    const host = await world.addHost({ agents: AgentKind.options });
    // The mark is in the command and not in what it writes.
    const mark = "canary-8c1f27d0";
    const command = `printf %s ${mark} | wc -c > counted.txt; cat counted.txt`;
    const shellIds: string[] = [];
    const sessionIds: string[] = [];
    const seen: unknown[] = [];
    for (const agentKind of AgentKind.options) {
      const { sessionId, capabilities } = await startSession(caller, host, { agentKind });
      assert.ok(capabilities.includes("shell"), agentKind);
      await using viewer = await readSession(world.baseUrl, caller.key, sessionId);
      const keyed = { idempotencyKey: `shell-canary-${agentKind}` };
      const { shellId } = await caller.run_shell({ sessionId, command }, keyed);
      const again = await caller.run_shell({ sessionId, command }, keyed);
      assert.deepEqual(again, { sessionId, shellId });
      await untilLogged(caller, sessionId, "shell");
      const log = await logOf(caller, sessionId);
      const [entry, ...others] = updatesOf(log, "shell");
      assert.equal(entry!.output.trim(), String(mark.length));
      assert.deepEqual(others, [], "once");
      await runTurn(caller, sessionId, scripted("and", { text: "then" }));
      shellIds.push(shellId);
      sessionIds.push(sessionId);
      seen.push(viewer.entries, viewer.live);
    }

    const { entries } = await caller.list_audit_entries({ limit: 50 });
    const audited = entries.filter(({ action }) => action === "run_shell");
    for (const sessionId of sessionIds) {
      const each = audited.find((entry) => JSON.stringify(entry).includes(sessionId));
      assert.ok(each?.actor && each.at, sessionId);
    }

    const monitor = await Promise.all(
      ["/connz?subs=1", "/varz", "/subsz?subs=1"].map(async (path) => {
        const [server] = world.nats!.servers;
        return (await request(server!.monitorUrl, path)).text;
      }),
    );
    // Until it has exited, the daemon writes files and renames them.
    const exited = once(host.process, "exit");
    host.process.kill("SIGTERM");
    await exited;
    await untilStatus(caller, host.instanceId, "offline");
    const journal = readdirSync(host.stateDirectory, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile() && !file.parentPath.includes("worktrees"))
      .map((file) => join(file.parentPath, file.name))
      .filter((path) => !path.includes("/agents/"))
      .map((path) => readFileSync(path, "latin1"));
    const places = [
      await dumpDatabase(world.database.url),
      JSON.stringify(world.nodes.map((node) => node.log)),
      JSON.stringify(host.log),
      ...(await Promise.all(sessionIds.map((id) => logOf(caller, id)))).map((log) =>
        JSON.stringify(log),
      ),
      JSON.stringify(entries),
      JSON.stringify(seen),
      ...monitor,
      ...journal,
    ];
    const [hex, base64] = (["hex", "base64"] as const).map((as) => Buffer.from(mark).toString(as));
    for (const spelling of [mark, hex!, base64!]) {
      assert.deepEqual(
        places.filter((place) => place.includes(spelling)).map((place) => place.slice(0, 80)),
        [],
      );
    }
    for (const shellId of shellIds) {
      const found = places.filter((place) => place.includes(shellId)).length;
      assert.ok(found >= 3, "the search finds");
    }
  },
);
