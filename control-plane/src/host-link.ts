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
import { createViewers, type Viewers } from "./events/viewers.ts";
import { FabricDown, connectFabric } from "./fabric/connection.ts";
import { connectEdge, makeEdgeIdentity } from "./fabric/edge-identity.ts";
import { commandKeysToPin } from "./fabric/command-key-rotation.ts";
import { signers } from "./fabric/fabric-keys.ts";
import { createHostAsker } from "./fabric/host-asker.ts";
import { createHostTokens } from "./fabric/host-token.ts";
import { openKeyring, refreshKeysEveryMs } from "./fabric/keyring.ts";
import { feedPresence } from "./fabric/presence-feed.ts";
import { createRevocations } from "./fabric/revocation.ts";
import type { InstanceServices } from "./instances/handlers.ts";
import { createNonces, pairHost, renewHost, renewToken } from "./instances/host-identity.ts";
import { selectHostKey } from "./instances/host-key-store.ts";
import { createKnownKeys } from "./instances/known-keys.ts";
import { createPresence } from "./instances/presence.ts";
import { takeLease } from "./instances/presence-store.ts";
import { receiveUpCalls } from "./instances/receive-up-calls.ts";
import { createUpCalls } from "./instances/up-calls.ts";
import type { Log } from "./log.ts";
import type { Database } from "./postgres/database.ts";
import type { MasterKeys } from "./secrets/master-key.ts";
import { randomSecret } from "./secrets/secrets.ts";
import type { SystemSql } from "./postgres/statement.ts";
import { createFollows, type Follows } from "./session-log/follow.ts";
import { notifyOfApplied, createIntake } from "./session-log/intake.ts";
import { createLogQuota } from "./session-log/log-quota.ts";
import { createLiveWatch } from "./session-log/live-watch.ts";
import { createOwedEndings } from "./instances/owed-endings.ts";
import { createSessionViews } from "./session-log/view.ts";
import { blobRoutes } from "./transports/blob-routes.ts";
import { hostRoutes } from "./transports/host-routes.ts";
import type { SessionViews } from "./transports/session-stream.ts";

export interface HostLink {
  hosts: InstanceServices["hosts"];
  feed: OrganizationFeed;
  viewers: Viewers;
  follows: Follows;
  views: SessionViews;
  /** The HTTP routes that a host uses before it has a link, and for data that the link cannot carry. */
  routes: Hono[];
  /** Accepts hosts at the server's one port. */
  attach(server: Server): void;
  /**
   * Another node died, possibly with events that only it had received: compares presence with the
   * connections that exist.
   */
  nodeLost(): void;
  /** The reason why no host can be reached right now; undefined if hosts can be reached. */
  unready(): string | undefined;
  /** Writes the counted log bytes. Call it every few seconds, and once more after `close`. */
  flushCounts(): Promise<void>;
  close(): Promise<void>;
}

const compareEveryMs = 60_000;
const sweepEveryMs = 2_000;
const pushRevocationsEveryMs = 10 * 60_000;
const owedEveryMs = 10_000;
const compareFollowedEveryMs = 5_000;

interface HostLinkParts {
  config: Config;
  database: Database;
  blobs: Blobs;
  masterKeys: MasterKeys;
  nodeId: string;
  /** Called for each report that is refused because of its organization's quota. */
  countRefusal: () => void;
  log: Log;
}

