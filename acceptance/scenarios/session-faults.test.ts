// Sessions of the real opencode while something dies: the agent, the daemon, a node. What the record
// and the log say is true within seconds, and nothing runs twice.
import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { agentServerPids } from "@hawser/testkit/agent-pids.ts";
import { runDaemon, untilStatus, type TestHost } from "@hawser/testkit/host.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import {
  bash,
  logOf,
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  slowly,
  startSession,
  untilAsked,
  untilEnd,
  updatesOf,
  untilKindsListed,
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 1 });

const serversOf = ({ environment }: TestHost) => agentServerPids(environment["HOME"]!);

scenario(
  "A killed agent is shown as an error within five seconds, and the next prompt restarts it with its memory",
  [],
  async ({ world, caller }) => {
    const host = await world.addHost();
    const { sessionId } = await startSession(caller, host);
    await runTurn(caller, sessionId, scripted("remember the word", { text: "kept" }));
    const { turnId } = await caller.send_prompt({ sessionId, text: scripted("long", slowly()) });
    await until(
      "running",
      20_000,
      () => caller.get_session_summary({ sessionId }),
      ({ live }) => live?.status === "running",
    );
    const [server] = serversOf(host);
    process.kill(server!, "SIGKILL");
    const killed = performance.now();
    await until(
      "error",
      6_000,
      () => caller.get_session_summary({ sessionId }),
      ({ status, statusReason }) => status === "error" && statusReason !== null,
    );
    assert.ok(performance.now() - killed < 5_500);
    assert.equal(outcomeOf(await untilEnd(caller, sessionId, turnId)), "interrupted");

    const next = await runTurn(caller, sessionId, scripted("again", { text: "back" }));
    assert.deepEqual([outcomeOf(next), saidIn(next)], ["completed", ["back"]]);
    assert.equal((await caller.get_session_summary({ sessionId })).status, "active");
    const told = JSON.stringify(world.model!.requests.at(-1)!.body);
    assert.ok(told.includes("remember the word"), "the agent knows the earlier conversation");
  },
);

scenario(
  "A daemon killed during a turn resumes the turn, which went on, and its open request",
  [],
  async ({ world, caller }) => {
    const host = await world.addHost();
    const { sessionId } = await startSession(caller, host);
    const other = await startSession(caller, host);
    const words = "a b c d e f g h";
    const streaming = await caller.send_prompt({
      sessionId,
      text: scripted("stream", { text: words, paceMs: 500 }),
    });
    const waiting = await caller.send_prompt({
      sessionId: other.sessionId,
      text: scripted("wait", bash("true"), { text: "allowed" }),
    });
    const { requestId } = await untilAsked(caller, other.sessionId);
    const before = serversOf(host);
    host.process.kill("SIGKILL");
    await untilStatus(caller, host.instanceId, "offline");
    await using _again = runDaemon(host.stateDirectory, host.environment);
    await untilStatus(caller, host.instanceId, "online");
    const events = await untilEnd(caller, sessionId, streaming.turnId);
    assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", [words]]);
    assert.deepEqual(await caller.answer_permission({ requestId, answer: "once" }), {
      status: "answered",
    });
    const settled = await untilEnd(caller, other.sessionId, waiting.turnId);
    assert.deepEqual([outcomeOf(settled), saidIn(settled)], ["completed", ["allowed"]]);
    assert.deepEqual(serversOf(host), before, "the agent was taken over, not started again");
    for (const id of [sessionId, other.sessionId])
      assert.equal(updatesOf(await logOf(caller, id), "turn_started").length, 1);
  },
);

