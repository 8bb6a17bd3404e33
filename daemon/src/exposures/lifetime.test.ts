// When tunnels of a host are opened and refused, and what ends them.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { test } from "node:test";
import { makeExposureId, startExposedHost } from "@hawser/testkit/exposed-host.ts";
import { codeOf, makeSessionId, script } from "@hawser/testkit/small-host.ts";
import { until } from "@hawser/testkit/until.ts";

const soon = () => new Date(Date.now() + 600_000).toISOString();

const wanted = () => ({
  exposureId: makeExposureId(),
  ticket: "t",
  expiresAt: soon(),
  scope: { kind: "instance" as const },
});

test("what may not be exposed is refused with a sentence", { timeout: 120_000 }, async () => {
  await using exposed = await startExposedHost();
  const { host, edge } = exposed;
  const refusals: [object, string][] = [
    [{ expiresAt: new Date(Date.now() - 1_000).toISOString() }, "exposure_expired"],
    [{ scope: { kind: "session", sessionId: makeSessionId() } }, "session_ended"],
  ];
  for (const [changes, code] of refusals) {
    const outcome = await host.ask("open_tunnel", { ...wanted(), ...changes });
    assert.equal(codeOf(outcome), code, JSON.stringify(changes));
  }
  edge.refuses = 403;
  assert.equal(codeOf(await host.ask("open_tunnel", wanted())), "tunnel_failed");
  edge.refuses = undefined;
  const dialled = edge.upgrades.length;

  exposed.writePolicy("exposures = no\n");
  const forbidden = await host.ask("open_tunnel", wanted());
  assert.equal(codeOf(forbidden), "exposures_forbidden");
  assert.match(JSON.stringify(forbidden), /exposures = no/);
  exposed.writePolicy("nonsense\n");
  assert.equal(codeOf(await host.ask("open_tunnel", wanted())), "policy_unreadable");
  assert.equal(edge.upgrades.length, dialled);
});

test(
  "a tunnel ends when its time, its session or its permission does",
  { timeout: 180_000 },
  async () => {
    await using exposed = await startExposedHost();
    const { host, edge } = exposed;
    const session = await exposed.startSession();
    const scope = { kind: "session" as const, sessionId: session.sessionId };

    // One tunnel for each exposure; several exposures at once.
    const tunnel = await exposed.expose(scope);
    const again = { ...wanted(), exposureId: tunnel.exposureId, scope };
    assert.deepEqual(await host.must("open_tunnel", again), { status: "already_open" });
    assert.equal(edge.upgrades.length, 1);
    // Unless the other side is gone without a sign.
    const silent = await exposed.expose(scope);
    silent.socket.pause();
    const renewed = await exposed.expose(scope, { exposureId: silent.exposureId });
    assert.equal((await renewed.ask("GET", `/session/${session.handle}`)).status, 200);
    const short = await exposed.expose(scope, { expiresInMs: 1_000 });
    const shortStream = short.open({ ":method": "GET", ":path": "/global/event" });
    await once(shortStream, "data");
    assert.equal((await short.closed).reason, "expired");
    await until("its stream has ended", () => shortStream.destroyed);
    assert.equal((await tunnel.ask("GET", `/session/${session.handle}`)).status, 200);

    // Two commands for one exposure open one tunnel.
    const twice = { ...wanted(), scope };
    void edge.accept();
    const both = [host.must("open_tunnel", twice), host.must("open_tunnel", twice)];
    const statuses = (await Promise.all(both)).map(({ status }) => status);
    assert.deepEqual(statuses, ["opened", "already_open"]);

    const { exposureId } = tunnel;
    tunnel.socket.close();
    await tunnel.closed;

    // The same exposure is used again, until the owner of the host forbids it.
    const reopened = await exposed.expose(scope, { exposureId });
    assert.equal((await reopened.ask("GET", "/agent")).status, 200);
    exposed.writePolicy("exposures = no\n");
    assert.equal((await reopened.closed).reason, "forbidden");
    exposed.writePolicy("");

    const last = await exposed.expose(scope);
    const whole = await exposed.expose({ kind: "instance" });
    const waiting = last.open({ ":method": "GET", ":path": "/event" });
    await once(waiting, "data");
    const endedAt = performance.now();
    await host.must("end_session", { sessionId: session.sessionId });
    assert.equal((await last.closed).reason, "session_ended");
    assert.ok(performance.now() - endedAt < 10_000);
    assert.equal((await whole.ask("GET", `/session/${session.handle}`)).status, 403);
    assert.equal((await whole.ask("GET", "/agent")).status, 403);
    await exposed.stop();
    assert.equal((await whole.closed).reason, "stopped");
  },
);

test("N17: a process that took opencode's port gets no byte", { timeout: 180_000 }, async () => {
  await using exposed = await startExposedHost();
  const { host } = exposed;
  const session = await exposed.startSession();
  const tunnel = await exposed.expose({ kind: "session", sessionId: session.sessionId });
  const read = () => tunnel.ask("GET", `/session/${session.handle}`);
  assert.equal((await read()).status, 200);

  const { port, pid } = exposed.server();
  process.kill(pid, "SIGKILL");
  const received: Buffer[] = [];
  const impostor = await listenOn(port, (socket) => {
    socket.on("data", (bytes) => received.push(bytes));
    socket.on("error", () => {});
  });
  try {
    const answer = await read();
    assert.equal(answer.status, 502);
    assert.equal((answer.json() as { error: { code: string } }).error.code, "agent_gone");
    const page = await tunnel.ask("GET", "/");
    assert.equal(page.status, 502);
    assert.deepEqual(received, []);
    // A prompt starts another opencode, which the same tunnel reaches.
    const prompt = { parts: [{ type: "text", text: script([{ text: "Back." }]) }] };
    const path = `/session/${session.handle}/message`;
    const back = await tunnel.ask("POST", path, { body: prompt });
    assert.equal(back.status, 200);
    assert.ok(back.text.includes("Back."));
    assert.equal((await read()).status, 200);
    assert.notEqual(exposed.server().port, port);
    assert.deepEqual(received, []);
    await host.until(session.sessionId, "turn_finished");
  } finally {
    impostor.close();
  }
});

/** The port of a process that has just ended is free after a moment. */
async function listenOn(port: number, onConnection: (socket: Socket) => void): Promise<Server> {
  for (let tries = 1; ; tries++) {
    const server = createServer(onConnection).listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
      return server;
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
