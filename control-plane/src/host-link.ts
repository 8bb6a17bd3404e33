// Builds the control plane's end of the host link: the fabric, the calls of hosts, the commands to
// hosts, presence, and the edge that hosts connect to. A node without NATS servers has none, and
// refuses every action that asks a host.
import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import { Refusal } from "@hawser/contract";
import type { Hono } from "hono";
import type { Blobs } from "./blobs/blobs.ts";
import type { Config } from "./config.ts";
import { createEdge } from "./edge/edge.ts";
import { createOrganizationFeed, type OrganizationFeed } from "./events/organization-feed.ts";
import { createNumberedNotices } from "./events/notices.ts";
import { createViewers, type Viewers } from "./events/viewers.ts";
import { isTunnelRequest } from "./exposures/tunnel-door.ts";
import { connectFabric, type Fabric } from "./fabric/connection.ts";
import { createEdgeAsker } from "./fabric/edge-asker.ts";
import { connectEdge, makeEdgeIdentity } from "./fabric/edge-identity.ts";
import { commandKeysToPin } from "./fabric/command-key-rotation.ts";
import { signers } from "./fabric/fabric-keys.ts";
import { createHostAsker } from "./fabric/host-asker.ts";
import { createHostTokens } from "./fabric/host-token.ts";
import { openKeyring, refreshKeysEveryMs } from "./fabric/keyring.ts";
import { createKick } from "./fabric/kick-connection.ts";
import { identifyConnection, listConnections } from "./fabric/list-connections.ts";
import { feedPresence } from "./fabric/presence-feed.ts";
import { createReconnectWindow } from "./fabric/reconnect-window.ts";
import { createRevocations } from "./fabric/revocation.ts";
import { createRevocationRetry } from "./fabric/revocation-retry.ts";
import { createOwedRemovals, type OwedRemovals } from "./identities/owed-removals.ts";
import { createCutOff } from "./instances/cut-off.ts";
import type { InstanceServices } from "./instances/handlers.ts";
import { createAddressAnnouncer } from "./instances/announce-address.ts";
import { createNonces, pairHost, renewHost, renewToken } from "./instances/host-identity.ts";
import { selectHostKey } from "./instances/host-key-store.ts";
import { createKnownKeys } from "./instances/known-keys.ts";
import { createPresence, type Compared } from "./instances/presence.ts";
import { leadPresence } from "./instances/presence-leader.ts";
import { countHosts } from "./instances/presence-store.ts";
import { receiveUpCalls } from "./instances/receive-up-calls.ts";
import { createRemovedHosts } from "./instances/removed-hosts.ts";
import { createSightings } from "./instances/sightings.ts";
import { createUpCalls, type UpCalls } from "./instances/up-calls.ts";
import type { Job } from "./jobs.ts";
import type { Log } from "./log.ts";
import type { LinkMetrics } from "./metrics.ts";
import type { Database } from "./postgres/database.ts";
import type { QueueAges } from "./queue-ages.ts";
import type { MasterKeys } from "./secrets/master-key.ts";
import { randomSecret } from "./secrets/secrets.ts";
import { createFollows, type Follows } from "./session-log/follow.ts";
import { notifyOfApplied, createIntake } from "./session-log/intake.ts";
import { createLogQuota } from "./session-log/log-quota.ts";
import { createLiveWatch } from "./session-log/live-watch.ts";
import { createOwedEndings } from "./instances/owed-endings.ts";
import { createSessionViews } from "./session-log/view.ts";
import { syncViewers } from "./session-log/viewer-sync.ts";
import { blobRoutes } from "./transports/blob-routes.ts";
import { hostRoutes } from "./transports/host-routes.ts";
import type { SessionViews } from "./transports/session-stream.ts";

