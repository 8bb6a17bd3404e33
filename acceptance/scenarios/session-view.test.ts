// A session's stream, seen from outside: what its host reports comes to the viewers of every node.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { request } from "@hawser/testkit/caller.ts";
import { startJournalHost } from "@hawser/testkit/journal-host.ts";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { until } from "@hawser/testkit/until.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld({ nodes: 2, nats: 1 });

interface Viewer extends AsyncDisposable {
  seqs: number[];
  events: string[];
  /** Of the records, in their order. */
  titles: (string | null)[];
}

async function view(baseUrl: string, key: string, sessionId: string, after = 0): Promise<Viewer> {
  const ended = new AbortController();
  const response = await fetch(`${baseUrl}/api/sessions/${sessionId}/events?after=${after}`, {
    headers: { authorization: `Bearer ${key}` },
    signal: ended.signal,
  });
  assert.equal(response.status, 200);
  const viewer: Viewer = {
    seqs: [],
    events: [],
    titles: [],
    async [Symbol.asyncDispose]() {
      ended.abort();
      await reading;
    },
  };
  const reading = (async () => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      const frames = text.split("\n\n");
      text = frames.pop()!;
      for (const frame of frames) {
        const id = /^id: (\d+)$/m.exec(frame)?.[1];
        const event = /^event: (\w+)$/m.exec(frame)?.[1];
        if (id) viewer.seqs.push(Number(id));
        if (event) viewer.events.push(event);
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (event === "record") viewer.titles.push((JSON.parse(data!) as { title: string }).title);
      }
    }
  })().catch(() => {});
  return viewer;
}

scenario(
  "Every node streams a host's entries in order and once, from any cursor",
  [],
  async ({ world, caller }) => {
    const directory = mkdtempSync(join(tmpdir(), "hawser-view-"));
    await using host = await startJournalHost(caller, world.baseUrl, directory, "viewed");
    const [organization] = world.organizations;
    const { instanceId } = host;
    const [sessionId] = await insertSessions(world, organization, { instanceId });
    const key = organization.keys.viewer;
    const views = await Promise.all(
      world.nodes.map(({ baseUrl }) => view(baseUrl, key, sessionId!)),
    );
    const plan = (n: number) => ({ sessionUpdate: "plan", entries: [], n });
    for (let n = 1; n <= 200; n += 2) await host.append(sessionId!, [plan(n), plan(n + 1)]);
    const finished = { sessionUpdate: "turn_finished", outcome: "completed", reason: null };
    await host.append(sessionId!, [finished]);
    await until("all entries", () => views.every(({ seqs }) => seqs.length >= 201));
    const all = Array.from({ length: 201 }, (_, index) => index + 1);
    for (const { seqs } of views) assert.deepEqual(seqs, all);
    await caller.rename_session({ sessionId: sessionId!, title: "renamed" });
    await until("the record at first and changed", () =>
      views.every(({ titles }) => titles[0] === "a session" && titles.at(-1) === "renamed"),
    );
    await using late = await view(world.nodes[1]!.baseUrl, key, sessionId!, 150);
    await until("the rest", () => late.seqs.length === 51);
    assert.deepEqual(late.seqs, all.slice(150));
    const waited = await caller.wait_for_session({ sessionId: sessionId! });
    assert.deepEqual([waited.turnOutcome, waited.lastSeq], ["completed", 201]);
    for (const each of views) await each[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  },
);

scenario(
  "A record that changed while the service had no fabric is shown when it has one again",
  [],
  async ({ world, caller }) => {
    const [organization] = world.organizations;
    const { instanceId } = (await caller.create_instance({ name: "record" })).instance;
    const [sessionId] = await insertSessions(world, organization, { instanceId, title: "before" });
    const [nats] = world.nats!.servers;
    await using viewer = await view(world.nodes[1]!.baseUrl, organization.keys.viewer, sessionId!);
    await until("the record at first", () => viewer.titles.length > 0);
    await nats!.kill();
    for (const { baseUrl } of world.nodes)
      await until("the loss", async () => (await request(baseUrl, "/readyz")).status === 503);
    await caller.rename_session({ sessionId: sessionId!, title: "after" });
    await nats!.restart();
    await until("the record", () => viewer.titles.includes("after"));
    assert.deepEqual(viewer.titles, ["before", "after"]);
  },
);
