// Whose server a preview reaches, with real processes: that of its own session, and of nobody else.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type ListenOptions, type Server } from "node:net";
import { test } from "node:test";
import { freePort } from "@hawser/testkit/free-port.ts";
import {
  serverCommand,
  serverText,
  startPreviewHost,
  type PreviewHost,
} from "@hawser/testkit/preview-host.ts";
import { codeOf } from "@hawser/testkit/small-host.ts";
import type { AcceptedTunnel } from "@hawser/testkit/tunnel-edge.ts";
import { until } from "@hawser/testkit/until.ts";
import { listAgentProcesses } from "../../drivers/agent-processes.ts";

const timeout = 60_000;

async function read(tunnel: AcceptedTunnel): Promise<string> {
  const answer = await tunnel.ask("POST", "/", { body: "secret" });
  if (answer.status === 200) return answer.text;
  const { code } = (answer.json() as { error: { code: string } }).error;
  return `${answer.status} ${code}`;
}

const closed = "502 port_closed";

/** A server of this test itself, which has no mark. Counts what it receives. */
async function listenForeign(options: ListenOptions) {
  const counts = { connections: 0, bytes: 0 };
  const server: Server = createServer((socket) => {
    counts.connections++;
    socket.on("data", (chunk) => (counts.bytes += chunk.length));
    socket.on("error", () => {});
  });
  // The port of a process that has just ended is free after a moment.
  await until("the port is free", async () => {
    server.listen(options);
    return await once(server, "listening").then(
      () => true,
      () => false,
    );
  });
  return { counts, [Symbol.dispose]: () => void server.close() };
}

const check = (preview: PreviewHost, sessionId: string, port: number) =>
  preview.host.ask("check_exposure", { scope: { kind: "port", sessionId, port } });

test(
  "a server of a shell command is served, whichever loopback address it has",
  { timeout },
  async () => {
    await using preview = await startPreviewHost();
    const sessionId = await preview.startSession();
    for (const host of ["127.0.0.1", "0.0.0.0", "::1", "::", "localhost"]) {
      const port = await freePort();
      const tunnel = await preview.expose(sessionId, port);
      assert.equal(await read(tunnel), closed);
      assert.equal(codeOf(await check(preview, sessionId, port)), "port_closed");
      await preview.run(sessionId, serverCommand(port, { host, name: host }));
      await preview.untilListening(sessionId, port);
      const listed = await preview.host.must("list_session_ports", { sessionId });
      assert.deepEqual(listed.ports, [{ port, program: "node" }]);
      const found = await check(preview, sessionId, port);
      assert.deepEqual(found, { result: { directory: null, agentSessionId: null } });
      assert.equal(await read(tunnel), host);
      await preview.host.must("abort_turn", { sessionId });
      await preview.untilListening(sessionId);
    }
  },
);

test(
  "a server that listens for IPv6 alone, or on two addresses, is served",
  { timeout },
  async () => {
    await using preview = await startPreviewHost();
    const sessionId = await preview.startSession();
    const [only, both] = [await freePort(), await freePort()];
    await preview.run(sessionId, serverCommand(only, { host: "::", more: "ipv6Only: true" }));
    await preview.run(sessionId, serverCommand(both, { host: "::1" }));
    await preview.run(sessionId, serverCommand(both, { host: "127.0.0.1" }));
    await preview.untilListening(sessionId, ...[only, both].sort((a, b) => a - b));
    assert.equal(await read(await preview.expose(sessionId, only)), "own");
    assert.equal(await read(await preview.expose(sessionId, both)), "own");
  },
);

