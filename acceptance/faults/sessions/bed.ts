// The bed of a run of sessions: two nodes, hosts with real agents that each dial through a proxy
// of their own, a scripted model, and a proxy before NATS that can lose the notices of nodes.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentKind } from "@hawser/contract";
import { startAgentHost, type AgentHost } from "@hawser/testkit/agent-host.ts";
import type { ControlPlaneNode } from "@hawser/testkit/control-plane-node.ts";
import { startCuttingProxy, type CuttingProxy } from "@hawser/testkit/cutting-proxy.ts";
import type { NoticeProxy } from "@hawser/testkit/notice-proxy.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import type { ScriptedModel } from "@hawser/testkit/scripted-model.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";
import { balancerOf, livingNodes } from "../balancer.ts";

export interface SessionsBed extends AsyncDisposable {
  world: World;
  model: ScriptedModel;
  /** Of the organization's owner. */
  key: string;
  /** What its hosts' agents are. */
  kinds: readonly AgentKind[];
  hosts: { host: AgentHost; proxy: CuttingProxy }[];
  /** The nodes that were not killed. */
  nodes(): ControlPlaneNode[];
  addNode(): Promise<ControlPlaneNode>;
  notices: NoticeProxy;
}

// The harness retries as fast as it can; the limit is raised for it, not bypassed.
const environment = { HAWSER_RATE_PER_SECOND: "5000", HAWSER_RATE_BURST: "5000" };

export async function makeSessionsBed(
  hostCount: number,
  kinds: readonly AgentKind[],
): Promise<SessionsBed> {
  await using startup = new AsyncDisposableStack();
  const world = startup.use(
    await startWorld({ nodes: 2, nats: 1, noticeProxy: true, agents: true, environment }),
  );
  const directory = mkdtempSync(join(tmpdir(), "hawser-faults-"));
  startup.defer(() => removeDirectory(directory));
  const key = world.organizations[0].keys.owner;
  const { caller } = world;
  const model = world.model!;
  const balancer = balancerOf(world);
  const hosts: SessionsBed["hosts"] = [];
  for (let i = 1; i <= hostCount; i++) {
    const proxy = startup.use(await startCuttingProxy(balancer));
    const serverUrl = `http://127.0.0.1:${proxy.port}`;
    const place = join(directory, `host-${i}`);
    const about = { name: `host ${i}`, modelUrl: model.url, agents: kinds };
    const host = startup.use(await startAgentHost(caller, serverUrl, place, about));
    hosts.push({ host, proxy });
  }
  const owned = startup.move();
  return {
    world,
    model,
    key,
    kinds,
    hosts,
    nodes: () => livingNodes(world),
    addNode: () => world.addNode(),
    notices: world.notices!,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
