// A running node: builds every part, connects them, and closes them again in order. `main.ts` decides
// when; no other file knows all the parts.
import { once } from "node:events";
import type { Server } from "node:http";
import { createAuthenticator } from "./access/authenticate.ts";
import { createReadCounts } from "./audit/read-counts.ts";
import { createBlobs } from "./blobs/blobs.ts";
import { deleteCutUploads } from "./blobs/store.ts";
import { ConfigError, type Config } from "./config.ts";
import { createDispatcher } from "./dispatch/dispatcher.ts";
import { deleteExpired } from "./dispatch/idempotency-store.ts";
import { createTokenBuckets } from "./dispatch/token-bucket.ts";
import type { OrganizationFeed } from "./events/organization-feed.ts";
import { createFiles } from "./files/files.ts";
import { deleteUnusedBlobs, deleteUnusedFiles } from "./files/store.ts";
import { followsWithoutNotices, noHosts, noViewers, createHostLink } from "./host-link.ts";
import { createLog } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { joinNodes } from "./nodes.ts";
import { openDatabase } from "./postgres/database.ts";
import { pendingMigrations } from "./postgres/migrate.ts";
import { systemStatement } from "./postgres/statement.ts";
import { calledFromBelow, codeApi, handlers, type Services } from "./product.ts";
import { readMasterKeys } from "./secrets/master-key.ts";
import { randomSecret } from "./secrets/secrets.ts";
import { ensureLogPartitions } from "./session-log/log-partitions.ts";
import { agentPackageRoute } from "./transports/agent-packages.ts";
import { eventStreamTransport, type Feed } from "./transports/event-stream.ts";
import { fileRoutes } from "./transports/file-routes.ts";
import { createStreamLimit } from "./transports/open-limit.ts";
import { releaseRoutes } from "./transports/releases.ts";
import { createHttpServer } from "./transports/serve.ts";
import { sessionStreamTransport } from "./transports/session-stream.ts";

export interface RunningNode {
  stop(): Promise<void>;
}

const ping = systemStatement<{ ok: number }>("check that the database answers", `SELECT 1 AS ok`);
const beatEveryMs = 5_000;
const partitionsEveryMs = 3_600_000;
const longestDrainMs = 10_000;

