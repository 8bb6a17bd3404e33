// Servers that the real opencode starts: one process runs the commands of all sessions, so each has its session's mark.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startExposedHost } from "@hawser/testkit/exposed-host.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { serverText } from "@hawser/testkit/preview-host.ts";
import { script } from "@hawser/testkit/small-host.ts";
import { until } from "@hawser/testkit/until.ts";

test(
  "a server that opencode has started is its session's, and opencode's own is of none",
  { timeout: 120_000 },
  async () => {
    await using exposed = await startExposedHost();
    const { host } = exposed;
    const [own, other] = [await exposed.startSession(), await exposed.startSession()];
    const port = await freePort();
    writeFileSync(join(own.directory, "server.cjs"), serverText(port));
    const command = `nohup ${process.execPath} server.cjs > out.txt 2>&1 &`;
    const call = { tool: "bash", input: { command, description: "Start the server" } };
    const steps = [{ calls: [call] }, { text: "Started." }];
    const { sessionId } = own;
    await host.must("send_prompt", { sessionId, text: script(steps) });
    const { requestId, shownHash } = await host.until(sessionId, "request_raised");
    const answer = { requestId, shownHash, answer: "once" as const, answers: null };
    await host.must("answer_request", { sessionId, ...answer });
    const portsOf = async (session: typeof own) =>
      (await host.must("list_session_ports", { sessionId: session.sessionId })).ports;
    await until("the server is listed", async () => (await portsOf(own)).length > 0);
    assert.deepEqual(await portsOf(own), [{ port, program: "node" }]);
    assert.deepEqual(await portsOf(other), []);
    const tunnel = await exposed.expose({ kind: "port", sessionId, port });
    assert.equal((await tunnel.ask("GET", "/")).text, "own");

    const { port: opencode } = exposed.server();
    for (const { sessionId } of [own, other]) {
      const scope = { kind: "port" as const, sessionId, port: opencode };
      const answered = await (await exposed.expose(scope)).ask("GET", "/global/health");
      assert.equal(answered.status, 502);
    }
  },
);
