// Exposures of the real opencode, through a real WebSocket: what a client can do, and what it sees.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { ClientHttp2Stream } from "node:http2";
import { test } from "node:test";
import { plantedKey, startExposedHost, type ExposedSession } from "@hawser/testkit/exposed-host.ts";
import { script } from "@hawser/testkit/small-host.ts";
import { until } from "@hawser/testkit/until.ts";

const prompt = (steps: Parameters<typeof script>[0], more: object = {}) => ({
  body: { parts: [{ type: "text", text: script(steps) }], ...more },
});

interface Frame {
  type: string;
  sessions: string[];
}

/** Collects the events of a stream, with every session id in them. */
function collect(stream: ClientHttp2Stream): { frames: Frame[]; text: () => string } {
  const frames: Frame[] = [];
  let text = "";
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    text += chunk;
    const parts = (rest + chunk).split("\n\n");
    rest = parts.pop()!;
    for (const part of parts) {
      const read = JSON.parse(part.slice("data:".length)) as { payload?: { type: string } };
      const { type } = read.payload ?? (read as { type: string });
      frames.push({ type, sessions: [...new Set(part.match(/\bses_[0-9A-Za-z]{20,}/g))] });
    }
  });
  return { frames, text: () => text };
}

test(
  "an exposed session is read and prompted, and its turns are in its log",
  { timeout: 120_000 },
  async () => {
    await using exposed = await startExposedHost();
    const { host, edge } = exposed;
    const session = await exposed.startSession("Try it", "auto");
    const { sessionId, handle } = session;
    const scope = { kind: "session" as const, sessionId };
    const tunnel = await exposed.expose(scope, { highestMode: "ask" });
    assert.equal(edge.upgrades[0]!.headers.authorization, "Bearer ticket-1");
    const read = await tunnel.ask("GET", `/session/${handle}`);
    assert.equal((read.json() as { id: string }).id, handle);
    const finished = (count: number) =>
      until(
        `${count} turns have finished`,
        () =>
          host.entries(sessionId).filter(({ update }) => update.sessionUpdate === "turn_finished")
            .length === count,
        60_000,
      );

    const answer = await tunnel.ask("POST", `/session/${handle}/message`, {
      headers: { "x-opencode-directory": session.directory },
      ...prompt([{ text: "Hello from the model." }], {
        agent: "build",
        model: { providerID: "stub", modelID: "stub-1" },
      }),
    });
    assert.equal(answer.status, 200);
    const { info, parts } = answer.json() as { info: { role: string }; parts: { text?: string }[] };
    assert.equal(info.role, "assistant");
    // The organization allows only a narrower mode by now.
    assert.equal(host.journal.driven.get(sessionId)!.mode, "ask");
    assert.ok(parts.some((part) => part.text === "Hello from the model."));

    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    const url = `data:image/png;base64,${png.toString("base64")}`;
    const withFile = {
      parts: [
        { type: "text", text: script([{ text: "Seen." }]) },
        { type: "file", mime: "image/png", filename: "dot.png", url },
      ],
    };
    const sent = await tunnel.ask("POST", `/session/${handle}/prompt_async`, { body: withFile });
    assert.equal(sent.status, 204);
    await finished(2);
    assert.ok(JSON.stringify(exposed.model.requests.at(-1)!.body).includes(url));

    const greeting = { command: "greet", arguments: "Ada" };
    const greeted = await tunnel.ask("POST", `/session/${handle}/command`, { body: greeting });
    assert.equal(greeted.status, 200);
    const unknown = { command: "nothing", arguments: "" };
    const refused = await tunnel.ask("POST", `/session/${handle}/command`, { body: unknown });
    assert.equal(refused.status, 400);

    const slow = tunnel.ask(
      "POST",
      `/session/${handle}/message`,
      prompt([{ text: "slow", delayMs: 60_000 }]),
    );
    await host.until(
      sessionId,
      "turn_started",
      (_, { turnId }) => turnId !== null && host.sessions.describe(sessionId).status === "running",
    );
    await until("the model is asked", () => exposed.model.requests.at(-1)?.outcome === "running");
    assert.equal((await tunnel.ask("POST", `/session/${handle}/abort`)).text, "true");
    assert.equal((await slow).status, 200);
    await finished(4);
    const outcomes = host
      .entries(sessionId)
      .flatMap(({ update }) => (update.sessionUpdate === "turn_finished" ? [update.outcome] : []));
    assert.deepEqual(outcomes, ["completed", "completed", "completed", "aborted"]);
    const entries = host.entries(sessionId);
    assert.deepEqual(
      entries.map(({ seq }) => seq),
      entries.map((_, at) => at + 1),
    );
    const beginnings = entries.filter(({ update }) => update.sessionUpdate === "turn_started");
    assert.equal(beginnings.length, 4);
    assert.ok(
      entries.every(
        ({ update, turnId }) => turnId !== null || !/chunk|tool/.test(update.sessionUpdate),
      ),
    );

    // The web app: the page, a file of it, and its own address of the session.
    const page = await tunnel.ask("GET", "/");
    assert.match(page.text, /<title>OpenCode<\/title>/);
    assert.match(String(page.headers["content-security-policy"]), /script-src 'self'/);
    const asset = await tunnel.ask("GET", /"(\/assets\/[^"]+\.js)"/.exec(page.text)![1]!);
    assert.match(String(asset.headers["content-type"]), /javascript/);
    const place = `/${Buffer.from(session.directory).toString("base64url")}/session/${handle}`;
    assert.equal((await tunnel.ask("GET", place)).text, page.text);

    const providers = await tunnel.ask("GET", "/config/providers");
    assert.ok(providers.text.includes("Stub One"));
    assert.ok(!providers.text.includes(plantedKey));
    const direct = JSON.stringify(await exposed.direct("GET", "/config/providers"));
    assert.ok(direct.includes(plantedKey), "the planted key is not where it was expected");
  },
);

