// A running node: builds every part, connects them, and closes them again in order. `main.ts` decides
// when; no other file knows all the parts.
import type { Server } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { createAuthenticator } from "./access/authenticate.ts";
import { createCallerCache } from "./access/caller-cache.ts";
import { createReadCounts } from "./audit/read-counts.ts";
import { createBlobs } from "./blobs/blobs.ts";
import { ConfigError, type Config } from "./config.ts";
import { startContinuing } from "./continuations/sweep.ts";
import { createDispatcher } from "./dispatch/dispatcher.ts";
import { createTokenBuckets } from "./dispatch/token-bucket.ts";
import type { OrganizationFeed } from "./events/organization-feed.ts";
import { createExposures } from "./exposures/exposures.ts";
import { createFiles } from "./files/files.ts";
import { followsWithoutNotices, noHosts, noViewers, createHostLink } from "./host-link.ts";
import { createOwedRemovals } from "./identities/owed-removals.ts";
import { startJobs, type Job } from "./jobs.ts";
import { listen } from "./listen.ts";
import { createLog } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { joinNodes } from "./nodes.ts";
import { ReadOnlyDatabase, openDatabase } from "./postgres/database.ts";
import { ownPages, pageRoutes } from "./pages/routes.ts";
import { pendingMigrations } from "./postgres/migrate.ts";
import { makeNextPartitions, readPartitionLeads } from "./postgres/partitions.ts";
import { systemStatement, type SystemSql } from "./postgres/statement.ts";
import { unreachable } from "./postgres/unfit-database.ts";
import { calledFromBelow, codeApi, handlers, type Services } from "./product.ts";
import { purge } from "./purge.ts";
import { createQueueAges } from "./queue-ages.ts";
import { startSweeping } from "./schedules/sweep.ts";
import { readCookie, sessionCookie } from "./sign-in/cookies.ts";
import { createLazyProviders } from "./sign-in/providers.ts";
import { refreshProviders } from "./sign-in/refresh-providers.ts";
import { removeOldSignIns } from "./sign-in/remove-old.ts";
import { signInRoutes } from "./sign-in/routes.ts";
import { createSealing } from "./sign-in/sealing.ts";
import { createSignIns } from "./sign-in/sign-ins.ts";
import { readMasterKeys } from "./secrets/master-key.ts";
import { randomSecret } from "./secrets/secrets.ts";
import { agentPackageRoute } from "./transports/agent-packages.ts";
import { createReadCredentials } from "./transports/credentials.ts";
import { eventStreamTransport, type Feed } from "./transports/event-stream.ts";
import { fileRoutes } from "./transports/file-routes.ts";
import { createStreamLimit } from "./transports/open-limit.ts";
import { releaseRoutes } from "./transports/releases.ts";
import { createHttpServer } from "./transports/serve.ts";
import { sessionStreamTransport } from "./transports/session-stream.ts";
import { noteForged } from "./triggers/forged.ts";
import { triggerRoutes } from "./triggers/routes.ts";
import { createAddresses } from "./webhooks/addresses.ts";
import { startDelivering } from "./webhooks/deliver.ts";
import { createSecretOf } from "./webhooks/message.ts";
import { watchWebhooks } from "./webhooks/watch.ts";

export interface RunningNode {
  stop(): Promise<void>;
}

/** Throws ReadOnlyDatabase on a read-only database, although it writes and locks no row. */
const askToWrite = systemStatement(
  "check that the database can be written",
  `SELECT FROM nodes WHERE false FOR UPDATE`,
);
const selectSignInRole = systemStatement<{ login: string; may_switch: boolean }>(
  "check that the node's login may switch to hawser_sign_in",
  `SELECT session_user AS login, pg_has_role(session_user, 'hawser_sign_in', 'MEMBER') AS may_switch`,
);
const beatEveryMs = 5_000;
const longestDrainMs = 10_000;