test(
  "N17: a process without a mark that took the port gets no byte, until the session has it again",
  { timeout },
  async () => {
    await using preview = await startPreviewHost();
    const sessionId = await preview.startSession();
    const port = await freePort();
    const tunnel = await preview.expose(sessionId, port);
    await preview.run(sessionId, serverCommand(port));
    await preview.untilListening(sessionId, port);
    assert.equal(await read(tunnel), "own");
    const socket = await openSocket(tunnel);

    // The server gives up its port, and goes on with its connections.
    for (const { pid } of processesOf(preview)) process.kill(pid, "SIGUSR2");
    {
      using foreign = await listenForeign({ port, host: "127.0.0.1" });
      for (let count = 0; count < 5; count++) assert.equal(await read(tunnel), closed);
      const request = { ":method": "CONNECT", ":protocol": "websocket", ":path": "/" };
      const refused = tunnel.open({ ...request, ":scheme": "http", ":authority": "x" }, "");
      const [answer] = (await once(refused, "response")) as [Record<string, unknown>];
      assert.equal(answer[":status"], 502);
      assert.deepEqual(foreign.counts, { connections: 0, bytes: 0 });
      await preview.untilListening(sessionId);
      assert.equal(codeOf(await check(preview, sessionId, port)), "port_closed");
      // What was open stays with the process that it was opened to.
      socket.stream.write("still here");
      await until("the echo arrives", () => socket.text().endsWith("still here"));
      assert.deepEqual(foreign.counts, { connections: 0, bytes: 0 });
    }
    await preview.run(sessionId, serverCommand(port, { name: "again" }));
    await until("the server is served", async () => (await read(tunnel)) === "again");
  },
);

/** Processes of the host's shell commands that have its mark, without those of other tests. */
function processesOf({ small }: PreviewHost) {
  return listAgentProcesses().filter(({ directory }) => directory?.startsWith(small.directory));
}

async function openSocket(tunnel: AcceptedTunnel) {
  const headers = { ":method": "CONNECT", ":protocol": "websocket", ":path": "/" };
  const stream = tunnel.session.request({ ...headers, ":scheme": "http", ":authority": "x" });
  stream.on("error", () => {});
  let text = "";
  stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
  assert.equal(answer[":status"], 200);
  return { stream, text: () => text };
}

test("a port of another session is not served, and not listed", { timeout }, async () => {
  await using preview = await startPreviewHost();
  const [own, other] = [await preview.startSession(), await preview.startSession()];
  const port = await freePort();
  await preview.run(other, serverCommand(port, { name: "other" }));
  await preview.untilListening(other, port);
  await preview.untilListening(own);
  const tunnel = await preview.expose(own, port);
  assert.equal(await read(tunnel), closed);
  assert.equal(codeOf(await check(preview, own, port)), "port_closed");
  // The session gets the port later, and loses it again.
  await preview.host.must("abort_turn", { sessionId: other });
  await preview.untilListening(other);
  await preview.run(own, serverCommand(port));
  await preview.untilListening(own, port);
  assert.equal(await read(tunnel), "own");
});

test("a port that another process shares is not served", { timeout }, async () => {
  await using preview = await startPreviewHost();
  const sessionId = await preview.startSession();
  const port = await freePort();
  const tunnel = await preview.expose(sessionId, port);
  await preview.run(sessionId, serverCommand(port, { more: "reusePort: true" }));
  await preview.untilListening(sessionId, port);
  assert.equal(await read(tunnel), "own");
  for (const options of [{ host: "127.0.0.1", reusePort: true }, { host: "::1" }]) {
    using foreign = await listenForeign({ port, ...options });
    for (let count = 0; count < 5; count++) assert.equal(await read(tunnel), closed);
    await preview.untilListening(sessionId);
    assert.deepEqual(foreign.counts, { connections: 0, bytes: 0 });
  }
  await until("it is the session's alone", async () => (await read(tunnel)) === "own");
  // Two of the session itself: another process could add a third at any time.
  await preview.run(sessionId, serverCommand(port, { more: "reusePort: true" }));
  await until("the port is shared", async () => (await read(tunnel)) === closed);
});

test(
  "N17: a server for IPv6 alone is not mistaken for that of another process for IPv4",
  { timeout },
  async () => {
    await using preview = await startPreviewHost();
    const sessionId = await preview.startSession();
    const port = await freePort();
    const tunnel = await preview.expose(sessionId, port);
    await preview.run(sessionId, serverCommand(port, { host: "::", more: "ipv6Only: true" }));
    await preview.untilListening(sessionId, port);
    for (const host of ["127.0.0.1", "0.0.0.0", "::ffff:127.0.0.1", "::ffff:0.0.0.0"]) {
      using foreign = await listenForeign({ port, host });
      assert.equal(await read(tunnel), closed, host);
      await preview.untilListening(sessionId);
      assert.deepEqual(foreign.counts, { connections: 0, bytes: 0 });
    }
    await until("it is the session's alone", async () => (await read(tunnel)) === "own");
  },
);