test(
  "event streams carry the events of the exposure's sessions only",
  { timeout: 180_000 },
  async () => {
    await using exposed = await startExposedHost();
    const { host } = exposed;
    const own = await exposed.startSession("Own");
    const other = await exposed.startSession("Other");
    const narrow = await exposed.expose({ kind: "session", sessionId: own.sessionId });
    const wide = await exposed.expose({ kind: "instance" });
    const open = async (tunnel: typeof narrow, path: string) => {
      const stream = tunnel.open({ ":method": "GET", ":path": path });
      const collected = collect(stream);
      await once(stream, "response");
      await until("the stream is open", () => collected.frames.length > 0);
      return collected;
    };
    const ofOwn = await open(narrow, "/global/event");
    const ofDirectory = await open(narrow, "/event");
    const ofAll = await open(wide, "/global/event");
    const foreign = (await exposed.direct("POST", "/session", {
      directory: exposed.small.folder,
      body: { title: "Foreign" },
    })) as { id: string };

    const help = { description: "Help", subagent_type: "general" };
    const subAgent = {
      calls: [{ tool: "task", input: { ...help, prompt: script([{ text: "Child's words." }]) } }],
    };
    const run = async ({ sessionId }: ExposedSession, steps: Parameters<typeof script>[0]) => {
      const { turnId } = await host.must("send_prompt", { sessionId, text: script(steps) });
      const isOf = (_: unknown, entry: { turnId: string | null }) => entry.turnId === turnId;
      return { turnId, finished: host.until(sessionId, "turn_finished", isOf) };
    };
    const ownTurn = await run(own, [subAgent, { text: "Own words." }]);
    const otherTurn = await run(other, [{ text: "Other words." }]);
    const { requestId, shownHash } = await host.until(own.sessionId, "request_raised");
    const allowing = { requestId, shownHash, answer: "once" as const, answers: null };
    await host.must("answer_request", { sessionId: own.sessionId, ...allowing });
    assert.equal((await otherTurn.finished).outcome, "completed");
    assert.equal((await ownTurn.finished).outcome, "completed");
    const body = { noReply: true, parts: [{ type: "text", text: "Foreign words." }] };
    await exposed.direct("POST", `/session/${foreign.id}/message`, { body });

    for (const collected of [ofOwn, ofDirectory, ofAll]) {
      await until("the turn's end is there", () => {
        const idle = collected.frames.filter(({ type }) => type === "session.idle");
        return idle.some(({ sessions }) => sessions.includes(own.handle));
      });
      assert.ok(collected.text().includes("Own words."));
      assert.ok(collected.text().includes("Child's words."));
      assert.ok(!collected.text().includes("Foreign"));
    }
    assert.ok(!ofOwn.text().includes("Other words."));
    assert.ok(!ofOwn.text().includes(other.handle));
    assert.ok(!ofDirectory.text().includes(other.handle));
    assert.ok(ofAll.text().includes("Other words."));
    const named = new Set(ofOwn.frames.flatMap(({ sessions }) => sessions));
    assert.ok(named.has(own.handle));
    const types = new Set(ofOwn.frames.map(({ type }) => type.split(".")[0]));
    assert.deepEqual(
      [...types].filter((type) => !allowedTypes.has(type!)),
      [],
    );

    // The sub-agent's session can be read, and not prompted.
    const children = await narrow.ask("GET", `/session/${own.handle}/children`);
    const [child] = children.json() as { id: string }[];
    const late = await exposed.expose({ kind: "session", sessionId: own.sessionId });
    assert.equal((await late.ask("GET", `/session/${child!.id}/message`)).status, 200);
    const refused = await late.ask(
      "POST",
      `/session/${child!.id}/message`,
      prompt([{ text: "x" }]),
    );
    assert.equal(refused.status, 403);
  },
);

const allowedTypes = new Set([
  "server",
  "session",
  "message",
  "permission",
  "question",
  "todo",
  "command",
  "sync",
]);
