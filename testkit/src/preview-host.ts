// A host with the scripted agent whose sessions run real servers, and tunnels to their ports, for tests of previews.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentKind } from "@hawser/contract";
import { makeExposureId } from "./exposed-host.ts";
import {
  makeSessionId,
  makeSmallHost,
  policy,
  type OpenHost,
  type OpenOptions,
  type SmallHost,
} from "./small-host.ts";
import { startTunnelEdge, type AcceptedTunnel, type TunnelEdge } from "./tunnel-edge.ts";
import { until } from "./until.ts";

export interface PreviewHost extends AsyncDisposable {
  small: SmallHost;
  host: OpenHost;
  edge: TunnelEdge;
  startSession(): Promise<string>;
  /** Runs a shell command in the session. Returns its id. */
  run(sessionId: string, command: string): Promise<string>;
  /** Waits until the session's processes listen on exactly these ports. */
  untilListening(sessionId: string, ...ports: number[]): Promise<void>;
  /** Opens a tunnel to a port, and returns the control plane's end. */
  expose(sessionId: string, port: number, more?: Expose): Promise<ExposedPort>;
  writePolicy(lines: string): void;
  /** Stops the host like a daemon. */
  stop(): Promise<void>;
}

type ExposedPort = AcceptedTunnel & { exposureId: string };

interface Expose {
  exposureId?: string;
  expiresInMs?: number;
}

export interface PreviewHostOptions extends Pick<OpenOptions, "tunnelTiming"> {
  /** Kind of the scripted agent; by default opencode. */
  kind?: AgentKind;
}

/** A command that serves its name, and echoes on WebSockets, until it is ended. */
export function serverCommand(port: number, { name = "own", host = "127.0.0.1", more = "" } = {}) {
  return `exec ${quoted(process.execPath)} -e ${quoted(serverText(port, { name, host, more }))}`;
}

/** The same as a program of Node. `more`: further options of `listen`. */
export const serverText = (port: number, { name = "own", host = "127.0.0.1", more = "" } = {}) => `
const server = require("node:http").createServer((request, response) => response.end(${JSON.stringify(name)}));
server.on("upgrade", (request, socket) => {
  const key = request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  const accept = require("node:crypto").createHash("sha1").update(key).digest("base64");
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n");
  socket.pipe(socket);
  socket.on("error", () => {});
});
process.on("SIGUSR2", () => server.close());
server.listen({ port: ${port}, host: ${JSON.stringify(host)}, ${more} });
`;

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

export async function startPreviewHost(options: PreviewHostOptions = {}): Promise<PreviewHost> {
  const { kind = "opencode", ...others } = options;
  const edge = await startTunnelEdge();
  const small = makeSmallHost();
  const wrapDriver = (driver: OpenHost["driver"]) => ({ ...driver, kind });
  const host = small.open({ wrapDriver, serverUrl: edge.serverUrl, ...others });
  let stopping: Promise<void> | undefined;
  const preview: PreviewHost = {
    small,
    host,
    edge,
    async startSession() {
      const sessionId = makeSessionId();
      const wanted = { sessionId, kind, directory: small.repository, title: "Serve", policy };
      await host.must("start_session", wanted);
      return sessionId;
    },
    run: async (sessionId, command) =>
      (await host.must("run_shell", { sessionId, command })).shellId,
    async untilListening(sessionId, ...ports) {
      const wanted = JSON.stringify(ports);
      await until(`the session listens on ${wanted}`, async () => {
        const listed = await host.must("list_session_ports", { sessionId });
        return JSON.stringify(listed.ports.map(({ port }) => port)) === wanted;
      });
    },
    async expose(sessionId, port, { exposureId = makeExposureId(), expiresInMs = 600_000 } = {}) {
      const accepted = edge.accept();
      await host.must("open_tunnel", {
        exposureId,
        ticket: "ticket-1",
        expiresAt: new Date(Date.now() + expiresInMs).toISOString(),
        scope: { kind: "port", sessionId, port },
      });
      return { ...(await accepted), exposureId };
    },
    writePolicy: (lines) =>
      writeFileSync(
        join(small.directory, "policy"),
        `root = ${join(small.directory, "root")}\n${lines}`,
      ),
    stop: () => (stopping ??= host.close()),
    async [Symbol.asyncDispose]() {
      await preview.stop();
      await edge[Symbol.asyncDispose]();
      small[Symbol.dispose]();
    },
  };
  return preview;
}
