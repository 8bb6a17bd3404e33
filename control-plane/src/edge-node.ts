// The edge as a process of its own: accepts hosts and pipes them to NATS. It has no database, no master
// key and no key that signs for others; everything it knows of the fabric is in its edge file.
import { randomUUID } from "node:crypto";
import { ConfigError, type EdgeConfig } from "./config.ts";
import { startEdgeRole } from "./edge/edge-role.ts";
import { connectEdge, readEdgeFile } from "./fabric/edge-identity.ts";
import { createHostTokenReader } from "./fabric/host-token.ts";
import { createLog } from "./log.ts";

export interface EdgeNode {
  /** Reads the edge file again, and uses what it says from now on. Links stay. */
  reload(): Promise<void>;
  stop(): Promise<void>;
}

export async function startEdgeNode(config: EdgeConfig): Promise<EdgeNode> {
  const log = createLog(config.logLevel);
  if (config.natsUrls.length === 0 || config.natsWebsockets.length === 0) {
    throw new ConfigError("An edge needs HAWSER_NATS_URLS and HAWSER_NATS_WEBSOCKETS.");
  }
  let identity = await readEdgeFile(config.edgeFile);
  const edgeId = randomUUID();
  const user = () => identity.user;
  const connection = await connectEdge({ user, urls: config.natsUrls, edgeId, log });
  const edge = await startEdgeRole({
    listen: config.listen,
    tokens: createHostTokenReader(() => identity),
    websockets: config.natsWebsockets,
    edgeId,
    linksPerSecond: config.linksPerSecond,
    log,
    admitted: connection.announce,
    leaving: connection.close,
    drainMs: config.drainMs,
  });
  connection.reportLoad(() => edge.load());
  return {
    async reload() {
      try {
        identity = await readEdgeFile(config.edgeFile);
        await connection.reconnect();
        log.info({ edgeId }, "edge file read again");
      } catch (error) {
        log.error({ edgeId, err: error }, "the edge file was not read again");
      }
    },
    stop: () => edge.stop(),
  };
}
