// A node that serves one exposure, in a process of its own: the public side and the end of the tunnel. It has neither a
// database nor other nodes, which the bare proxy has not either.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { OpenExposure } from "@hawser/control-plane/exposures/open-exposure.ts";
import { createExposureTraffic } from "@hawser/control-plane/exposures/traffic.ts";
import { NoResponders } from "@hawser/control-plane/fabric/connection.ts";
import { createLog } from "@hawser/control-plane/log.ts";

export interface TunnelNodeOrder {
  exposureId: string;
  instanceId: string;
  domain: string;
  username: string;
  password: string;
  /** In hexadecimal. */
  secret: string;
  publicPort: number;
}

async function serve(order: TunnelNodeOrder): Promise<string> {
  const { exposureId, instanceId, domain, username, password, secret, publicPort } = order;
  const exposure: OpenExposure = {
    exposureId,
    organizationId: "org_1",
    apiKeyId: "key_bench",
    instanceId,
    scope: { kind: "instance" },
    passwordHash: createHash("sha256").update(password).digest(),
    expiresAt: Date.now() + 86_400_000,
    port: null,
  };
  const traffic = createExposureTraffic({
    door: { domain, listen: { host: "127.0.0.1", port: publicPort } },
    proxies: [],
    nodeListen: { host: "127.0.0.1", port: 0 },
    nodeId: "bench",
    username,
    tunnelSecret: Buffer.from(secret, "hex"),
    fabric: {
      request: (subject) => Promise.reject(new NoResponders(subject)),
      publish: () => {},
      subscribe: () => () => {},
      flush: () => Promise.resolve(),
    },
    now: Date.now,
    find: (id) => Promise.resolve(id === exposureId ? exposure : undefined),
    mayUse: () => Promise.resolve(true),
    stillGood: (ids) => Promise.resolve(new Set(ids)),
    openTunnel: () => Promise.reject(new Error("The bench opens the tunnel itself.")),
    listPorts: () => Promise.resolve([]),
    recordUse: () => Promise.resolve(),
    countAnswer: () => {},
    log: createLog("silent"),
  });
  const server = createServer();
  traffic.attach(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  await traffic.start();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

process.once("message", (order: TunnelNodeOrder) => {
  serve(order).then(
    (result) => process.send!({ result }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
