// Which events of opencode's streams leave the host.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { filterEvents } from "./event-filter.ts";

const own = new Set(["ses_own"]);

async function filtered(
  chunks: Buffer[],
  mostBytes?: number,
  reached: Iterable<string> = own,
): Promise<string> {
  const known = new Set(reached);
  const source = async function* () {
    yield* chunks;
  };
  const passed: Buffer[] = [];
  const options = {
    reaches: async (id: string) => known.has(id),
    onChild({ id, parentID }: { id: string; parentID: string }) {
      if (known.has(parentID)) known.add(id);
    },
    shownAs: (id: string) => (id === "msg_stored" ? "msg_proposed" : undefined),
    ...(mostBytes !== undefined && { mostBytes }),
  };
  for await (const frame of filterEvents(source(), options)) passed.push(frame);
  return Buffer.concat(passed).toString();
}

const frame = (event: unknown) => `data: ${JSON.stringify(event)}\n\n`;
const event = (type: string, properties: object) => ({ id: "evt_1", type, properties });
const sync = (type: string, aggregateID: string, data: object) => ({
  type: "sync",
  syncEvent: { type, seq: 1, aggregateID, data },
});

const passing = [
  event("server.connected", {}),
  event("server.heartbeat", {}),
  event("session.idle", { sessionID: "ses_own" }),
  event("session.updated", { info: { id: "ses_own" } }),
  event("message.updated", { info: { id: "msg_1", sessionID: "ses_own" } }),
  event("message.part.updated", { part: { sessionID: "ses_own", text: "a\nb" } }),
  event("permission.asked", { id: "per_1", sessionID: "ses_own" }),
  event("todo.updated", { sessionID: "ses_own", todos: [] }),
  sync("message.updated.1", "ses_own", { sessionID: "ses_own" }),
  event("session.created", { info: { id: "ses_child", parentID: "ses_own" } }),
  event("session.idle", { sessionID: "ses_child" }),
];
const dropped = [
  event("session.idle", { sessionID: "ses_x" }),
  event("session.idle", {}),
  event("session.created", { info: { id: "ses_y", parentID: "ses_x" } }),
  event("session.idle", { sessionID: "ses_y" }),
  event("session.updated", { sessionID: "ses_own", info: { id: "ses_x" } }),
  event("message.part.updated", { sessionID: "ses_own", part: { sessionID: "ses_x" } }),
  sync("message.updated.1", "ses_x", { sessionID: "ses_own" }),
  sync("message.updated.1", "ses_own", { sessionID: "ses_x" }),
  sync("workspace.created.1", "ses_own", {}),
  event("pty.created", { sessionID: "ses_own", info: {} }),
  event("tui.prompt.append", { sessionID: "ses_own", text: "x" }),
  event("file.edited", { file: "/etc/passwd" }),
  event("server.instance.disposed", { directory: "/srv" }),
  { type: "session.idle" },
  { payload: 7 },
  "text",
  7,
  null,
];

test("events of the exposure's sessions are passed on, and no others", async () => {
  const all = passing.flatMap((each, at) => [each, dropped[at]]).concat(dropped);
  const text = all.map(frame).join("");
  assert.equal(await filtered([Buffer.from(text)]), passing.map(frame).join(""));
  // /global/event wraps them.
  const wrapped = all.map((payload) => frame({ directory: "/srv", payload })).join("");
  const expected = passing.map((payload) => frame({ directory: "/srv", payload })).join("");
  assert.equal(await filtered([Buffer.from(wrapped)]), expected);
});

test("events may arrive in pieces of any size", async () => {
  const bytes = Buffer.from([...passing, ...dropped].map(frame).join(""));
  const expected = passing.map(frame).join("");
  for (const size of [1, 2, 7, 100]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    );
    assert.equal(await filtered(pieces), expected, `pieces of ${size}`);
  }
});

test("an event that is too large is dropped, and those after it are not", async () => {
  const large = event("session.idle", { sessionID: "ses_own", text: "x".repeat(5_000) });
  const bytes = Buffer.from(frame(passing[0]) + frame(large) + frame(passing[2]));
  const pieces = Array.from({ length: Math.ceil(bytes.length / 100) }, (_, at) =>
    bytes.subarray(at * 100, (at + 1) * 100),
  );
  assert.equal(await filtered(pieces, 1_000), frame(passing[0]) + frame(passing[2]));
  assert.equal(await filtered([bytes], 1_000), frame(passing[0]) + frame(passing[2]));
});

test("what is no event is dropped", async () => {
  const odd = ": comment\n\nevent: x\n\ndata: {\n\ndata:\n\nid: 1\nretry: 5\n\n";
  assert.equal(await filtered([Buffer.from(odd)]), "");
});

test("every event of recorded turns is about its session, or about one of its sub-agents", async () => {
  const folder = join(import.meta.dirname, "../../drivers/opencode/recordings/1.18.33");
  const files = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  assert.ok(files.length > 0);
  for (const name of files) {
    const lines = readFileSync(join(folder, name), "utf8").trim().split("\n");
    const text = lines.map((line) => `data: ${line}\n\n`).join("");
    const [root] = /ses_\w+/.exec(text)!;
    assert.equal(await filtered([Buffer.from(text)], undefined, [root]), text, name);
    assert.equal(await filtered([Buffer.from(text)]), "", name);
  }
});

test("a prompt that the client shows already is removed when the stored one arrives", async () => {
  const info = { id: "msg_stored", role: "user", sessionID: "ses_own" };
  const stored = event("message.updated", { info });
  const ofAgent = event("message.updated", { info: { ...info, role: "assistant" } });
  const removed = event("message.removed", { sessionID: "ses_own", messageID: "msg_proposed" });
  const text = frame(stored) + frame(ofAgent);
  const expected = frame(stored) + frame(removed) + frame(ofAgent);
  assert.equal(await filtered([Buffer.from(text)]), expected);
  const wrapped = frame({ directory: "/srv", payload: stored });
  const after = frame({ directory: "/srv", payload: removed });
  assert.equal(await filtered([Buffer.from(wrapped)]), wrapped + after);
  const foreign = event("message.updated", { info: { ...info, sessionID: "ses_x" } });
  assert.equal(await filtered([Buffer.from(frame(foreign))]), "");
});