test(
  "servers of the agent's commands count, the agent's own and those of others do not",
  { timeout },
  async () => {
    await using preview = await startPreviewHost();
    const [own, other] = [await preview.startSession(), await preview.startSession()];
    const children: ChildProcess[] = [];
    const start = async (variables: Record<string, string>, isCommand: boolean) => {
      const port = await freePort();
      const env = { PATH: process.env["PATH"], ...variables };
      const program = [process.execPath, "-e", serverText(port)] as const;
      // The daemon's own child is the agent. Its commands are the children of that one.
      const child = isCommand
        ? spawn("/bin/sh", ["-c", '"$@" & wait', "sh", ...program], { env, detached: true })
        : spawn(program[0], program.slice(1), { env, detached: true });
      children.push(child);
      return port;
    };
    const { startId } = preview.small.agent;
    try {
      const agent = { HAWSER_AGENT: startId, HAWSER_SESSION: own };
      const served = await start(agent, true);
      const hidden = [
        await start(agent, false),
        await start({ HAWSER_AGENT: startId }, true),
        await start({ ...agent, HAWSER_SESSION: other }, true),
        await start({ HAWSER_AGENT: "former", HAWSER_SESSION: own }, true),
        await start({ HAWSER_SESSION: own }, true),
      ];
      for (const port of [served, ...hidden]) {
        await until("it listens", async () =>
          fetch(`http://127.0.0.1:${port}/`).then(
            () => true,
            () => false,
          ),
        );
      }
      await preview.untilListening(own, served);
      assert.equal(await read(await preview.expose(own, served)), "own");
      for (const [at, port] of hidden.entries()) {
        assert.equal(await read(await preview.expose(own, port)), closed, `the hidden one ${at}`);
      }
      // Another start of the agent: what the former one has left is not the session's.
      const tunnel = await preview.expose(own, served);
      assert.equal(await read(tunnel), "own");
      preview.host.driver.crash();
      assert.equal(await read(tunnel), closed);
    } finally {
      for (const { pid } of children) process.kill(-pid!, "SIGKILL");
    }
  },
);

/** A server that gives its socket to another process at a signal. */
const givingAway = (port: number, environment: object, isKept: boolean) => `
const server = require("node:http").createServer((request, response) => response.end("own"));
server.listen(${port}, "127.0.0.1");
process.once("SIGUSR2", () => {
  const stdio = ["ignore", "ignore", "ignore", server._handle.fd];
  require("node:child_process").spawn("sleep", ["60"], { env: ${JSON.stringify(environment)}, stdio });
  if (!${isKept}) server.close();
});`;

test(
  "a socket that another process got from the session is not the session's",
  { timeout },
  async () => {
    await using preview = await startPreviewHost();
    const sessionId = await preview.startSession();
    const cases = [
      { environment: {}, isKept: false },
      { environment: { HAWSER_AGENT: "another" }, isKept: true },
    ];
    for (const { environment, isKept } of cases) {
      const port = await freePort();
      const tunnel = await preview.expose(sessionId, port);
      const program = givingAway(port, { PATH: process.env["PATH"], ...environment }, isKept);
      await preview.run(sessionId, `exec '${process.execPath}' -e '${program}'`);
      await preview.untilListening(sessionId, port);
      // The kept one is found only by looking at all processes, as a new tunnel does.
      if (!isKept) assert.equal(await read(tunnel), "own");
      for (const { pid } of processesOf(preview)) process.kill(pid, "SIGUSR2");
      await preview.untilListening(sessionId);
      assert.equal(await read(tunnel), closed);
      await preview.host.must("abort_turn", { sessionId });
    }
  },
);
