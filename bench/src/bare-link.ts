// The bare counterpart of the host link: a nats-server of the product's configuration, a bare node and
// bare hosts, which do only the work of a command.
import { fork, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseId } from "@hawser/contract";
import { encodeClaims } from "@hawser/control-plane/fabric/claims.ts";
import { makeFabricKeys, type FabricKeys } from "@hawser/control-plane/fabric/fabric-keys.ts";
import { createHostTokens } from "@hawser/control-plane/fabric/host-token.ts";
import { makeNkey, makeSigningKey, nkeyFromSeed, signCommand } from "@hawser/host-protocol";
import { startNats, type NatsServer } from "@hawser/testkit/nats.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import type { World } from "@hawser/testkit/world.ts";
import type { BareHostsOrders } from "./bare-hosts.ts";
import type { BareNodeOrders, BareParts } from "./bare-node.ts";
import { callersOrganization } from "./seed.ts";
import { connections } from "./stage.ts";
import { ask } from "./workers.ts";

export interface BareHosts extends AsyncDisposable {
  pid: number;
  online(): Promise<number>;
  /** Median time of a command's commits, in milliseconds. */
  commits(calls: number): Promise<number>;
}

export interface BareLink extends AsyncDisposable {
  /** Address to which commands are posted, as for the product. */
  url: string;
  pid: number;
  nats: NatsServer;
  /** Starts hosts in one separate process, for these instances of the world. */
  addHosts(instanceIds: string[]): Promise<BareHosts>;
  parts(instanceId: string, calls: number): Promise<BareParts>;
  /** All latencies of bare request and reply over NATS, sorted, in milliseconds. */
  ping(order: BareNodeOrders["ping"]): Promise<number[]>;
}

const tokenSeconds = 86_400;

/** `instanceId` is an instance of the world with a host; the bare node writes its facts. */
export async function startBareLink(world: World, instanceId: string): Promise<BareLink> {
  await using startup = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "hawser-bare-link-"));
  startup.defer(() => removeDirectory(directory));
  const { keys } = makeFabricKeys();
  const nats = startup.use(await startNats({ keys }));
  const server = nats.servers[0]!;
  const stored = await readFacts(world, instanceId);
  const messages = messagesOf(instanceId, stored);
  const node = startup.adopt(start("./bare-node.ts"), (child) => stopProcess(child));
  const tell = <Result, Name extends keyof BareNodeOrders>(
    name: Name,
    order: BareNodeOrders[Name],
  ): Promise<Result> => ask<Result>(node, { name, order });
  const url = await tell<string, "start">("start", {
    databaseUrl: world.database.url,
    connections,
    nats: { url: server.url, ...nodeUser(keys) },
    organizationId: callersOrganization(world),
    ...stored,
    ...messages,
  });
  const owned = startup.move();
  const tokens = createHostTokens(keys, tokenSeconds);
  return {
    url,
    pid: node.pid!,
    nats: server,
    async addHosts(instanceIds) {
      const child = owned.adopt(start("./bare-hosts.ts"), (each) => stopProcess(each, "SIGKILL"));
      const tellHosts = <Result, Name extends keyof BareHostsOrders>(
        name: Name,
        order: BareHostsOrders[Name],
      ): Promise<Result> => ask<Result>(child, { name, order });
      await tellHosts<void, "start">("start", {
        websocket: server.websocket,
        directory,
        ...messages,
        hosts: instanceIds.map((id) => {
          const { publicKey, seed } = makeNkey("user");
          return { instanceId: id, seed, token: tokens.mint(id, publicKey).token };
        }),
      });
      return {
        pid: child.pid!,
        online: () => tellHosts<number, "online">("online", {}),
        commits: (calls) => tellHosts<number, "commits">("commits", { calls }),
        [Symbol.asyncDispose]: () => stopProcess(child, "SIGKILL"),
      };
    },
    parts: (id, calls) => tell<BareParts, "parts">("parts", { instanceId: id, calls }),
    ping: (order) => tell<number[], "ping">("ping", order),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function start(file: string): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), {
    env: { PATH: process.env["PATH"] },
  });
}

function nodeUser(keys: FabricKeys): { token: string; seed: string } {
  const { publicKey, seed } = makeNkey("user");
  const token = encodeClaims(nkeyFromSeed(keys.nodeSigningSeed), {
    subject: publicKey,
    name: "bare node",
    issuedAt: Math.floor(Date.now() / 1000),
    grant: {
      type: "user",
      issuer_account: keys.accountPublicKey,
      subs: -1,
      data: -1,
      payload: -1,
    },
  });
  return { token, seed };
}

interface StoredFacts {
  apiKeyId: string;
  facts: unknown[];
}

async function readFacts(world: World, instanceId: string): Promise<StoredFacts> {
  const organizationId = callersOrganization(world);
  const [instance] = await ownerSql(
    world.database.url,
    `SELECT host, daemon_version, agents::text AS agents, roots::text AS roots, code_hosting_cli,
            warnings::text AS warnings, operations::text AS operations
       FROM instances WHERE organization_id = $1 AND instance_id = $2`,
    [organizationId, parseId("instance", instanceId)],
  );
  const [key] = await ownerSql<{ api_key_id: string }>(
    world.database.url,
    `SELECT api_key_id FROM api_keys WHERE organization_id = $1 LIMIT 1`,
    [organizationId],
  );
  if (!instance?.["host"]) throw new Error(`The instance ${instanceId} has not said hello.`);
  return { apiKeyId: key!.api_key_id, facts: Object.values(instance) };
}

/** The messages, built once in the sizes of the product. */
function messagesOf(instanceId: string, { facts }: StoredFacts) {
  const now = new Date().toISOString();
  const commandId = randomUUID();
  const command = JSON.stringify(
    signCommand(makeSigningKey().privateKey, {
      instanceId,
      commandId,
      issuedAt: now,
      body: {
        command: "refresh_host_facts",
        deadlineAt: now,
        actor: { type: "user", id: commandId },
        payload: {},
      },
    }),
  );
  const [host, daemonVersion, agents, roots, codeHostingCli, warnings, operations] = facts;
  const outcome = {
    result: {
      facts: {
        host,
        daemonVersion,
        agents: JSON.parse(agents as string) as unknown,
        roots: JSON.parse(roots as string) as unknown,
        codeHostingCli,
        warnings: JSON.parse(warnings as string) as unknown,
        operations: JSON.parse(operations as string) as unknown,
      },
      runs: 1,
    },
  };
  return {
    command,
    idle: ` ${command}`,
    outcome: JSON.stringify(outcome),
    reply: JSON.stringify({ commandId, outcome }),
  };
}
