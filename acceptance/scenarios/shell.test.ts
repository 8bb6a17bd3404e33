// Shell commands in sessions, on a host with the real opencode: they run, and their text is nowhere.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parseId } from "@hawser/contract";
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
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 1, environment: { HAWSER_LOG_LEVEL: "debug" } });

scenario(
  "A command runs in the session's directory, and no model is asked",
  ["run_shell.runs", "run_shell.agent.default", "general.accepted.return"],
  async ({ world, caller }) => {
    const { sessionId, capabilities } = await startSession(caller, world.hosts[0]!);
    assert.ok(capabilities.includes("shell"));
    const asked = world.model!.requests.length;
    const command = 'pwd; for i in 1 2; do echo "n$i"; done; sleep 2; exit 5';
    const before = performance.now();
    const { shellId } = await caller.run_shell({ sessionId, command });
    assert.ok(performance.now() - before < 1_900, "answered while it runs");
    await untilLogged(caller, sessionId, "shell");
    const [entry] = updatesOf(await logOf(caller, sessionId), "shell");
    assert.equal(entry!.shellId, shellId);
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
    // As a kind without it would be on record; nobody asks the host then.
    await ownerSql(
      world.database.url,
      "UPDATE sessions SET capabilities = '{}' WHERE session_id = $1",
      [parseId("session", other.sessionId)],
    );
    const without = { sessionId: other.sessionId, command: "echo never" };
    assertRefused(await caller.try("run_shell", without), 409, "capability_missing");
    assert.deepEqual(updatesOf(await logOf(caller, other.sessionId), "shell"), []);
    await caller.end_session({ sessionId });
    assertRefused(await caller.try("run_shell", input), 409, "session_ended");
  },
);

scenario(
  "The call is audited with who, when and where; the command's text is found on the host alone",
  ["run_shell.audited", "run_shell.text_unrecorded"],
  async ({ world, caller }) => {
    const host = await world.addHost();
    const { sessionId } = await startSession(caller, host);
    await using viewer = await readSession(world.baseUrl, caller.key, sessionId);
    // The mark is in the command and not in what it writes.
    const mark = "canary-8c1f27d0";
    const command = `printf %s ${mark} | wc -c > counted.txt; cat counted.txt`;
    const keyed = { idempotencyKey: "shell-canary" };
    const { shellId } = await caller.run_shell({ sessionId, command }, keyed);
    assert.deepEqual(await caller.run_shell({ sessionId, command }, keyed), { sessionId, shellId });
    await untilLogged(caller, sessionId, "shell");
    const [entry, ...others] = updatesOf(await logOf(caller, sessionId), "shell");
    assert.equal(entry!.output.trim(), String(mark.length));
    assert.deepEqual(others, [], "once");
    await runTurn(caller, sessionId, scripted("and", { text: "then" }));

    const { entries } = await caller.list_audit_entries({ limit: 50 });
    const audited = entries.filter(({ action }) => action === "run_shell");
    assert.ok(audited.length > 0);
    for (const each of audited.slice(0, 1)) {
      assert.ok(each.actor && each.at);
      assert.match(JSON.stringify(each), new RegExp(sessionId));
    }

    const monitor = await Promise.all(
      ["/connz?subs=1", "/varz", "/subsz?subs=1"].map(async (path) => {
        const [server] = world.nats!.servers;
        return (await request(server!.monitorUrl, path)).text;
      }),
    );
    host.process.kill("SIGTERM");
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
      JSON.stringify(await logOf(caller, sessionId)),
      JSON.stringify(entries),
      JSON.stringify([viewer.entries, viewer.live]),
      ...monitor,
      ...journal,
    ];
    for (const spelling of [mark, Buffer.from(mark).toString("hex")]) {
      assert.deepEqual(
        places.filter((place) => place.includes(spelling)).map((place) => place.slice(0, 80)),
        [],
      );
    }
    assert.ok(places.filter((place) => place.includes(shellId)).length >= 3, "the search finds");
  },
);
