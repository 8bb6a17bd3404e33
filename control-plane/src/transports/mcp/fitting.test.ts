import assert from "node:assert/strict";
import { test } from "node:test";
import { action, type Action, type Effect } from "@hawser/contract";
import { z } from "zod";
import { largestResult, sentOnce, sentTwice, type Weigh } from "./cut.ts";
import { fittingAnswer, withSmallPage, type ToolCall } from "./fitting.ts";

type Input = Record<string, unknown>;
type Handler = (input: Input) => object;
interface Sent {
  cut?: { parts: string[]; rest: string };
  [field: string]: unknown;
}

const toy = (input: z.ZodObject, more: Partial<Action> & { effect?: Effect } = {}): Action =>
  action({
    summary: "Toy.",
    group: "toys",
    permission: null,
    effect: "reads",
    reach: "records",
    input,
    result: z.strictObject({}),
    refusals: [],
    ...more,
  });

const limit = z.int().meta({ default: 50 }).optional();
const list = toy(z.strictObject({ kind: z.string().optional(), limit }), { pagedBy: "search" });
const search = toy(
  z.strictObject({ kind: z.string().optional(), cursor: z.string().optional(), limit }),
);
const log = toy(
  z.strictObject({
    logId: z.string(),
    after: z.int().optional(),
    turnId: z.string().optional(),
    tail: z.boolean().optional(),
    limit: z.int().meta({ default: 100 }).optional(),
    maxBytes: z.int().optional(),
  }),
);
const patch = toy(z.strictObject({ cursor: z.string().optional(), maxBytes: z.int().optional() }));
const all = toy(z.strictObject({}));
const filtered = toy(
  z.strictObject({
    kind: z.string().optional(),
    query: z.string().optional(),
    all: z.boolean().optional(),
    limit,
  }),
);
const change = toy(z.strictObject({}), { effect: "changes", shownBy: "all" });
const actions: Record<string, Action> = { list, search, log, patch, all, filtered, change };

const records = Array.from({ length: 95 }, (_, n) => ({ id: `r${n}`, title: "t".repeat(600) }));
const page = ({ cursor = "0", limit = 50 }: Input) => {
  const from = Number(cursor);
  const to = from + Number(limit);
  return {
    records: records.slice(from, to),
    nextCursor: to < records.length ? String(to) : null,
  };
};
const paged: Record<string, Handler> = {
  search: page,
  list: ({ limit = 50 }) => ({ records: records.slice(0, Number(limit)) }),
};

/** A log with the rules of list_session_events, which returns one entry in any case. */
function logOf(texts: readonly string[]): Handler {
  const whole = texts.map((text, n) => ({ seq: n + 1, turnId: n % 2 ? "odd" : "even", text }));
  return ({ after = 0, limit = 100, maxBytes = 4_000_000, tail = false, turnId }) => {
    const found = whole.filter(
      (entry) => entry.seq > Number(after) && (turnId === undefined || entry.turnId === turnId),
    );
    const events: typeof whole = [];
    let bytes = 0;
    for (const entry of tail ? found.toReversed() : found) {
      if (events.length >= Number(limit) || (events.length > 0 && bytes >= Number(maxBytes))) break;
      events.push(entry);
      bytes += entry.text.length;
    }
    if (tail) events.reverse();
    const last = events.at(-1)?.seq ?? 0;
    const isMore = !tail && last < whole.length;
    return { events, lastSeq: whole.length, nextAfter: isMore ? last : null };
  };
}

interface Options {
  weigh?: Weigh;
  selected?: string[];
  resource?: ToolCall["resource"];
}

async function sentBy(
  handlers: Record<string, Handler>,
  tool: string,
  input: Input,
  { weigh = sentOnce, selected = Object.keys(actions), resource }: Options = {},
): Promise<Sent> {
  const toolCall: ToolCall = {
    tool,
    action: actions[tool]!,
    input,
    weigh,
    resource,
    offered: (name) => (selected.includes(name) ? actions[name] : undefined),
    call: (name, input) => Promise.resolve({ result: handlers[name]!(input) }),
  };
  const answer = await fittingAnswer(toolCall, handlers[tool]!(withSmallPage(toolCall)));
  assert.ok("result" in answer);
  assert.ok(weigh(answer.result) <= largestResult, `${weigh(answer.result)} bytes`);
  return answer.result as Sent;
}

/** The call that a result names for the rest. */
function callIn({ cut }: Sent): [tool: string, input: Input] {
  const [, tool, json] = /^(\w+) with (\{.*?\}) returns/.exec(cut?.rest ?? "") ?? [];
  assert.ok(tool && json, cut?.rest);
  return [tool, JSON.parse(json) as Input];
}

const seqs = ({ events }: Sent) => (events as { seq: number }[]).map(({ seq }) => seq);
const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

