// The patch of everything that a session has changed: how often the host is asked for it, and what is left out.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallAction } from "../transports/mcp/guide.ts";
import { diffOf } from "./session-diff.ts";

type Page = { patch: string; nextCursor: string | null };

/** A session with changed files, and what was asked about it. */
function session(count: number, read: (path: string, cursor?: string) => Page | Promise<Page>) {
  const files = Array.from({ length: count }, (_, n) => ({
    path: `f${n}`,
    added: n,
    removed: 1,
    status: "modified",
  }));
  const told = { asked: 0, open: 0, mostOpen: 0 };
  const call: CallAction = async (action, { path, cursor }) => {
    if (action === "get_session_diff") return { files };
    told.asked += 1;
    told.mostOpen = Math.max(told.mostOpen, ++told.open);
    await new Promise((resolve) => setTimeout(resolve, 1));
    try {
      return await read(path as string, cursor as string | undefined);
    } finally {
      told.open -= 1;
    }
  };
  return { told, call };
}

const refusal = (code: string) => Object.assign(new Error(code), { data: { code } });
const pointer = (n: number) => `# f${n}: ${n} lines added, 1 removed; see get_session_file_diff\n`;

test("the host is asked for 100 files, four at a time, and the others are named", async () => {
  const { told, call } = session(705, (path) => ({ patch: `+${path}\n`, nextCursor: null }));
  const lines = (await diffOf(call, "s")).split(/(?<=\n)/);
  assert.equal(lines.length, 705);
  assert.deepEqual([told.asked, told.mostOpen], [100, 4]);
  assert.deepEqual(
    lines.slice(0, 100),
    Array.from({ length: 100 }, (_, n) => `+f${n}\n`),
    "in their order",
  );
  assert.deepEqual([lines[100], lines[704]], [pointer(100), pointer(704)]);
});

test("no file is begun after ten seconds", async () => {
  let now = 0;
  const { told, call } = session(50, (path) => {
    now += 2_000;
    return { patch: `+${path}\n`, nextCursor: null };
  });
  const text = await diffOf(call, "s", () => now);
  assert.ok(told.asked < 12, String(told.asked));
  assert.ok(text.startsWith("+f0\n+f1\n") && text.endsWith(pointer(49)));
});

test("a file that is changed back or once more does not fail the others", async () => {
  const { call } = session(4, (path, cursor) => {
    if (path === "f1") throw refusal("not_found");
    if (path === "f2" && cursor) throw refusal("invalid_input");
    return { patch: `+${path}\n`, nextCursor: path === "f2" ? "next" : null };
  });
  const text = await diffOf(call, "s");
  assert.equal(text, `+f0\n# f1: not changed any more\n+f2\n${pointer(2)}+f3\n`);
  const { told, call: offline } = session(50, () => {
    throw refusal("host_offline");
  });
  await assert.rejects(diffOf(offline, "s"), /host_offline/);
  assert.ok(told.asked <= 4);
});

test("a long patch ends after 200,000 characters, and says so", async () => {
  const { told, call } = session(30, (_path, cursor) => ({
    patch: `${"x".repeat(60_000)}\n`,
    nextCursor: cursor === "5" ? null : String(Number(cursor ?? 0) + 1),
  }));
  const text = await diffOf(call, "s");
  assert.ok(text.length < 300_000, String(text.length));
  assert.match(text, /\n# f0: the rest of the patch is missing; see get_session_file_diff\n/);
  assert.ok(text.endsWith(pointer(29)));
  assert.ok(told.asked < 10, String(told.asked));
});