export async function createHostLink({
  config,
  database,
  blobs,
  masterKeys,
  nodeId,
  countRefusal,
  log,
}: HostLinkParts): Promise<HostLink> {
  const keyring = await openKeyring(database.system, masterKeys);
  const { keys } = keyring;
  const edgeId = randomUUID();
  const fabric = await connectFabric({ keys, urls: config.natsUrls, name: `node.${nodeId}`, log });
  // The edge has its own connection, whose end shows everyone that the edge and its hosts' links are
  // gone.
  const edgeConnection = await connectEdge({
    user: () => makeEdgeIdentity(keys).user,
    urls: config.natsUrls,
    edgeId,
    log,
  });
  const tokens = createHostTokens(keys, config.hostTokenSeconds);
  const revocations = createRevocations({ database, fabric, keys });
  const feed = createOrganizationFeed(fabric);
  const viewers = createViewers(feed, fabric);
  const presence = createPresence({
    database,
    log,
    changed: (organizationId, instanceId) =>
      viewers.notify(organizationId, { instances: [instanceId] }),
  });
  const follows = createFollows(database.system, fabric);
  const logQuota = createLogQuota({
    system: database.system,
    changed: ({ organizationId, shownId }) =>
      viewers.notify(organizationId, { instances: [shownId] }),
    countRefusal,
    log,
  });
  const intake = createIntake({
    database,
    log,
    onApplied: notifyOfApplied(viewers),
    countBytes: (organizationId, bytes) => logQuota.count(organizationId, bytes),
  });
  const hosts = createHostAsker(fabric, keyring);
  const knownKeys = createKnownKeys({
    database,
    hosts,
    commandKeys: () => commandKeysToPin(keys),
    tokenSigner: () => signers(keys, "hostSigningSeed")[0]!,
    log,
  });
  const owed = createOwedEndings({ database, hosts, viewers, log });
  const identity = {
    database,
    tokens,
    get commandKey() {
      return keys.commandKey.publicKey;
    },
    nonces: createNonces(await randomSecret(database.system, masterKeys, "host-nonces")),
    revoked: () => pushSoon(),
  };
  const upCalls = createUpCalls({
    database,
    intake,
    logQuota,
    viewers,
    isBack: (instanceId) => guarded("owed endings", () => owed.hostIsBack(instanceId))(),
    renewToken: (publicKey) => renewToken(identity, publicKey),
  });
  const presenceFeed = feedPresence(fabric, keys.accountPublicKey, presence, log);
  const edge = createEdge({
    tokens,
    websockets: config.natsWebsockets,
    edgeId,
    log,
    admitted: edgeConnection.announce,
  });

  receiveUpCalls({ fabric, upCalls, log });

  const pushRevocations = () => revocations.push();
  const asLeader = async (work: () => Promise<void>) => {
    if (await database.system.first(takeLease, "presence", nodeId, (2 * sweepEveryMs) / 1000))
      await work();
  };
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
    await pushRevocations();
    if (nodeSigner !== keys.nodeSigningSeed) {
      await fabric.reconnect();
      await edgeConnection.reconnect();
      nodeSigner = keys.nodeSigningSeed;
    }
    areKeysPushed = true;
  }
  const pushSoon = guarded("push of revocations", pushRevocations);
  const warnIfFailed = (comparing: Promise<void>) =>
    void comparing.catch((error: unknown) =>
      log.warn({ err: error }, "comparison of followed logs failed"),
    );
  const timers = [
    setInterval(
      guarded("presence sweep", () => asLeader(() => presence.sweep())),
      sweepEveryMs,
    ),
    setInterval(
      guarded("presence comparison", () => asLeader(() => presenceFeed.compare())),
      compareEveryMs,
    ),
    setInterval(pushSoon, pushRevocationsEveryMs),
    setInterval(
      guarded("refresh of keys", async () => {
        await refreshKeys();
        await asLeader(() => knownKeys.sweep());
      }),
      refreshKeysEveryMs,
    ),
    setInterval(
      guarded("sweep of sessions", () => asLeader(() => owed.sweep())),
      owedEveryMs,
    ),
    // Compare even without the fabric, because all notices are lost then.
    setInterval(() => warnIfFailed(follows.compare()), compareFollowedEveryMs),
  ];
  fabric.onReconnect(() => {
    // Events and notices were missed while the connection was down. A NATS server that lost its disk
    // has lost the revocations too.
    pushSoon();
    guarded("presence comparison", () => presenceFeed.compare())();
    feed.resync();
    warnIfFailed(follows.catchUp());
  });
  await pushRevocations();
  await presenceFeed.compare();

  return {
    hosts: {
      ...hosts,
      // Revocations that cannot be pushed now are pushed when the fabric is back.
      pushRevocations: () => pushRevocations().catch(unlessDown),
    },
    feed,
    viewers,
    follows,
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
        renew: (request) => renewHost(identity, request),
        log,
      }),
      blobRoutes({
        blobs,
        tokens,
        organizationOf: async (publicKey) =>
          (await database.system.first(selectHostKey, publicKey))?.organization_id,
        log,
      }),
    ],
    attach: (server) => edge.attach(server),
    nodeLost: guarded("presence comparison", () => presenceFeed.compare()),
    unready: () => (fabric.isConnected() ? undefined : "the fabric is not connected"),
    flushCounts: () => logQuota.flush(),
    async close() {
      timers.forEach(clearInterval);
      await edge.close();
      await intake.close();
      await edgeConnection.close();
      await fabric.close();
    },
  };
}

function unlessDown(error: unknown): void {
  if (!(error instanceof FabricDown)) throw error;
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
  pushRevocations: () => Promise.resolve(),
};

export const noViewers: Viewers = { notify: () => {} };

/** Without notices, a call that waits for a session reads it again only when its time is up. */
export function followsWithoutNotices(system: SystemSql): Follows {
  const quiet = { publish: () => {}, subscribe: () => () => {}, flush: () => Promise.resolve() };
  return createFollows(system, quiet);
}