for (const weigh of [sentOnce, sentTwice]) {
  const times = weigh === sentOnce ? "once" : "twice";

  test(`a shortened list names the call that goes on, and nothing is lost, sent ${times}`, async () => {
    let sent = await sentBy(paged, "list", { limit: 200 }, { weigh });
    const ids = (sent["records"] as { id: string }[]).map(({ id }) => id);
    assert.deepEqual(sent.cut?.parts, [`records: ${ids.length} of 95 entries`]);
    const [tool, next] = callIn(sent);
    assert.equal(tool, "search");
    let cursor: unknown = next["cursor"];
    while (typeof cursor === "string") {
      sent = await sentBy(paged, "search", { ...next, cursor, limit: 200 }, { weigh });
      assert.equal(sent.cut, undefined, "nextCursor says it");
      ids.push(...(sent["records"] as { id: string }[]).map(({ id }) => id));
      cursor = sent["nextCursor"];
    }
    assert.deepEqual(
      ids,
      records.map(({ id }) => id),
    );
  });

  test(`the newest entries are kept with tail, and the others can be read, sent ${times}`, async () => {
    const handlers = {
      log: logOf([...Array.from({ length: 300 }, () => "s".repeat(50)), "l".repeat(6_000)]),
    };
    const sent = await sentBy(handlers, "log", { logId: "x", tail: true, limit: 200 }, { weigh });
    const kept = seqs(sent);
    assert.deepEqual(kept, range(kept[0]!, 301));
    assert.deepEqual(sent.cut?.parts, [`events: the newest ${kept.length} of 200 entries`]);
    const [tool, earlier] = callIn(sent);
    assert.equal(tool, "log");
    assert.deepEqual(earlier, { logId: "x", after: 101, limit: 200 - kept.length });
  });
}

test("tail says that the page ended early because its entries are long", async () => {
  const handlers = { log: logOf(Array.from({ length: 80 }, () => "m".repeat(2_000))) };
  const sent = await sentBy(handlers, "log", { logId: "x", tail: true });
  const kept = seqs(sent);
  assert.equal(kept.at(-1), 80);
  assert.deepEqual(sent.cut?.parts, [`events: the newest ${kept.length} of 80 entries`]);
  assert.deepEqual(callIn(sent)[1], { logId: "x", after: 0, limit: 80 - kept.length });
});

test("with filters, tail names the entries that were left out", async () => {
  const handlers = { log: logOf(Array.from({ length: 400 }, () => "s".repeat(70))) };
  const input = { logId: "x", turnId: "odd", tail: true, limit: 200 };
  const sent = await sentBy(handlers, "log", input);
  const kept = seqs(sent);
  const [, earlier] = callIn(sent);
  const others = logOf(Array.from({ length: 400 }, () => "s".repeat(70)))(
    earlier,
  ) as unknown as Sent;
  assert.deepEqual(
    [...seqs(others), ...kept],
    range(1, 200).map((n) => 2 * n),
  );
});

test("tail returns everything without a word if everything fits", async () => {
  const handlers = { log: logOf(["a", "b", "c"]) };
  const sent = await sentBy(handlers, "log", { logId: "x", tail: true });
  assert.deepEqual([seqs(sent), sent.cut], [[1, 2, 3], undefined]);
});

test("a long entry does not hide those after it: they are on the next page", async () => {
  const handlers = { log: logOf(["a", "l".repeat(60_000), "c"]) };
  const first = await sentBy(handlers, "log", { logId: "x" });
  assert.deepEqual(seqs(first), [1, 2], "much of the long one fits here");
  assert.match(first.cut!.parts[0]!, /^events\.1\.text: \d+ of 60000 characters$/);
  assert.equal(first["nextAfter"], 2);
});

test("a shortened list says so even if the tool that goes on is not selected", async () => {
  const sent = await sentBy(paged, "list", { limit: 200 }, { selected: ["list"] });
  assert.match(sent.cut!.rest, /search returns the next ones, but this client did not select it/);
  assert.match(sent.cut!.parts[0]!, /of 95 entries/);
});

test("a page of text that escapes make too large is read again, without a gap", async () => {
  const whole = Array.from({ length: 30_000 }, (_, n) => (n % 3 ? "\t" : '"')).join("");
  const handlers: Record<string, Handler> = {
    patch: ({ cursor = "0", maxBytes = 65_536 }) => {
      const to = Number(cursor) + Number(maxBytes);
      return {
        patch: whole.slice(Number(cursor), to),
        nextCursor: to < whole.length ? String(to) : null,
      };
    },
  };
  for (const weigh of [sentOnce, sentTwice]) {
    let text = "";
    for (let cursor: unknown = "0"; cursor !== null;) {
      const sent = await sentBy(handlers, "patch", { cursor }, { weigh });
      assert.equal(sent.cut, undefined);
      text += sent["patch"] as string;
      cursor = sent["nextCursor"];
    }
    assert.equal(text, whole);
  }
});

test("what no tool can go on with says so, and where it is whole", async () => {
  const handlers = { all: () => ({ records }), filtered: () => ({ records }) };
  const { cut } = await sentBy(handlers, "all", {});
  assert.equal(
    cut!.rest,
    "No tool returns the cut parts. POST /api/rest/actions/all with the same input returns the whole result.",
  );
  const resource = { uri: "toy://all", shows: "has all of them" };
  const pointing = await sentBy(handlers, "all", {}, { resource });
  assert.match(pointing.cut!.rest, / The resource toy:\/\/all has all of them\. /);
  const filtered = await sentBy(handlers, "filtered", { kind: "a" });
  assert.match(filtered.cut!.rest, / A filter returns fewer entries: query\. /);
});

test("the result of a change never says to call it again, but how to read the record", async () => {
  const handlers = {
    change: () => ({ record: { recordId: "r1", prompt: "p".repeat(30_000) }, secret: "s" }),
  };
  const sent = await sentBy(handlers, "change", {});
  assert.equal(
    sent.cut?.rest,
    "The call took effect; do not repeat it. all shows the record with recordId r1.",
  );
  assert.equal(sent["secret"], "s");
  const alone = await sentBy(handlers, "change", {}, { selected: ["change"] });
  assert.equal(alone.cut?.rest, "The call took effect; do not repeat it.");
});
