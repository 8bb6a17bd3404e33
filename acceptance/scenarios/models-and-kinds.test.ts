// list_models and list_agent_kinds, as the real opencode of a host answers them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agentProgram } from "@hawser/testkit/agent-programs.ts";
import { untilStatus } from "@hawser/testkit/host.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import { runTurn, saidIn, scripted, startSession, untilKindsListed } from "../session-steps.ts";

useWorld({ agents: true, hosts: 1 });

scenario(
  "Models are listed with their providers and variants, and without any provider's key",
  ["list_models.result", "record.models.providers"],
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
  "A session without a model runs on the listed default, which is the host's own setting",
  ["record.models.default"],
  async ({ world, caller }) => {
    const other = await world.addHost();
    const file = join(other.environment["HOME"]!, ".config/opencode/opencode.json");
    const settings = JSON.parse(readFileSync(file, "utf8")) as object;
    // Written before the agent starts, because it reads its settings at its start.
    writeFileSync(file, JSON.stringify({ ...settings, model: "stub/stub-small" }));
    for (const [host, modelId] of [
      [world.hosts[0]!, "stub-1"],
      [other, "stub-small"],
    ] as const) {
      const { defaultModel } = await caller.list_models({ instanceId: host.instanceId });
      assert.deepEqual(defaultModel, { providerId: "stub", modelId });
      const { sessionId } = await startSession(caller, host);
      await runTurn(caller, sessionId, scripted(`by default on ${modelId}`, { text: "ok" }));
      const asked = world.model!.requests.filter(({ prompt }) =>
        prompt.includes(`by default on ${modelId}`),
      );
      assert.deepEqual(
        asked.map(({ model }) => model),
        [modelId],
      );
    }
  },
);

scenario(
  "A host's default kind is the first that is ready there, for models and for sessions",
  ["list_models.agentKind.default", "start_session.agentKind.default"],
  async ({ world, caller }) => {
    const hosts = [
      [world.hosts[0]!, "opencode"],
      [await world.addHost({ agents: ["codex"] }), "codex"],
    ] as const;
    for (const [host, agentKind] of hosts) {
      const { instanceId } = host;
      const listing = await caller.list_models({ instanceId });
      assert.equal(listing.agentKind, agentKind);
      assert.deepEqual(listing, await caller.list_models({ instanceId, agentKind }));
      const session = await startSession(caller, host);
      assert.equal(session.agentKind, agentKind);
      const text = scripted("who answers", { text: `I am ${agentKind}.` });
      assert.deepEqual(saidIn(await runTurn(caller, session.sessionId, text)), [
        `I am ${agentKind}.`,
      ]);
    }
  },
);

scenario(
  "A kind is authenticated once its owner has logged in on the host",
  ["record.agentKind.authenticated"],
  async ({ world, caller }) => {
    const host = await world.addHost({ agents: ["codex"] });
    const { instanceId } = host;
    const home = join(host.environment["HOME"]!, ".codex");
    // Without a provider of its own codex needs a login.
    rmSync(join(home, "config.toml"));
    const codex = async () => {
      const { agentKinds } = await caller.list_agent_kinds({ instanceId });
      return agentKinds.find(({ kind }) => kind === "codex")!;
    };
    const before = await codex();
    assert.deepEqual([before.installed, before.authenticated], [true, false]);
    assert.ok(before.problems.length > 0);
    const where = { instanceId, directory: host.repository, agentKind: "codex" };
    assertRefused(await caller.try("start_session", where), 409, "agent_not_ready");

    const program = await agentProgram("codex");
    const environment = { ...process.env, HOME: host.environment["HOME"], CODEX_HOME: home };
    execFileSync(program, ["login", "--with-api-key"], {
      env: environment,
      input: "sk-not-a-real-key",
      stdio: ["pipe", "pipe", "pipe"],
    });
    const after = await until("the login", 30_000, codex, ({ authenticated }) => authenticated);
    assert.deepEqual(after.problems, []);
    assert.equal((await caller.try("start_session", where)).status, 200);
  },
);

scenario(
  "Each kind shows whether it is installed and works, and its capabilities; each offered option is accepted",
  ["list_agent_kinds.result", "record.agentKind.options"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { instanceId } = host;
    const { agentKinds, live } = await untilKindsListed(caller, instanceId);
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
    const before = await untilKindsListed(caller, instanceId);
    host.process.kill("SIGKILL");
    await untilStatus(caller, instanceId, "offline");
    assertRefused(await caller.try("list_models", { instanceId }), 409, "host_offline");
    const after = await caller.list_agent_kinds({ instanceId });
    assert.equal(after.live, false);
    assert.deepEqual(after.agentKinds, before.agentKinds);
  },
);
