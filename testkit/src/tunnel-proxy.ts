// An HTTP server on loopback that sends each request through a tunnel, as a node does for the address of an
// exposure.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { AcceptedTunnel } from "./tunnel-edge.ts";

export interface TunnelProxy extends AsyncDisposable {
  url: string;
  /** A line for each answer: status, method and path. */
  answers: string[];
}

export async function startTunnelProxy(tunnel: AcceptedTunnel): Promise<TunnelProxy> {
  const answers: string[] = [];
  const server = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    const { connection: _connection, host: _host, authorization: _own, ...others } = headers;
    delete others["transfer-encoding"];
    const sent = Object.entries(others).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    );
    const stream = tunnel.session.request(
      { ...Object.fromEntries(sent), ":method": method, ":path": url },
      { endStream: false },
    );
    stream.on("error", () => response.destroy());
    stream.once("response", (got) => {
      const status = Number(got[":status"]);
      answers.push(`${status} ${method} ${url.split("?")[0]}`);
      const names = Object.entries(got).filter(([name]) => !name.startsWith(":"));
      response.writeHead(status, Object.fromEntries(names) as Record<string, string>);
      stream.pipe(response);
    });
    response.once("close", () => stream.close());
    request.pipe(stream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    answers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
