// The whole product in one call, from real parts, on free loopback ports: a PostgreSQL database, any number
// of control-plane nodes and hosts, and two organizations with keys. Tests, benches and the demo use it.
// Disposing of it removes everything it made.
import { randomBytes } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentKind, Permission } from "@hawser/contract";
import {
  keepFabricKeys,
  makeFabricKeys,
  type FabricKeys,
} from "@hawser/control-plane/fabric/fabric-keys.ts";
import { openDatabase, type Database } from "@hawser/control-plane/postgres/database.ts";
import { createCaller, type Caller } from "./caller.ts";
import { startControlPlaneNode, type ControlPlaneNode } from "./control-plane-node.ts";
import { createDatabase, type TestDatabase } from "./database.ts";
import { freePort } from "./free-port.ts";
import { startHost, type HostOptions, type TestHost } from "./host.ts";
import { masterKeysOf } from "./master-keys.ts";
import { startNats, type Nats } from "./nats.ts";
import { startNoticeProxy, type NoticeProxy } from "./notice-proxy.ts";
import {
  createTestOrganization,
  makeKey,
  type KeyOptions,
  type TestOrganization,
} from "./organization.ts";
import { startPostgres, type PostgresCluster, type PostgresOptions } from "./postgres.ts";
import { openReleases, type Releases } from "./release.ts";
import { removeDirectory } from "./remove-directory.ts";
import { startScriptedModel, type ScriptedModel } from "./scripted-model.ts";

export interface WorldOptions {
  nodes?: number;
  /** How many paired hosts, each a daemon process. NATS is started with them. */
  hosts?: number;
  /** The real agents that hosts have, set up to ask a scripted model; true is opencode alone. */
  agents?: boolean | readonly AgentKind[];
  /** How many nats-servers; by default one if there are hosts. */
  nats?: 1 | 3;
  /** Lets nodes reach their one nats-server through a proxy that can drop messages. */
  noticeProxy?: boolean;
  /** Starts a PostgreSQL cluster of its own with these options, instead of using the one of the test run. */
  postgres?: Omit<PostgresOptions, "port">;
  /** The first node's port, for the demo; PostgreSQL uses the next one. By default ports are free ones. */
  port?: number;
  /** Browsers open the nodes as localhost: they make passkeys for names only. */
  named?: boolean;
  /** Restarts nodes when a source file changes. */
  reload?: boolean;
  /** Publishes the present daemon, so that the install command works. */
  releases?: boolean;
  /** Uses this PostgreSQL cluster, and disposes of it. By default a shared or a new one. */
  cluster?: PostgresCluster;
  /** Called with a line before each part is started. */
  say?: (line: string) => void;
  /** Settings for every node. */
  environment?: Record<string, string>;
}