export interface HostLink {
  fabric: Fabric;
  hosts: InstanceServices["hosts"];
  feed: OrganizationFeed;
  viewers: Viewers;
  follows: Follows;
  memberAccounts: OwedRemovals;
  views: SessionViews;
  /** The HTTP routes that a host uses before it has a link, and for data that the link cannot carry. */
  routes: Hono[];
  /** Work that one node does for all. */
  jobs: Job[];
  /** Accepts hosts at the server's one port. */
  attach(server: Server): void;
  /**
   * Other nodes are gone, possibly with events that only they had received: compares presence with the
   * connections that exist. A node that died may also not have notified viewers of its last changes.
   */
  nodesGone(which: { anyDied: boolean }): void;
  /** The database may lack what viewers have seen. */
  databaseReplaced(): void;
  /** The reason why no host can be reached right now; undefined if hosts can be reached. */
  unready(): string | undefined;
  /**
   * Writes what is gathered in memory: counted log bytes, when hosts were last seen, and which notices were
   * sent. Call it every few seconds, and once more after `close`.
   */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const pushRevocationsEveryMs = 10 * 60_000;
const askEdgesEveryMs = 5_000;

interface HostLinkParts {
  config: Config;
  database: Database;
  blobs: Blobs;
  masterKeys: MasterKeys;
  nodeId: string;
  /** The time of the database. */
  now: () => number;
  metrics: LinkMetrics;
  queueAges: QueueAges;
  log: Log;
}

export async function createHostLink({
  config,
  database,
  blobs,
  masterKeys,
  nodeId,
  now,
  metrics,
  queueAges,
  log,
}: HostLinkParts): Promise<HostLink> {
  const keyring = await openKeyring(database.system, masterKeys);
  const { keys } = keyring;
  const signIn = database.connectionsFor("sign-in");
  const edgeId = randomUUID();
  const fabric = await connectFabric({ keys, urls: config.natsUrls, name: `node.${nodeId}`, log });
  // The edge has its own connection, on which it answers that it is alive.
  const edgeConnection = await connectEdge({
    user: () => makeEdgeIdentity(keys).user,
    urls: config.natsUrls,
    edgeId,
    log,
  });
  const tokens = createHostTokens(keys, config.hostTokenSeconds, now);
  const revocations = createRevocations({
    database,
    fabric,
    keys,
    observe: (pushed) => metrics.showRevocations(pushed),
  });
  const revoking = createRevocationRetry({
    revocations,
    observe: (failures) => metrics.showFailedPushes(failures),
    log,
  });
  const notices = createNumberedNotices({
    notices: fabric,
    nodeId,
    countLoss: () => metrics.countLostNotices(),
  });
  const feed = createOrganizationFeed(database.system, notices);
  const viewers = createViewers(feed, notices);
  const kick = createKick(fabric.system, log);
  const cutOff = createCutOff({ system: database.system, kick, revoking, log });
  const reconnectWindow = createReconnectWindow(fabric);
  const presence = createPresence({
    database: database.connectionsFor("presence"),
    reconnectSeconds: reconnectWindow.seconds,
    kick,
    sources: {
      list: () => listConnections(fabric.system, keys.accountPublicKey),
      identify: (connection) => identifyConnection(fabric.system, connection),
      isEdgeAlive: createEdgeAsker(fabric),
    },
    log,
    changed: (organizationId, instanceId) =>
      viewers.notify(organizationId, { instances: [instanceId] }),
  });
  const follows = createFollows({ database, notices });
  const viewerSync = syncViewers({ messages: fabric, notices, feed, follows, log });
  const logQuota = createLogQuota({
    system: database.system,
    changed: ({ organizationId, shownId }) =>
      viewers.notify(organizationId, { instances: [shownId] }),
    countRefusal: () => metrics.countOverLogQuota(),
    log,
  });
  const intake = createIntake({
    database: database.connectionsFor("intake"),
    log,
    onApplied: notifyOfApplied(viewers),
    countBytes: (organizationId, bytes) => logQuota.count(organizationId, bytes),
  });
  const hosts = createHostAsker(fabric, keyring, now);
  const knownKeys = createKnownKeys({
    database,
    hosts,
    commandKeys: () => commandKeysToPin(keys),
    tokenSigner: () => signers(keys, "hostSigningSeed")[0]!,
    log,
  });
  const owed = createOwedEndings({ database, hosts, viewers, log });
  const removals = createOwedRemovals({ database, hosts, log });
  const removed = createRemovedHosts({
    system: signIn.system,
    keys,
    now,
    countUnknown: () => metrics.countUnknownHost(),
    log,
  });
  const identity = {
    database: signIn,
    tokens,
    get commandKey() {
      return keys.commandKey.publicKey;
    },
    nonces: createNonces(await randomSecret(database.system, masterKeys, "host-nonces")),
    cutOff,
    removed,
  };
  const addresses = createAddressAnnouncer({ ...config, keys });
  const sightings = createSightings(database.system);
  const upCalls = createUpCalls({
    database,
    intake,
    logQuota,
    sightings,
    viewers,
    presence,
    removed,
    reconnectSeconds: reconnectWindow.seconds,
    isBack(instanceId) {
      guarded("owed endings", () => owed.hostIsBack(instanceId))();
      guarded("owed removals", () => removals.hostIsBack(instanceId))();
    },
    renewToken: (publicKey) => renewToken(identity, publicKey),
    movedTo: addresses.movedTo,
  });
  const presenceFeed = feedPresence(fabric, keys.accountPublicKey, presence, log);
  async function compareAndCount(): Promise<Compared> {
    const startedAt = performance.now();
    const compared = await presence.compare();
    metrics.observeComparison((performance.now() - startedAt) / 1000);
    metrics.showHosts(await database.system.rows(countHosts));
    return compared;
  }
  const leader = leadPresence({
    system: database.system,
    fabric,
    presence: { ...presence, compare: compareAndCount },
    nodeId,
    log,
  });
  const edge = createEdge({
    tokens,
    websockets: config.natsWebsockets,
    edgeId,
    linksPerSecond: config.linksPerSecond,
    now,
    log,
    answered: (status) => metrics.countLinkAnswer(status),
    admitted: edgeConnection.announce,
    leaving: edgeConnection.close,
    leaves: isTunnelRequest,
  });
  edgeConnection.reportLoad(() => edge.load());

  metrics.showLinks(() => edge.connections());
  metrics.showReconnectWindow(reconnectWindow.seconds);
  const answer: UpCalls["answer"] = (instanceId, call, message) =>
    queueAges.track(call, upCalls.answer(instanceId, call, message));
  receiveUpCalls({ fabric, upCalls: { answer }, log });

  const guarded = (what: string, work: () => Promise<void>) => () => {
    if (!fabric.isConnected()) return;
    void work().catch((error: unknown) => log.warn({ err: error }, `${what} failed`));
  };
  let areKeysPushed = true;
  let nodeSigner = keys.nodeSigningSeed;
  async function refreshKeys(): Promise<void> {
    if (await keyring.refresh()) areKeysPushed = false;
    if (areKeysPushed) return;
    // The accounts accept the users of both keys of a rotation before a node becomes a user of the next.
    await revocations.push();
    if (nodeSigner !== keys.nodeSigningSeed) {
      await fabric.reconnect();
      await edgeConnection.reconnect();
      nodeSigner = keys.nodeSigningSeed;
    }
    areKeysPushed = true;
  }
  const refreshWindow = guarded("the question for the load of edges", reconnectWindow.refresh);
  const timers = [
    setInterval(refreshWindow, askEdgesEveryMs),
    setInterval(() => void revoking.push(), pushRevocationsEveryMs),
    setInterval(guarded("refresh of keys", refreshKeys), refreshKeysEveryMs),
  ];
  fabric.onReconnect(() => {
    // Events and notices were missed while the connection was down. A NATS server that lost its disk
    // has lost the revocations too.
    void revoking.push();
    leader.compareSoon();
    viewerSync.reconnected();
  });
  await revoking.push();
  refreshWindow();

  return {
    fabric,
    hosts: { ...hosts, cutOff },
    feed,
    viewers,
    follows,
    memberAccounts: removals,
    views: createSessionViews({
      database,
      follows,
      live: createLiveWatch({ notices: fabric, hosts }),
    }),
    routes: [
      hostRoutes({
        pair: (request, callId, countWrongToken) =>
          pairHost(identity, request, callId, countWrongToken),
        nonce: () => identity.nonces.make(),
        renew: async (request) => addresses.prove(await renewHost(identity, request), request),
        log,
      }),
      blobRoutes({
        blobs,
        tokens,
        now,
        organizationOf: async (publicKey) =>
          (await signIn.system.first(selectHostKey, publicKey))?.organization_id,
        log,
      }),
    ],
    jobs: [
      { name: "renew keys of hosts", everySeconds: 10, run: () => knownKeys.sweep() },
      { name: "finish sessions", everySeconds: 10, run: () => owed.sweep() },
      { name: "remove agent accounts", everySeconds: 10, run: () => removals.sweep() },
    ].map((job) => ({ ...job, isAble: () => fabric.isConnected() })),
    attach: (server) => edge.attach(server),
    nodesGone({ anyDied }) {
      leader.compareSoon();
      if (anyDied) viewerSync.resync();
    },
    databaseReplaced: () => viewerSync.resyncEveryNode(),
    unready: () =>
      fabric.isConnected() && edgeConnection.isUp() ? undefined : "the fabric is not connected",
    flush: async () =>
      void (await Promise.all([logQuota.flush(), sightings.flush(), feed.flush()])),
    async close() {
      timers.forEach(clearInterval);
      viewerSync.close();
      revoking.close();
      await leader.close();
      // The other nodes receive the events of the links that end now, and process them to the end.
      await presenceFeed.close();
      await edge.close();
      await intake.close();
      await fabric.close();
    },
  };
}

const noFabric = () =>
  new Refusal(
    "unavailable",
    "This service has no fabric, so no host can be asked. Its operator must set HAWSER_NATS_URLS.",
  );

/** Used by a node without NATS servers. */
export const noHosts: InstanceServices["hosts"] = {
  ask: () => Promise.reject(noFabric()),
  read: () => Promise.reject(noFabric()),
  cutOff: () => Promise.resolve(),
};

export const noViewers: Viewers = { notify: () => {} };

/** Without notices, a call that waits for a session reads it again only when its time is up. */
export function followsWithoutNotices(database: Database): Follows {
  const quiet = { publish: () => {}, subscribe: () => () => {}, flush: () => Promise.resolve() };
  const notices = createNumberedNotices({ notices: quiet, nodeId: "alone" });
  return createFollows({ database, notices });
}
