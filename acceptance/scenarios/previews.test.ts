// Previews of servers that sessions run on a real host, through two nodes: a real Vite in Chromium, who may have the port,
// and when the access ends. The requests arrive at a node that does not have the host's tunnel.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { AgentKind, type NewPreview } from "@hawser/contract";
import { openBrowser } from "@hawser/testkit/browser.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { writeViteProject } from "@hawser/testkit/vite-project.ts";
import { assertEnded, openStream, through } from "../exposure-steps.ts";
import { hotReloadOf, portsOf, runServer, stopServers } from "../preview-steps.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";
import { outcomeOf, runTurn, scripted, startSession, worktreeOf } from "../session-steps.ts";

useWorld({ agents: AgentKind.options, hosts: 1, nodes: 2 });

const cutWithinMs = 1_000;

/** A server of a session: says its name, and streams events without end. */
const serve = (port: number, name: string) =>
  `exec '${process.execPath}' -e 'require("node:http").createServer(({ url }, answer) => {
    if (url !== "/global/event") return answer.end("${name}");
    answer.writeHead(200, { "content-type": "text/event-stream", "set-cookie": "a=b" });
    answer.write("data: hello\\n\\n");
  }).listen(${port}, "127.0.0.1")'`;

/** The second node creates a preview, so it listens at its port. The host dials the first one. */
const createPreview = ({ world }: Context, sessionId: string, port: number) =>
  world
    .callerFor(world.organizations[0].keys.owner, 1)
    .create_preview({ sessionId, port, ttlMinutes: 60 });