export async function startNode(config: Config): Promise<RunningNode> {
  await refuseUnready(config.databaseUrl);
  const log = createLog(config.logLevel);
  const queueAges = createQueueAges();
  const metrics = createMetrics(queueAges);
  const database = openDatabase({
    url: config.databaseUrl,
    ...config.database,
    onIdleError: (error) => log.warn({ err: error }, "an idle database connection was lost"),
    onWait: (pool, seconds) => metrics.observePoolWait(pool, seconds),
  });
  await refuseMissingRole(database.system);
  const masterKeys = await readMasterKeys(config);
  const pepper = await randomSecret(database.system, masterKeys, "idempotency");
  const signInSecret = await randomSecret(database.system, masterKeys, "sign-in");
  const triggerSecret = await randomSecret(database.system, masterKeys, "triggers");
  const webhooks = {
    secretOf: createSecretOf(await randomSecret(database.system, masterKeys, "webhooks")),
    addresses: createAddresses(config.webhookNetworks),
  };
  await createPartitions();
  const signIn = database.connectionsFor("sign-in").system;
  const callers = createCallerCache();
  const authenticator = createAuthenticator(signIn, Date.now, callers);
  const accounts = database.connectionsFor("accounts");
  const signIns = createSignIns(accounts, callers);
  const providers = createLazyProviders(webhooks.addresses);
  const sealing = createSealing(signInSecret);
  const readCounts = createReadCounts(database.system);
  const buckets = createTokenBuckets(config.rateLimit);
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
          now: () => nodes.now(),
          metrics,
          queueAges,
          log,
        })
      : undefined;
  const files = createFiles(database, blobs);
  const exposures =
    link &&
    createExposures({
      config,
      database,
      signIn,
      callersOfKeys: authenticator.callersOfKeys,
      hosts: link.hosts,
      fabric: link.fabric,
      tunnelSecret: await randomSecret(database.system, masterKeys, "tunnels"),
      nodeId: nodes.nodeId,
      now: () => nodes.now(),
      metrics,
      log,
    });
  const services: Services = {
    ...calledFromBelow,
    authenticator,
    signIns,
    providers,
    sealing,
    signInSecret,
    baseUrl: config.baseUrl,
    triggerSecret,
    hosts: link?.hosts ?? noHosts,
    viewers: link?.viewers ?? noViewers,
    follows: link?.follows ?? followsWithoutNotices(database),
    files,
    webhooks,
    exposures: exposures ?? { addresses: () => undefined, cut: () => {} },
    memberAccounts: link?.memberAccounts ?? createOwedRemovals({ database, hosts: noHosts, log }),
  };
  const dispatcher = createDispatcher({
    actions: codeApi.actions,
    handlers,
    services,
    database,
    authenticate: ({ authorization, signIn: browser }, options = { fresh: false }) =>
      browser
        ? signIns.callerOf(browser, options)
        : authenticator.authenticate(authorization, options),
    buckets,
    pepper,
    readCounts,
    log,
    observe: (call) => metrics.observeCall(call),
  });
  const streams = createStreamLimit(config.streams);
  const credentialsOf = createReadCredentials(config.baseUrl, (cookies) =>
    readCookie(cookies, sessionCookie),
  );
  let draining = false;
  const server = createHttpServer({
    product: codeApi,
    dispatcher,
    credentialsOf,
    baseUrl: config.baseUrl,
    now: () => nodes.now(),
    async unready() {
      if (draining) return "draining";
      return signIn.rows(askToWrite).then(
        () => link?.unready(),
        (error: unknown) =>
          error instanceof ReadOnlyDatabase
            ? "the database is read-only"
            : "the database does not answer",
      );
    },
    more: [
      releaseRoutes(config.releases, config.baseUrl),
      agentPackageRoute(config.agentPackages),
      fileRoutes({ dispatcher, files, credentialsOf, log }),
      signInRoutes({
        // A row that somebody has locked must not hold the connections that find callers.
        accounts: accounts.waitingAtMost(500),
        database,
        signIns,
        providers,
        sealing,
        secret: signInSecret,
        baseUrl: config.baseUrl,
        dispatchAs: (caller, call) => dispatcher.dispatchAs(caller, call),
        now: () => nodes.now(),
        log,
      }),
      triggerRoutes({ database: database.connectionsFor("deliveries"), triggerSecret, log }),
      ...(link
        ? [
            ...link.routes,
            eventStreamTransport(dispatcher, visibleEvents(link.feed), streams, credentialsOf),
            sessionStreamTransport(dispatcher, link.views, streams, credentialsOf),
          ]
        : []),
      // Last: it answers every path that is nobody else's.
      pageRoutes(ownPages),
    ],
  });
  exposures?.attach(server);
  link?.attach(server);
  await listen(server, config.listen, "HAWSER_LISTEN");
  if (config.metricsListen) {
    await listen(metrics.server, config.metricsListen, "HAWSER_METRICS_LISTEN");
  }
  await exposures?.start();

  const beats = setInterval(() => void beat(), beatEveryMs);
  const jobs = startJobs({
    system: database.system,
    nodeId: nodes.nodeId,
    jobs: [...recordJobs(), ...(link?.jobs ?? [])],
    log,
  });
  const sweeping =
    link &&
    startSweeping({
      database,
      nodeId: nodes.nodeId,
      callerOfKey: authenticator.callerOfKey,
      dispatchAs: (caller, call) => dispatcher.dispatchAs(caller, call),
      observeClaim: (secondsLate) => metrics.observeLateness(secondsLate),
      isAble: () => link.unready() === undefined,
      log,
    });
  const continuing =
    link &&
    startContinuing({
      system: database.system,
      nodeId: nodes.nodeId,
      callerOfKey: authenticator.callerOfKey,
      dispatchAs: (caller, call) => dispatcher.dispatchAs(caller, call),
      viewers: link.viewers,
      isAble: () => link.unready() === undefined,
      log,
    });
  const delivering = startDelivering({
    database,
    nodeId: nodes.nodeId,
    callerOfKey: authenticator.callerOfKey,
    ...webhooks,
    observeLateness: (seconds) => metrics.observeDelivery(seconds),
    log,
  });
  log.info(
    { nodeId: nodes.nodeId, baseUrl: config.baseUrl, address: server.address() },
    "node ready",
  );

  /** Returns whether the database could be reached. */
  async function beat(): Promise<boolean> {
    try {
      const { live, left, died, isDatabaseReplaced } = await nodes.beat();
      if (died.length > 0) log.warn({ nodes: died }, "nodes have died");
      if (left.length > 0 || died.length > 0) link?.nodesGone({ anyDied: died.length > 0 });
      if (isDatabaseReplaced) {
        log.warn("the database server was restarted or replaced");
        link?.databaseReplaced();
      }
      buckets.share(live);
      await Promise.all([
        readCounts.flush(),
        link?.flush(),
        authenticator.noteUses(),
        signIns.noteUses(),
      ]);
      return true;
    } catch (error) {
      log.warn({ err: error }, "heartbeat failed");
      return false;
    }
  }

  async function createPartitions(): Promise<void> {
    const missing = await makeNextPartitions(database.system);
    if (missing.length > 0) log.warn({ missing }, "partitions could not be created");
    metrics.showPartitionLeads(await readPartitionLeads(database.system));
  }

  /** Jobs that need no host. */
  function recordJobs(): Job[] {
    return [
      {
        name: "create partitions",
        everySeconds: 3_600,
        run: createPartitions,
      },
      {
        name: "purge",
        everySeconds: 300,
        run: (signal) => purge(database.system, log, signal),
      },
      {
        name: "watch webhooks",
        everySeconds: 60,
        run: () => watchWebhooks(database.system, (all) => metrics.showDeliveries(all), log),
      },
      {
        name: "note forged deliveries",
        everySeconds: 60,
        run: () => noteForged(database),
      },
      {
        name: "delete old sign-ins",
        everySeconds: 300,
        run: (signal) =>
          removeOldSignIns({ accounts: accounts.system, system: database.system }, signal),
      },
      {
        name: "refresh sign-ins of providers",
        everySeconds: 60,
        run: (signal) =>
          refreshProviders(
            { accounts: accounts.system, database, providers, sealing, log },
            signal,
          ),
      },
    ];
  }

  return {
    async stop() {
      draining = true;
      log.info({ nodeId: nodes.nodeId }, "node stopping");
      exposures?.drain();
      // Balancers see the 503 of /readyz before a connection is refused.
      await pause(config.drainMs);
      clearInterval(beats);
      await Promise.all([jobs.close(), sweeping?.close(), continuing?.close(), delivering.close()]);
      // Links are not calls: end them first, or the server would wait for them.
      const drained = drain(server);
      await exposures?.close();
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

/** Decides which callers may see the events of which records. */
function visibleEvents(feed: OrganizationFeed): Feed {
  return {
    follow: (organizationId, viewer) => feed.follow(organizationId, viewer),
    settled: () => feed.settled(),
    mayFollow: ({ permissions }) =>
      Object.values(permissionToSee).some((needed) => permissions.has(needed)),
    maySee: ({ permissions }, event) =>
      event.type === "resync" || permissions.has(permissionToSee[event.record]),
  };
}

async function refuseUnready(databaseUrl: string): Promise<void> {
  const pending = await pendingMigrations(databaseUrl).catch((cause: unknown) => {
    throw cause instanceof ConfigError ? cause : unreachable(cause);
  });
  if (pending.length === 0) return;
  throw new ConfigError(
    `The database lacks ${pending.join(", ")}. Run "hawser-control-plane migrate" first.`,
  );
}

/** Throws if the login cannot find signed-in people: it was created for an earlier version. */
async function refuseMissingRole(system: SystemSql): Promise<void> {
  const [found] = await system.rows(selectSignInRole);
  if (found!.may_switch) return;
  throw new ConfigError(
    `The login ${found!.login} of HAWSER_DATABASE_URL may not switch to hawser_sign_in. Run "hawser-control-plane init-database" again, or let an administrator run: GRANT hawser_sign_in TO ${found!.login}.`,
  );
}

/** Accepts no new connection, lets running calls finish, and ends those that do not finish in time. */
async function drain(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const force = setTimeout(() => server.closeAllConnections(), longestDrainMs);
  await closed;
  clearTimeout(force);
}