export async function startNode(config: Config): Promise<RunningNode> {
  await refuseUnready(config.databaseUrl);
  const log = createLog(config.logLevel);
  const database = openDatabase({
    url: config.databaseUrl,
    ...config.database,
    onIdleError: (error) => log.warn({ err: error }, "an idle database connection was lost"),
  });
  const masterKeys = await readMasterKeys(config);
  const pepper = await randomSecret(database.system, masterKeys, "idempotency");
  await ensureLogPartitions(database.system);
  const authenticator = createAuthenticator(database.system);
  const readCounts = createReadCounts(database.system);
  const buckets = createTokenBuckets(config.rateLimit);
  const metrics = createMetrics();
  const nodes = await joinNodes(database.system);
  const blobs = createBlobs(database);
  const link =
    config.natsUrls.length > 0
      ? await createHostLink({
          config,
          database,
          blobs,
          masterKeys,
          nodeId: nodes.nodeId,
          countRefusal: () => metrics.countOverLogQuota(),
          log,
        })
      : undefined;
  const files = createFiles(database, blobs);
  const services: Services = {
    ...calledFromBelow,
    authenticator,
    baseUrl: config.baseUrl,
    hosts: link?.hosts ?? noHosts,
    viewers: link?.viewers ?? noViewers,
    follows: link?.follows ?? followsWithoutNotices(database.system),
    files,
  };
  const dispatcher = createDispatcher({
    actions: codeApi.actions,
    handlers,
    services,
    database,
    authenticate: (authorization) => authenticator.authenticate(authorization),
    buckets,
    pepper,
    readCounts,
    log,
    observe: (call) => metrics.observeCall(call),
  });
  const streams = createStreamLimit(config.streams);
  let draining = false;
  let liveBefore = 1;
  const server = createHttpServer({
    product: codeApi,
    dispatcher,
    baseUrl: config.baseUrl,
    async unready() {
      if (draining) return "draining";
      return database.system.first(ping).then(
        () => link?.unready(),
        () => "the database does not answer",
      );
    },
    more: [
      releaseRoutes(config.releases, config.baseUrl),
      agentPackageRoute(config.agentPackages),
      fileRoutes({ dispatcher, files, log }),
      ...(link
        ? [
            ...link.routes,
            eventStreamTransport(dispatcher, visibleEvents(link.feed), streams),
            sessionStreamTransport(dispatcher, link.views, streams),
          ]
        : []),
    ],
  });
  link?.attach(server);
  await listen(server, config.listen);
  await listen(metrics.server, config.metricsListen);

  const beats = setInterval(() => void beat(), beatEveryMs);
  const partitions = setInterval(() => void makePartitions(), partitionsEveryMs);
  log.info(
    { nodeId: nodes.nodeId, baseUrl: config.baseUrl, address: server.address() },
    "node ready",
  );

  /** Returns whether the database could be reached. */
  async function beat(): Promise<boolean> {
    try {
      const live = await nodes.beat();
      if (live < liveBefore) link?.nodeLost();
      liveBefore = live;
      buckets.share(live);
      await Promise.all([
        readCounts.flush(),
        link?.flushCounts(),
        authenticator.noteUses(),
        database.system.rows(deleteExpired),
        database.system.rows(deleteCutUploads),
        database.system.rows(deleteUnusedBlobs),
        database.system.rows(deleteUnusedFiles),
      ]);
      return true;
    } catch (error) {
      log.warn({ err: error }, "heartbeat failed");
      return false;
    }
  }

  async function makePartitions(): Promise<void> {
    await ensureLogPartitions(database.system).catch((error: unknown) =>
      log.warn({ err: error }, "the session log's next partitions could not be created"),
    );
  }

  return {
    async stop() {
      draining = true;
      log.info({ nodeId: nodes.nodeId }, "node stopping");
      clearInterval(beats);
      clearInterval(partitions);
      // Links are not calls: end them first, or the server would wait for them.
      const drained = drain(server);
      await link?.close();
      await drained;
      metrics.server.close();
      // Wait for an unreachable database only once: the other nodes notice a node that does not leave.
      if (await beat()) {
        await nodes.leave().catch((error: unknown) => log.warn({ err: error }, "leaving failed"));
      }
      await database[Symbol.asyncDispose]();
      log.info({ nodeId: nodes.nodeId }, "node stopped");
    },
  };
}

const permissionToSee = {
  instance: "instances:view",
  session: "sessions:view",
  request: "sessions:view",
} as const;

/** Delivers to each caller the events of the records that the caller may see. */
function visibleEvents(feed: OrganizationFeed): Feed {
  return {
    mayFollow: ({ permissions }) =>
      Object.values(permissionToSee).some((needed) => permissions.has(needed)),
    follow: ({ organizationId, permissions }, viewer) =>
      feed.follow(organizationId, (event) => {
        if (event.type === "resync" || permissions.has(permissionToSee[event.record]))
          viewer(event);
      }),
  };
}

async function refuseUnready(databaseUrl: string): Promise<void> {
  const pending = await pendingMigrations(databaseUrl).catch((cause: unknown) => {
    throw new ConfigError(`PostgreSQL cannot be reached: ${(cause as Error).message}`, { cause });
  });
  if (pending.length === 0) return;
  throw new ConfigError(
    `The database lacks ${pending.join(", ")}. Run "hawser-control-plane migrate" first.`,
  );
}

async function listen(
  server: Server,
  { host, port }: { host: string; port: number },
): Promise<void> {
  server.listen(port, host);
  await once(server, "listening").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "EADDRINUSE") throw cause;
    throw new ConfigError(
      `The address ${host}:${port} is already in use. Stop what listens there, or choose another.`,
    );
  });
}

/** Accepts no new connection, lets running calls finish, and ends those that do not finish in time. */
async function drain(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const force = setTimeout(() => server.closeAllConnections(), longestDrainMs);
  await closed;
  clearTimeout(force);
}