scenario(
  "If a host has lost its journal, its sessions are in error, and no call waits for them",
  [],
  async ({ world, caller }) => {
    const host = await world.addHost();
    const { sessionId } = await startSession(caller, host);
    const other = await startSession(caller, host);
    await caller.send_prompt({ sessionId, text: scripted("long", slowly()) });
    await caller.send_prompt({ sessionId, text: scripted("next", { text: "never" }) });
    await caller.send_prompt({
      sessionId: other.sessionId,
      text: scripted("wait", bash("true"), { text: "allowed" }),
    });
    const { requestId } = await untilAsked(caller, other.sessionId);
    host.process.kill("SIGKILL");
    await untilStatus(caller, host.instanceId, "offline");
    for (const name of readdirSync(host.stateDirectory))
      if (name.startsWith("journal-"))
        rmSync(join(host.stateDirectory, name), { recursive: true, force: true });

    const waiting = caller.wait_for_session({ sessionId, timeoutSeconds: 20 });
    await using _again = runDaemon(host.stateDirectory, host.environment);
    const { timedOut, status, activity } = await waiting;
    assert.deepEqual([timedOut, status, activity], [false, "error", "idle"]);
    for (const id of [sessionId, other.sessionId]) {
      const found = await caller.get_session_summary({ sessionId: id });
      assert.deepEqual([found.status, found.reachable], ["error", true]);
      assert.equal(found.statusReason, "journal_lost");
      assert.match(found.statusMessage!, /lost its journal/);
    }
    assert.deepEqual((await caller.list_pending_requests({})).requests, []);
    assert.deepEqual(await caller.answer_permission({ requestId, answer: "once" }), {
      status: "already_resolved",
    });

    assert.equal((await caller.end_session({ sessionId })).status, "ended");
    const anew = await startSession(caller, host);
    const events = await runTurn(caller, anew.sessionId, scripted("go", { text: "anew" }));
    assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["anew"]]);
    assert.equal(serversOf(host).length, 1, "the old agent was ended");
  },
);

scenario(
  "Restarting opencode interrupts turns and detaches sessions, and the next prompt resumes them",
  ["restart_opencode.restart", "restart_opencode.interrupts"],
  async ({ world, caller }) => {
    const host = await world.addHost();
    const { instanceId } = host;
    const { sessionId } = await startSession(caller, host);
    const { turnId } = await caller.send_prompt({ sessionId, text: scripted("long", slowly()) });
    await until(
      "running",
      20_000,
      () => caller.get_session_summary({ sessionId }),
      ({ live }) => live?.status === "running",
    );
    const before = serversOf(host);
    const restarted = await caller.restart_opencode({ instanceId });
    assert.deepEqual(restarted.detachedSessionIds, [sessionId]);
    assert.equal(outcomeOf(await untilEnd(caller, sessionId, turnId)), "interrupted");
    await until(
      "detached",
      10_000,
      () => caller.get_session_summary({ sessionId }),
      ({ status }) => status === "detached",
    );
    const next = await runTurn(caller, sessionId, scripted("go on", { text: "going on" }));
    assert.deepEqual(saidIn(next), ["going on"]);
    assert.equal((await caller.get_session_summary({ sessionId })).status, "active");
    const after = serversOf(host);
    assert.equal(after.length, 1);
    assert.notDeepEqual(after, before);
  },
);

scenario(
  "The record of a session shows that its host is offline, and no live state",
  ["get_session_summary.row", "get_session_summary.live", "get_session_summary.capabilities"],
  async ({ world, caller }) => {
    const host = await world.addHost();
    const { sessionId } = await startSession(caller, host, { title: "here" });
    const online = await caller.get_session_summary({ sessionId });
    assert.deepEqual(Object.keys(online.live!).sort(), ["model", "status", "title", "usage"]);
    const { agentKinds } = await untilKindsListed(caller, host.instanceId);
    const kind = agentKinds.find((each) => each.kind === "opencode")!;
    assert.deepEqual([...online.capabilities].sort(), [...kind.capabilities].sort());
    host.process.kill("SIGKILL");
    await untilStatus(caller, host.instanceId, "offline");
    const offline = await caller.get_session_summary({ sessionId });
    assert.deepEqual(
      [offline.live, offline.reachable, offline.status, offline.title],
      [null, false, "active", "here"],
    );
  },
);