/** A program that is not the session's, at the same port. Counts the connections that it gets. */
async function startStranger(port: number) {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

async function assertNotServed(preview: NewPreview): Promise<void> {
  const answer = await through(preview, "/");
  const { error } = (await answer.json()) as { error: { code: string; message: string } };
  assert.deepEqual([answer.status, error.code], [502, "port_closed"]);
  assert.match(error.message, /run_shell/);
}

scenario(
  "A real Vite is seen in a browser, an edit is shown by hot reload, and another process at its port gets nothing",
  [],
  async (context) => {
    const { world, caller } = context;
    const host = world.hosts[0]!;
    const { sessionId, worktreeBranch } = await startSession(caller, host);
    const recordFile = join(dirname(host.stateDirectory), "vite-requests");
    const project = writeViteProject(worktreeOf(host, worktreeBranch!), recordFile);
    const port = await freePort();
    await runServer(caller, sessionId, port, project.command(port));
    const preview = await createPreview(context, sessionId, port);
    assert.deepEqual(
      [preview.scope, preview.sessionId, preview.port],
      ["session", sessionId, port],
    );
    await using browser = await openBrowser(preview);
    const { page, errors } = browser;
    const connected = hotReloadOf(page);
    await page.goto(preview.url);
    await page.getByText("As it was", { exact: true }).waitFor();
    await connected;
    // A reload of the page would lose it.
    await page.evaluate("globalThis.mark = 'kept'");
    // The agent can work while the server runs.
    const turn = await runTurn(caller, sessionId, scripted("go on", { text: "Done." }));
    assert.equal(outcomeOf(turn), "completed");
    for (const words of ["Changed once", "Changed twice"]) {
      project.write(words);
      await page.getByText(words, { exact: true }).waitFor();
    }
    assert.equal(await page.evaluate("globalThis.mark"), "kept");
    assert.deepEqual(errors, []);

    const received = project.headers();
    assert.ok(received.some(({ upgrade }) => upgrade === "websocket"));
    for (const headers of received) {
      assert.equal(headers["host"], `localhost:${port}`);
      assert.ok([undefined, `http://localhost:${port}`].includes(headers["origin"]));
      for (const name of ["authorization", "cookie", "x-forwarded-for"]) {
        assert.equal(headers[name], undefined, name);
      }
    }
    await page.goto("about:blank");
    await stopServers(caller, sessionId);
    await assertNotServed(preview);
    {
      await using stranger = await startStranger(port);
      await assertNotServed(preview);
      const refused = await caller.try("create_preview", { sessionId, port, ttlMinutes: 60 });
      assertRefused(refused, 409, "host_refused");
      assert.equal(stranger.connections(), 0);
    }
    await runServer(caller, sessionId, port, project.command(port));
    assert.equal((await through(preview, "/")).status, 200);
    await stopServers(caller, sessionId);
    await caller.revoke_exposure({ exposureId: preview.exposureId });
  },
);

for (const agentKind of AgentKind.options) {
  scenario(
    `A server of a session of ${agentKind} is served, and not the server of another session`,
    [],
    async (context) => {
      const { world, caller } = context;
      const host = world.hosts[0]!;
      const own = await startSession(caller, host, { agentKind });
      const other = await startSession(caller, host, { agentKind });
      const port = await freePort();
      await runServer(caller, own.sessionId, port, serve(port, "mine"));
      assert.deepEqual(await portsOf(caller, other.sessionId), []);
      const preview = await createPreview(context, own.sessionId, port);
      const answer = await through(preview, "/any?thing");
      assert.deepEqual([answer.status, await answer.text()], [200, "mine"]);
      const { sessionId } = other;
      const refused = await caller.try("create_preview", { sessionId, port, ttlMinutes: 60 });
      assertRefused(refused, 409, "host_refused");

      await stopServers(caller, own.sessionId);
      await runServer(caller, other.sessionId, port, serve(port, "theirs"));
      await assertNotServed(preview);
      await stopServers(caller, other.sessionId);
      for (const each of [own, other]) await caller.end_session({ sessionId: each.sessionId });
      await assertEnded(preview);
    },
  );
}

scenario(
  "A preview is listed with its port, is served with its password only, and ends when it is revoked",
  [],
  async (context) => {
    const { world, caller } = context;
    const { instanceId } = world.hosts[0]!;
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const port = await freePort();
    const missing = await caller.try("create_preview", { sessionId, port, ttlMinutes: 60 });
    assert.match(assertRefused(missing, 409, "host_refused").message, new RegExp(`port ${port}`));
    await runServer(caller, sessionId, port, serve(port, "served"));
    const preview = await createPreview(context, sessionId, port);
    const { exposureId, url, username, password, ...record } = preview;
    assert.equal(new URL(url).pathname, "/");
    const listed = async () =>
      (await caller.list_exposures({ instanceId })).exposures.filter(
        (each) => each.sessionId === sessionId,
      );
    const exposures = await listed();
    assert.deepEqual(exposures, [{ exposureId, ...record }]);

    const wrong = Buffer.from(`${username}:wrong`).toString("base64");
    for (const authorization of ["", `Basic ${wrong}`]) {
      assert.equal((await through(preview, "/", { headers: { authorization } })).status, 401);
    }
    const streaming = await through(preview, "/global/event");
    assert.equal(streaming.headers.get("set-cookie"), null, "a loopback port has no cookies");
    await streaming.body!.cancel();
    const stream = await openStream(preview);
    const began = performance.now();
    await caller.revoke_exposure({ exposureId });
    assert.ok((await stream.ended) - began < cutWithinMs);
    await assertEnded(preview);
    assert.deepEqual(await listed(), []);
    assert.ok(!JSON.stringify(exposures).includes(password));
    await caller.end_session({ sessionId });
  },
);

scenario("The host's owner can forbid previews, also open ones", [], async (context) => {
  const { world, caller } = context;
  const host = world.hosts[0]!;
  const { sessionId } = await startSession(caller, host);
  const port = await freePort();
  await runServer(caller, sessionId, port, serve(port, "served"));
  const preview = await createPreview(context, sessionId, port);
  const stream = await openStream(preview);
  const file = join(host.stateDirectory, "policy");
  const policy = readFileSync(file, "utf8");
  writeFileSync(file, `${policy.replaceAll(/^previews = .*$/gm, "")}\npreviews = no\n`);
  await stream.ended;
  assert.equal((await through(preview, "/")).status, 503);
  for (const [action, more] of [
    ["create_preview", { port, ttlMinutes: 60 }],
    ["list_session_ports", {}],
  ] as const) {
    const refused = await caller.try(action, { sessionId, ...more });
    assert.match(assertRefused(refused, 409, "host_refused").message, /previews = yes/);
  }
  writeFileSync(file, policy);
  await until(
    "the preview works again",
    10_000,
    async () => (await through(preview, "/")).status,
    (status) => status === 200,
  );
  await caller.end_session({ sessionId });
});
