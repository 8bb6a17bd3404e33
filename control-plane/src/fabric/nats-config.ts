// The configuration of a nats-server of the fabric. It contains no private key: its tokens are public,
// except the password of the routes in a cluster.
import { createHmac } from "node:crypto";
import type { FabricKeys } from "./fabric-keys.ts";

export interface NatsServerSettings {
  /** Unique in the cluster, and the same after a restart. */
  name: string;
  /** host:port for nodes. */
  listen: string;
  /** host:port that the edges pipe hosts to. Without TLS, so it must not be public. */
  websocket: string;
  /** host:port of /healthz and the other monitoring routes; undefined for none. */
  monitor: string | undefined;
  /** Where the server stores the account with its revocations. */
  storeDirectory: string;
  cluster?: {
    name: string;
    listen: string;
    /** host:port of the other servers. */
    routes: string[];
  };
}

/** Lies beside the configuration of every server, and is the same for all. */
export const natsKeysFile = "nats-keys.conf";

/** The content of that file. During a rotation the server trusts two operators. */
export function natsKeysConfig(keys: FabricKeys): string {
  const operators = [keys.operatorJwt, keys.secondNatsKeys?.operatorJwt ?? []].flat();
  return `# The keys that a nats-server of Hawser's fabric trusts. All of them are public.
operator: [${operators.join(", ")}]
system_account: ${keys.systemAccountPublicKey}
resolver_preload {
  ${keys.systemAccountPublicKey}: ${keys.systemAccountJwt}
  # Lets nodes in and no host: that comes from a node, together with the revocations.
  ${keys.accountPublicKey}: ${keys.accountJwt}
}
`;
}

export function natsConfig(keys: FabricKeys, server: NatsServerSettings): string {
  return `# A nats-server of Hawser's fabric. Every address below must be reachable by the control plane
# only: hosts come in through its edge.
server_name: ${JSON.stringify(server.name)}
listen: ${JSON.stringify(server.listen)}
${server.monitor === undefined ? "" : `http: ${JSON.stringify(server.monitor)}\n`}websocket {
  listen: ${JSON.stringify(server.websocket)}
  no_tls: true
  compression: false
  handshake_timeout: "10s"
}

# Which keys the server trusts. Rotations replace this file.
include ${JSON.stringify(natsKeysFile)}
# Servers compare what they keep every second, so that one that was away learns quickly which
# hosts were revoked meanwhile.
resolver { type: full, dir: ${JSON.stringify(server.storeDirectory)}, interval: "1s", limit: 100 }

# A host that froze is out in under 30 s: a ping is skipped after recent traffic, so it can take three
# intervals. The interval is a little longer than that of the hosts' own pings, so none is sent to a host
# that sends its own.
ping_interval: "9300ms"
ping_max: 1
${server.cluster ? clusterBlock(keys, server.cluster) : ""}`;
}

function clusterBlock(keys: FabricKeys, cluster: NonNullable<NatsServerSettings["cluster"]>) {
  const user = "route";
  const password = createHmac("sha256", keys.operatorSigningSeed).update("routes").digest("hex");
  const routes = cluster.routes.map((route) => `"nats-route://${user}:${password}@${route}"`);
  return `
cluster {
  name: ${JSON.stringify(cluster.name)}
  listen: ${JSON.stringify(cluster.listen)}
  authorization { user: ${user}, password: "${password}" }
  routes: [${routes.join(", ")}]
}
`;
}
