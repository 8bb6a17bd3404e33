// The parts of a run: nodes, hosts that each connect through their own proxy, and sessions whose logs they
// write. A proxy leads to any running node, like a balancer.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ControlPlaneNode } from "@hawser/testkit/control-plane-node.ts";
import { startCuttingProxy, type CuttingProxy } from "@hawser/testkit/cutting-proxy.ts";
import { startJournalHost, type JournalHost } from "@hawser/testkit/journal-host.ts";
import { startPostgresPair, type PostgresPair } from "@hawser/testkit/postgres-pair.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";
import { balancerOf, livingNodes } from "./balancer.ts";

export interface BedHost {
  host: JournalHost;
  /** Between the host and the nodes. */
  proxy: CuttingProxy;
  sessionIds: string[];
}

export interface Bed extends AsyncDisposable {
  world: World;
  hosts: BedHost[];
  /** The nodes that were not killed. */
  nodes(): ControlPlaneNode[];
  /** The proxies between the second node and NATS, if requested. */
  fabricProxies: CuttingProxy[];
  /** The primary and its standby, if requested. */
  postgres: PostgresPair | undefined;
  /** Further parts that a fault starts. They are disposed of before the bed. */
  parts: AsyncDisposableStack;
}

interface BedOptions {
  nats: 1 | 3;
  /** The second node reaches NATS through proxies. */
  proxiedNode: boolean;
  /** PostgreSQL has a synchronous standby. */
  standby?: boolean;
  hosts?: number;
  sessionsPerHost?: number;
}

// The harness retries as fast as it can, so the rate limit is raised; it is not bypassed.
const environment = { HAWSER_RATE_PER_SECOND: "5000", HAWSER_RATE_BURST: "5000" };

export async function makeBed(options: BedOptions): Promise<Bed> {
  await using startup = new AsyncDisposableStack();
  const postgres = options.standby ? startup.use(await startPostgresPair()) : undefined;
  const world = startup.use(
    await startWorld({
      nodes: 1,
      nats: options.nats,
      environment,
      ...(postgres && { cluster: postgres }),
    }),
  );
  const directory = mkdtempSync(join(tmpdir(), "hawser-faults-"));
  startup.defer(() => removeDirectory(directory));
  const fabricProxies: CuttingProxy[] = [];
  const around = async (address: string) => {
    const proxy = startup.use(await startCuttingProxy({ port: Number(address.split(":")[1]) }));
    fabricProxies.push(proxy);
    return `127.0.0.1:${proxy.port}`;
  };
  const { urls, websockets } = world.nats!;
  await world.addNode(
    options.proxiedNode
      ? {
          HAWSER_NATS_URLS: await around(urls[0]!),
          HAWSER_NATS_WEBSOCKETS: await around(websockets[0]!),
        }
      : {},
  );
  const nodes = () => livingNodes(world);
  const balancer = balancerOf(world);
  const starting = Array.from({ length: options.hosts ?? 4 }, async (_, i): Promise<BedHost> => {
    const proxy = startup.use(await startCuttingProxy(balancer));
    const serverUrl = `http://127.0.0.1:${proxy.port}`;
    const place = join(directory, `host-${i + 1}`);
    const host = await startJournalHost(world.caller, serverUrl, place, `host ${i + 1}`);
    startup.use(host);
    const { instanceId } = host;
    const count = options.sessionsPerHost ?? 3;
    const sessionIds = await insertSessions(world, world.organizations[0], { instanceId, count });
    return { host, proxy, sessionIds };
  });
  const settled = await Promise.allSettled(starting);
  const hosts = settled.map((each) => {
    if (each.status === "rejected") throw each.reason;
    return each.value;
  });
  const parts = startup.use(new AsyncDisposableStack());
  const owned = startup.move();
  return {
    world,
    hosts,
    nodes,
    fabricProxies,
    postgres,
    parts,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