export interface World extends AsyncDisposable {
  baseUrl: string;
  /** The first node's address for browsers. */
  pageUrl: string;
  nodes: ControlPlaneNode[];
  hosts: TestHost[];
  nats: (Nats & { keys: FabricKeys }) | undefined;
  /** The proxy between nodes and NATS; undefined without `noticeProxy`. */
  notices: NoticeProxy | undefined;
  releases: Releases | undefined;
  /** The model that the hosts' agents ask; undefined without `agents`. */
  model: ScriptedModel | undefined;
  organizations: [TestOrganization, TestOrganization];
  database: TestDatabase;
  masterKeyFile: string;
  /** Calls with the first organization's owner key. */
  caller: Caller;
  callerFor(key: string, node?: number): Caller;
  /** Creates a key of an organization with exactly these permissions. */
  makeKey(
    organization: TestOrganization,
    permissions: readonly Permission[],
    options?: KeyOptions,
  ): Promise<string>;
  /** Pairs and starts one more host of the first organization. It runs the published release if there is one. */
  addHost(options?: HostOptions): Promise<TestHost>;
  /** Starts one more node on the same database, with these further settings. */
  addNode(environment?: Record<string, string>): Promise<ControlPlaneNode>;
  /** Starts the first node again, at its address. A test has killed it. */
  restartNode(): Promise<void>;
  /** The service's own connections to the database. */
  sql: Database;
}

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  await using startup = new AsyncDisposableStack();
  let parts = startup;
  const say = options.say ?? (() => {});
  say("Starting PostgreSQL …");
  const own =
    options.port || options.postgres
      ? await startPostgres({
          ...options.postgres,
          ...(options.port !== undefined && { port: options.port + 1 }),
        })
      : undefined;
  const database = parts.use(await createDatabase(options.cluster ?? own));
  const directory = mkdtempSync(join(tmpdir(), "hawser-world-"));
  parts.defer(() => removeDirectory(directory));
  const masterKeyFile = join(directory, "master-key");
  const masterKey = randomBytes(32);
  writeFileSync(masterKeyFile, masterKey.toString("hex"), { mode: 0o600 });
  const sql = parts.use(
    openDatabase({ url: database.url, connections: 4, patienceMs: 10_000, onIdleError: () => {} }),
  );
  const organizations: World["organizations"] = [
    await createTestOrganization(sql, "Acme", "ada@acme.example"),
    await createTestOrganization(sql, "Globex", "grace@globex.example"),
  ];
  const servers = options.nats ?? (options.hosts ? 1 : undefined);
  if (servers) say(servers === 1 ? "Starting nats-server …" : `Starting ${servers} nats-servers …`);
  const nats = servers && parts.use(await startFabric(sql, masterKey, servers));
  const notices =
    nats && options.noticeProxy ? parts.use(await startNoticeProxy(portOf(nats.urls))) : undefined;
  const fabric: Record<string, string> = nats
    ? {
        HAWSER_NATS_URLS: notices ? `127.0.0.1:${notices.port}` : nats.urls.join(","),
        HAWSER_NATS_WEBSOCKETS: nats.websockets.join(","),
      }
    : {};
  if (options.releases) say("Building a release of the daemon …");
  const releases = options.releases ? parts.use(await openReleases()) : undefined;
  const published: Record<string, string> = releases ? { HAWSER_RELEASES: releases.directory } : {};
  const kinds = options.agents === true ? (["opencode"] as const) : options.agents || [];
  const model = kinds.length > 0 ? parts.use(await startScriptedModel()) : undefined;
  const nodes: ControlPlaneNode[] = [];
  const startNode = async (port: number, own: Record<string, string>) => {
    const node = await startControlPlaneNode({
      databaseUrl: database.url,
      masterKeyFile,
      reload: options.reload ?? false,
      environment: {
        HAWSER_LOG_LEVEL: "info",
        ...fabric,
        ...published,
        ...(options.named && { HAWSER_BASE_URL: `http://localhost:${port}` }),
        ...options.environment,
        ...own,
      },
      port,
    });
    return parts.use(node);
  };
  const addNode = async (own: Record<string, string> = {}) => {
    say(`Starting node ${nodes.length + 1} of the control plane …`);
    const asked = nodes.length === 0 ? options.port : undefined;
    const node = await startNode(asked ?? (await freePort()), own);
    nodes.push(node);
    return node;
  };
  const restartNode = async () => {
    nodes[0] = await startNode(Number(new URL(nodes[0]!.baseUrl).port), {});
  };
  for (let i = 0; i < (options.nodes ?? 1); i++) await addNode();
  const baseUrl = nodes[0]!.baseUrl;
  const caller = createCaller(baseUrl, organizations[0].keys.owner);
  const hosts: TestHost[] = [];
  const addHost: World["addHost"] = async (own) => {
    const place = join(directory, `host-${hosts.length + 1}`);
    const name = `host ${hosts.length + 1}`;
    say(`Starting ${name}${kinds.length > 0 ? ` with the real ${kinds.join(", ")}` : ""} …`);
    const released = releases && { program: releases.daemon() };
    const agents = model && { modelUrl: model.url, agents: kinds };
    const set = { name, ...released, ...agents, ...own };
    const host = parts.use(await startHost(caller, baseUrl, place, set));
    hosts.push(host);
    return host;
  };
  for (let i = 0; i < (options.hosts ?? 0); i++) await addHost();
  // From here on the world disposes of its parts, not this function.
  const owned = (parts = startup.move());
  return {
    baseUrl,
    pageUrl: options.named ? baseUrl.replace("127.0.0.1", "localhost") : baseUrl,
    nodes,
    organizations,
    database,
    masterKeyFile,
    caller,
    hosts,
    nats,
    notices,
    releases,
    model,
    addHost,
    callerFor: (key, node = 0) => createCaller(nodes[node]!.baseUrl, key),
    makeKey: (organization, permissions, keyOptions) =>
      makeKey(sql, organization.organizationId, permissions, keyOptions),
    addNode,
    restartNode,
    sql,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const portOf = ([url]: string[]) => ({ port: Number(url!.split(":").at(-1)) });

/** Starts the fabric of this database: stores its keys as the service does, and starts its servers. */
async function startFabric(
  sql: Database,
  masterKey: Buffer,
  servers: 1 | 3,
): Promise<Nats & { keys: FabricKeys }> {
  const { keys } = makeFabricKeys();
  await keepFabricKeys(sql.system, masterKeysOf(masterKey), keys);
  return { ...(await startNats({ keys, servers, admitHosts: false })), keys };
}
