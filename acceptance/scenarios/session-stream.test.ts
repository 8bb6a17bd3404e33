// GET /api/sessions/{id}/events: the log from any cursor without a gap or a repeat, text while it is
// written, and viewers that come, go, or do not read.
import assert from "node:assert/strict";
import type { SessionUpdate } from "@hawser/contract";
import { writeSlashCommand } from "@hawser/testkit/opencode-home.ts";
import { readSession } from "@hawser/testkit/session-reader.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import {
  bash,
  logOf,
  runTurn,
  saidIn,
  scripted,
  startSession,
  untilAsked,
  untilEnd,
  untilLogged,
  updatesOf,
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 1, nodes: 2 });

scenario(
  "A viewer sees the log from the first entry, then live text, then the whole message in its place",
  [],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    await runTurn(caller, sessionId, scripted("before", { text: "earlier" }));
    // On another node than the one that is prompted.
    await using viewer = await readSession(world.nodes[1]!.baseUrl, caller.key, sessionId);
    const text = "Words come one by one until they are all here.";
    const { turnId } = await caller.send_prompt({
      sessionId,
      text: scripted("live", { text, paceMs: 150 }),
    });
    await untilEnd(caller, sessionId, turnId);
    const log = await logOf(caller, sessionId);
    await viewer.until("the last entry", ({ seq }) => seq === log.length);
    assert.deepEqual(
      viewer.entries.map(({ seq, update }) => [seq, update]),
      log.map(({ seq, update }) => [seq, update]),
    );
    const live = viewer.live.filter((piece) => piece.turnId === turnId && piece.kind === "message");
    assert.ok(live.length >= 3, `${live.length} pieces of live text`);
    // Put together by their offsets the pieces are a beginning of the message.
    let seen = "";
    for (const piece of live) {
      assert.ok(piece.offset <= seen.length, "no hole");
      seen = seen.slice(0, piece.offset) + piece.text;
    }
    assert.ok(text.startsWith(seen), seen);
  },
);

scenario(
  "What a prompt, a shell command and a slash command produce is in the view, in order and complete",
  ["general.accepted.stream"],
  async ({ world, caller }) => {
    const host = await world.addHost();
    writeSlashCommand(host.environment["HOME"]!, "greet", "Greet them: $ARGUMENTS");
    const { sessionId } = await startSession(caller, host);
    await using viewer = await readSession(world.nodes[1]!.baseUrl, caller.key, sessionId);
    await viewer.until("the first entry", ({ seq }) => seq === 1);
    const accepted: number[] = [];
    const noteAccepted = () => accepted.push(performance.now());

    const prompt = scripted("one", bash("echo from the prompt"), { text: "Prompted." });
    const prompted = await caller.send_prompt({ sessionId, text: prompt });
    noteAccepted();
    const { requestId } = await untilAsked(caller, sessionId);
    await caller.answer_permission({ requestId, answer: "once" });
    await untilEnd(caller, sessionId, prompted.turnId);

    const lines = Array.from({ length: 2_000 }, (_, i) => `line ${i + 1}`);
    const command = `for i in $(seq 2000); do echo "line $i"; done; sleep 1`;
    const { shellId } = await caller.run_shell({ sessionId, command });
    noteAccepted();
    await untilLogged(caller, sessionId, "shell");

    const words = scripted("Ada", { text: "Hello, Ada.", delayMs: 1_000 });
    const run = await caller.run_command({ sessionId, command: "greet", arguments: words });
    noteAccepted();
    await untilEnd(caller, sessionId, run.turnId);

    const log = await logOf(caller, sessionId);
    await viewer.until("the last entry", ({ seq }) => seq === log.length);
    const seen = viewer.entries;
    assert.deepEqual(
      seen.map(({ seq }) => seq),
      log.map((_, place) => place + 1),
    );
    assert.deepEqual(
      seen.map(({ update }) => update),
      log.map(({ update }) => update),
    );
    const places = [
      seen.find(({ update }) => JSON.stringify(update).includes("from the prompt\\n")),
      seen.find(({ update }) => update.sessionUpdate === "shell"),
      seen.find(({ update }) => JSON.stringify(update).includes("Hello, Ada.") && !isAsked(update)),
    ];
    assert.deepEqual(
      places.map((entry) => entry?.turnId),
      [prompted.turnId, null, run.turnId],
    );
    places.forEach((entry, at) => {
      assert.ok(entry!.seenAt > accepted[at]!, `part ${at} came after its acceptance`);
      if (at > 0) assert.ok(entry!.seq > places[at - 1]!.seq, "in order");
    });
    const [shell] = updatesOf(seen, "shell");
    assert.deepEqual([shell?.shellId, shell?.output], [shellId, `${lines.join("\n")}\n`]);
    assert.deepEqual(saidIn(seen), ["Prompted.", "Hello, Ada."]);
  },
);

