// opencode's own terminal client, on an exposure of one session.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startExposedHost } from "@hawser/testkit/exposed-host.ts";
import { openTerminal } from "@hawser/testkit/terminal.ts";
import { startTunnelProxy } from "@hawser/testkit/tunnel-proxy.ts";
import { until } from "@hawser/testkit/until.ts";

/** A script for the model that does not contain its own answer, because the screen shows the script as well. */
const answering = (word: string) => `@@[{"text":"${[...word].map(escaped).join("")}"}]`;
const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;

test(
  "opencode attach shows the session, and a prompt typed there is answered",
  { timeout: 180_000 },
  async () => {
    await using exposed = await startExposedHost();
    const { host } = exposed;
    const session = await exposed.startSession("Exposed session");
    const { sessionId } = session;
    const tunnel = await exposed.expose({ kind: "session", sessionId });
    await using proxy = await startTunnelProxy(tunnel);
    using terminal = openTerminal(
      [exposed.program, "attach", proxy.url, "--dir", session.directory, "-s", session.handle],
      {
        OPENCODE_SERVER_PASSWORD: "password-of-the-exposure",
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_MODELS_FETCH: "1",
      },
    );
    await terminal.untilShown("Exposed session");
    await terminal.untilShown("Stub One");
    terminal.type(`Say it. ${answering("Typed")}`);
    terminal.press("Enter");
    await terminal.untilShown("Typed");
    assert.equal((await host.until(sessionId, "turn_finished")).outcome, "completed");
    const asked = await host.until(sessionId, "user_message_chunk");
    assert.ok(JSON.stringify(asked.content).includes("Say it."));
    const message = `200 POST /session/${session.handle}/message`;
    await until("the prompt is answered", () => proxy.answers.includes(message));

    // The client also shows turns that others have prompted.
    await host.must("send_prompt", { sessionId, text: `And now. ${answering("Elsewhere")}` });
    await terminal.untilShown("Elsewhere");

    // The client shows what the agent asks, and cannot answer. Only the action can.
    const call =
      '{"calls":[{"tool":"bash","input":{"command":"echo made > m.txt","description":"x"}}]}';
    terminal.type(`Do it. @@[${call},${answering("Finished").slice(3)}`);
    terminal.press("Enter");
    const { requestId, shownHash } = await host.until(sessionId, "request_raised");
    await terminal.untilShown("Permission required");
    terminal.press("Enter");
    await until("the answer is refused", () =>
      proxy.answers.some((line) => /^403 POST .*permission/.test(line)),
    );
    const answer = { sessionId, requestId, shownHash, answer: "once" as const, answers: null };
    assert.deepEqual(await host.must("answer_request", answer), { status: "answered" });
    await terminal.untilShown("Finished");
    assert.ok(!terminal.screen().includes("Permission required"));
  },
);
