// When the tunnel of a preview opens and ends: the policy file, the time and the session decide, and the server does not.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { makeExposureId } from "@hawser/testkit/exposed-host.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { serverCommand, startPreviewHost } from "@hawser/testkit/preview-host.ts";
import { codeOf, makeSessionId } from "@hawser/testkit/small-host.ts";
import { until } from "@hawser/testkit/until.ts";

const timeout = 60_000;

test(
  "sessions of every kind can have previews, which outlive their server",
  { timeout },
  async () => {
    await using preview = await startPreviewHost({ kind: "claude_code" });
    const sessionId = await preview.startSession();
    const port = await freePort();
    const tunnel = await preview.expose(sessionId, port);
    const ask = () => tunnel.ask("GET", "/");
    const missing = await ask();
    assert.equal(missing.status, 502);
    const { error } = missing.json() as { error: { message: string } };
    assert.match(
      error.message,
      new RegExp(`listens on port ${port} .* run_shell, then try again\\. list_session_ports `),
    );
    for (const name of ["first", "second"]) {
      await preview.run(sessionId, serverCommand(port, { name }));
      await preview.untilListening(sessionId, port);
      assert.equal((await ask()).text, name);
      await preview.host.must("abort_turn", { sessionId });
      await preview.untilListening(sessionId);
      assert.equal((await ask()).status, 502);
    }
    const again = {
      exposureId: tunnel.exposureId,
      ticket: "ticket-2",
      expiresAt: new Date(Date.now() + 60_000).toISOString(),
      scope: { kind: "port" as const, sessionId, port },
    };
    assert.deepEqual(await preview.host.must("open_tunnel", again), { status: "already_open" });
  },
);

test(
  "a preview ends with its time, its session, the owner's permission and the daemon",
  { timeout },
  async () => {
    await using preview = await startPreviewHost();
    const { host } = preview;
    const sessionId = await preview.startSession();
    const port = await freePort();
    await preview.run(sessionId, serverCommand(port));
    await preview.untilListening(sessionId, port);
    const scope = { kind: "port" as const, sessionId, port };

    const short = await preview.expose(sessionId, port, { expiresInMs: 1_000 });
    assert.equal((await short.ask("GET", "/")).status, 200);
    assert.equal((await short.closed).reason, "expired");

    const forbidden = await preview.expose(sessionId, port);
    preview.writePolicy("previews = no\n");
    assert.equal((await forbidden.closed).reason, "forbidden");
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const wanted = { exposureId: makeExposureId(), ticket: "t", expiresAt, scope };
    const refusals = [
      await host.ask("check_exposure", { scope }),
      await host.ask("open_tunnel", wanted),
      await host.ask("list_session_ports", { sessionId }),
    ];
    assert.deepEqual(refusals.map(codeOf), Array(3).fill("previews_forbidden"));
    // Exposures of opencode are another matter: this host's agent has no server.
    const ofSession = { kind: "session" as const, sessionId };
    assert.equal(
      codeOf(await host.ask("check_exposure", { scope: ofSession })),
      "capability_missing",
    );
    preview.writePolicy("exposures = no\npreviews = yes\n");
    assert.equal(codeOf(await host.ask("check_exposure", { scope })), "done");
    assert.equal(
      codeOf(await host.ask("check_exposure", { scope: ofSession })),
      "exposures_forbidden",
    );
    preview.writePolicy("exposures = no\n");
    assert.equal(codeOf(await host.ask("check_exposure", { scope })), "previews_forbidden");
    preview.writePolicy("no setting\n");
    assert.equal(codeOf(await host.ask("check_exposure", { scope })), "policy_unreadable");
    preview.writePolicy("");

    const other = await preview.startSession();
    const kept = await preview.expose(other, await freePort());
    const last = await preview.expose(sessionId, port);
    assert.equal((await last.ask("GET", "/")).text, "own");
    await host.must("end_session", { sessionId });
    assert.equal((await last.closed).reason, "session_ended");
    for (const ended of [sessionId, makeSessionId()]) {
      const gone = { kind: "port" as const, sessionId: ended, port };
      const refused = [
        await host.ask("check_exposure", { scope: gone }),
        await host.ask("open_tunnel", { ...wanted, scope: gone }),
        await host.ask("list_session_ports", { sessionId: ended }),
      ];
      assert.deepEqual(refused.map(codeOf), Array(3).fill("session_ended"));
    }
    assert.equal((await kept.ask("GET", "/")).status, 502);
    await preview.stop();
    assert.equal((await kept.closed).reason, "stopped");
  },
);

test(
  "a preview without requests is closed after a while, one with an open request is not",
  { timeout },
  async () => {
    await using preview = await startPreviewHost({ tunnelTiming: { idleMs: 500 } });
    const sessionId = await preview.startSession();
    const port = await freePort();
    const program = `
    require("node:http").createServer((request, response) => {
      response.write("data: 1\\n\\n");
    }).listen(${port}, "127.0.0.1")`;
    await preview.run(sessionId, `exec '${process.execPath}' -e '${program}'`);
    await preview.untilListening(sessionId, port);
    const tunnel = await preview.expose(sessionId, port);
    const stream = tunnel.open({ ":method": "GET", ":path": "/" });
    await once(stream, "data");
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    assert.equal(stream.destroyed, false);
    stream.close();
    assert.equal((await tunnel.closed).reason, "idle");
    await until("the stream is closed", () => stream.closed);
  },
);