const isAsked = ({ sessionUpdate }: SessionUpdate) => sessionUpdate === "user_message_chunk";

scenario(
  "A viewer that reconnects with its cursor receives what it missed, once",
  [],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    await runTurn(caller, sessionId, scripted("one", { text: "1" }));
    const before = (await logOf(caller, sessionId)).length;
    await runTurn(caller, sessionId, scripted("two", { text: "2" }));
    const log = await logOf(caller, sessionId);
    for (const [how, options] of [
      ["by the query", { after: before }],
      ["by the header", { lastEventId: before }],
    ] as const) {
      await using viewer = await readSession(world.baseUrl, caller.key, sessionId, options);
      await viewer.until(how, ({ seq }) => seq === log.length);
      assert.deepEqual(
        viewer.entries.map(({ seq }) => seq),
        log.slice(before).map(({ seq }) => seq),
      );
    }
  },
);

scenario("Forty viewers on two nodes receive the same log", [], async ({ world, caller }) => {
  const { sessionId } = await startSession(caller, world.hosts[0]!);
  await using viewers = new AsyncDisposableStack();
  const all = await Promise.all(
    Array.from({ length: 40 }, async (_, i) =>
      viewers.use(await readSession(world.nodes[i % 2]!.baseUrl, caller.key, sessionId)),
    ),
  );
  await runTurn(caller, sessionId, scripted("many", { text: "to all of you", paceMs: 50 }));
  const log = await logOf(caller, sessionId);
  for (const viewer of all) {
    await viewer.until("the end", ({ seq }) => seq === log.length);
    assert.deepEqual(
      viewer.entries.map(({ seq, update }) => [seq, update]),
      log.map(({ seq, update }) => [seq, update]),
    );
  }
});

scenario(
  "Only a key that may see the session may watch it, and a revoked key is cut off",
  [],
  async ({ world, caller, stranger }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const path = `/api/sessions/${sessionId}/events`;
    assert.equal((await stranger.request(path)).status, 404);
    assert.equal((await caller.request("/api/sessions/ses_nothing/events")).status, 404);
    const blind = await world.makeKey(world.organizations[0], ["instances:view"]);
    assert.equal((await world.callerFor(blind).request(path)).status, 403);
    assert.equal((await world.callerFor("hwk_wrong").request(path)).status, 401);
    assert.equal((await caller.request(`${path}?after=minus`)).status, 400);

    const { apiKey, key } = await caller.create_api_key({
      name: "viewer",
      scope: "organization",
      permissions: ["sessions:view"],
    });
    await using viewer = await readSession(world.baseUrl, key, sessionId);
    await viewer.until("the first entry", ({ seq }) => seq === 1);
    await caller.revoke_api_key({ apiKeyId: apiKey.apiKeyId });
    await until(
      "cut off",
      8_000,
      async () => viewer.isOpen(),
      (open) => !open,
    );
  },
);
