// The bare counterpart of watching: a node:http server that forwards the messages of one NATS subject to
// every client, as server-sent events. No key, no log, no cursor.
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connectFabric } from "@hawser/control-plane/fabric/connection.ts";
import type { FabricKeys } from "@hawser/control-plane/fabric/fabric-keys.ts";
import { createLog } from "@hawser/control-plane/log.ts";
import { takeOrders } from "./orders.ts";

export interface BareEventOrders {
  serve: { keys: FabricKeys; urls: string[]; subject: string };
}

takeOrders<BareEventOrders>({
  async serve({ keys, urls, subject }) {
    const viewers = new Set<ServerResponse>();
    const fabric = await connectFabric({
      keys,
      urls,
      name: "bare events",
      log: createLog("silent"),
    });
    fabric.subscribe(subject, {}, ({ data }) => {
      const frame = `event: live\ndata: ${Buffer.from(data).toString()}\n\n`;
      for (const viewer of viewers) viewer.write(frame);
    });
    const server = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("retry: 1000\n\n");
      viewers.add(response);
      response.on("close", () => viewers.delete(response));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  },
});
