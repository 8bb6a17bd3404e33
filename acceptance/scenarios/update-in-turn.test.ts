// The daemon replaces itself while the real opencode works: the turn goes on, and what it asked is
// answered afterwards.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { agentServerPids } from "@hawser/testkit/agent-pids.ts";
import { createRepository } from "@hawser/testkit/git-repository.ts";
import { writePolicy } from "@hawser/testkit/host.ts";
import { installHost } from "@hawser/testkit/installed-host.ts";
import { renamed } from "@hawser/testkit/release.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import {
  bash,
  logOf,
  outcomeOf,
  saidIn,
  scripted,
  untilAsked,
  untilEnd,
  updatesOf,
} from "../session-steps.ts";

useWorld({ nats: 1, releases: true, agents: true });

const directory = mkdtempSync(join(tmpdir(), "hawser-update-in-turn-"));
after(() => removeDirectory(directory));

scenario(
  "update_agent during a turn with an open permission: the turn goes on, and the permission is answered after the update",
  ["update_agent.opencode_kept"],
  async ({ world, caller }) => {
    const releases = world.releases!;
    releases.publishProgram("0.1.0", renamed("0.1.0"));
    const stateDirectory = join(directory, "state");
    mkdirSync(stateDirectory);
    const root = join(directory, "projects");
    const repository = createRepository(join(root, "widget"));
    writePolicy({ stateDirectory }, `installs = yes\nroot = ${root}\n`);
    await using host = await installHost({
      caller,
      baseUrl: world.baseUrl,
      releases,
      stateDirectory,
      modelUrl: world.model!.url,
    });
    const { instanceId } = host;
    const start = { instanceId, directory: repository };
    const asking = await caller.start_session(start);
    const talking = await caller.start_session(start);
    const asked = await caller.send_prompt({
      sessionId: asking.sessionId,
      text: scripted("ask", bash("true"), { text: "allowed" }),
    });
    const { requestId } = await untilAsked(caller, asking.sessionId);
    const words = Array.from({ length: 16 }, (_, i) => `word${i}`).join(" ");
    const told = await caller.send_prompt({
      sessionId: talking.sessionId,
      text: scripted("talk", { text: words, paceMs: 500 }),
    });
    const servers = agentServerPids(`${stateDirectory}-home`);
    assert.equal(servers.length, 1);

    releases.publishProgram("0.2.0", renamed("0.2.0"));
    await caller.update_agent({ instanceId });
    await until(
      "the new version",
      30_000,
      () => caller.get_instance({ instanceId }),
      ({ daemonVersion, status }) => daemonVersion === "0.2.0" && status === "online",
    );
    assert.deepEqual(await caller.answer_permission({ requestId, answer: "once" }), {
      status: "answered",
    });
    const settled = await untilEnd(caller, asking.sessionId, asked.turnId);
    assert.deepEqual([outcomeOf(settled), saidIn(settled)], ["completed", ["allowed"]]);
    const spoken = await untilEnd(caller, talking.sessionId, told.turnId);
    assert.deepEqual([outcomeOf(spoken), saidIn(spoken)], ["completed", [words]]);
    assert.deepEqual(agentServerPids(`${stateDirectory}-home`), servers, "opencode ran on");
    for (const { sessionId } of [asking, talking]) {
      const events = await logOf(caller, sessionId);
      assert.equal(updatesOf(events, "turn_started").length, 1);
    }
  },
);
