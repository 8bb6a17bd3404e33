// The edge as a process of its own: accepts hosts and pipes them to NATS. It needs the database only at
// its start, to read the fabric's keys.
import { randomUUID } from "node:crypto";
import { edgeAdmittedSubject, edgeConnectionName } from "@hawser/host-protocol";
import { ConfigError, type Config } from "./config.ts";
import { startEdgeRole } from "./edge/edge-role.ts";
import { connectFabric } from "./fabric/connection.ts";
import { readFabricKeys } from "./fabric/fabric-keys.ts";
import { createHostTokens } from "./fabric/host-token.ts";
import { createLog } from "./log.ts";
import { openDatabase } from "./postgres/database.ts";
import { readMasterKey } from "./secrets/master-key.ts";

export async function startEdgeNode(config: Config): Promise<{ stop(): Promise<void> }> {
  const log = createLog(config.logLevel);
  if (config.natsUrls.length === 0 || config.natsWebsockets.length === 0) {
    throw new ConfigError("An edge needs HAWSER_NATS_URLS and HAWSER_NATS_WEBSOCKETS.");
  }
  const keys = await readKeys(config);
  const edgeId = randomUUID();
  const fabric = await connectFabric({
    keys,
    urls: config.natsUrls,
    name: edgeConnectionName(edgeId),
    log,
  });
  const edge = await startEdgeRole({
    listen: config.listen,
    tokens: createHostTokens(keys, config.hostTokenSeconds),
    websockets: config.natsWebsockets,
    edgeId,
    log,
    admitted: (publicKey) =>
      fabric.publish(edgeAdmittedSubject, JSON.stringify({ publicKey, edgeId })),
  });
  return {
    async stop() {
      await edge.stop();
      await fabric.close();
    },
  };
}

async function readKeys(config: Config) {
  await using database = openDatabase({
    url: config.databaseUrl,
    connections: 2,
    patienceMs: config.database.patienceMs,
    onIdleError: () => {},
  });
  const keys = await readFabricKeys(database.system, await readMasterKey(config));
  if (keys) return keys;
  throw new ConfigError('There is no fabric yet. Run "hawser-control-plane init-fabric" first.');
}
