// list_models and list_agent_kinds, as the real opencode of a host answers them.
import assert from "node:assert/strict";
import { untilStatus } from "@hawser/testkit/host.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";
import { startSession } from "../session-steps.ts";

useWorld({ agents: true, hosts: 1 });

scenario(
  "Models are listed with their providers and variants, and without any provider's key",
  ["list_models.result", "list_models.agentKind.default"],
  async ({ world, caller }) => {
    const { instanceId } = world.hosts[0]!;
    const listing = await caller.list_models({ instanceId, agentKind: "opencode" });
    assert.deepEqual(await caller.list_models({ instanceId }), listing);
    assert.equal(listing.agentKind, "opencode");
    assert.deepEqual(
      listing.providers.map(({ providerId, models }) => [
        providerId,
        models.map(({ modelId }) => modelId).sort(),
      ]),
      [["stub", ["stub-1", "stub-small"]]],
    );
    assert.deepEqual(listing.defaultModel, { providerId: "stub", modelId: "stub-1" });
    const [large] = listing.providers[0]!.models.filter(({ modelId }) => modelId === "stub-1");
    assert.ok(large!.variants.includes("high"));
  },
);

scenario(
  "Each kind shows whether it is installed and works, and its capabilities; each offered option is accepted",
  ["list_agent_kinds.result", "record.agentKind.options"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { instanceId } = host;
    const { agentKinds, live } = await caller.list_agent_kinds({ instanceId });
    assert.equal(live, true);
    assert.deepEqual(
      agentKinds.map(({ kind, installed, authenticated }) => [kind, installed, authenticated]),
      [
        ["opencode", true, true],
        ["claude_code", false, false],
        ["codex", false, false],
      ],
    );
    const [opencode, ...others] = agentKinds;
    assert.deepEqual([opencode!.version, opencode!.problems], ["1.18.33", []]);
    for (const capability of ["questions", "subAgents"] as const)
      assert.ok(opencode!.capabilities.includes(capability));
    for (const { problems } of others) assert.ok(problems.length > 0);
    assert.ok(opencode!.options.length > 0);
    for (const { id, values } of opencode!.options) {
      for (const value of values) {
        const { sessionId } = await startSession(caller, host, { options: { [id]: value } });
        await caller.delete_session({ sessionId });
      }
    }
  },
);

scenario(
  "For an offline host the models are refused, and the last known kinds are listed",
  [],
  async ({ world, caller }) => {
    const host = await world.addHost();
    const { instanceId } = host;
    const before = await caller.list_agent_kinds({ instanceId });
    host.process.kill("SIGKILL");
    await untilStatus(caller, instanceId, "offline");
    assertRefused(await caller.try("list_models", { instanceId }), 409, "host_offline");
    const after = await caller.list_agent_kinds({ instanceId });
    assert.equal(after.live, false);
    assert.deepEqual(after.agentKinds, before.agentKinds);
  },
);
