// Which kind a session gets, as a table: what is preferred, the host's chain, and how the kinds are.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentKind, FallbackEntry } from "@hawser/contract";
import { chooseKind, type KindState } from "./choose-kind.ts";

const kinds = { o: "opencode", l: "claude_code", c: "codex" } as const;
type Letter = keyof typeof kinds;

/** A kind's state: a number is its utilization, `?` unknown, `x` not ready. */
type State = number | "?" | "x";

interface Row {
  preferred: Letter;
  chain: string;
  states: Partial<Record<Letter, State>>;
  threshold?: number;
  /** The kind that is taken; `-` if none is left. */
  taken: Letter | "-";
  /** The kinds that are skipped, with `q` for quota or `x` for a problem. */
  skipped?: string;
}

const rows: Row[] = [
  // Without a chain nothing is looked at, not even the threshold.
  { preferred: "o", chain: "", states: { o: 0 }, taken: "o" },
  { preferred: "c", chain: "", states: { c: "x" }, taken: "c" },
  { preferred: "c", chain: "", states: { c: 100 }, taken: "c" },
  { preferred: "l", chain: "", states: { l: 100 }, threshold: 1, taken: "l" },
  // The preferred kind is ready.
  { preferred: "c", chain: "co", states: { c: 0, o: 0 }, taken: "c" },
  { preferred: "c", chain: "co", states: { c: "?", o: 0 }, taken: "c" },
  { preferred: "c", chain: "co", states: { c: 89, o: 0 }, taken: "c" },
  { preferred: "c", chain: "co", states: { c: 89.9, o: 0 }, taken: "c" },
  { preferred: "o", chain: "cl", states: { o: 0, c: 0, l: 0 }, taken: "o" },
  { preferred: "l", chain: "l", states: { l: 10 }, taken: "l" },
  // The threshold is reached.
  { preferred: "c", chain: "co", states: { c: 90, o: 0 }, taken: "o", skipped: "cq" },
  { preferred: "c", chain: "co", states: { c: 100, o: 0 }, taken: "o", skipped: "cq" },
  { preferred: "c", chain: "co", states: { c: 250, o: 0 }, taken: "o", skipped: "cq" },
  { preferred: "c", chain: "co", states: { c: 1, o: 0 }, threshold: 1, taken: "o", skipped: "cq" },
  { preferred: "c", chain: "co", states: { c: 0, o: 0 }, threshold: 1, taken: "c" },
  { preferred: "c", chain: "co", states: { c: 0.99, o: 0 }, threshold: 1, taken: "c" },
  { preferred: "c", chain: "co", states: { c: 99, o: 0 }, threshold: 100, taken: "c" },
  {
    preferred: "c",
    chain: "co",
    states: { c: 100, o: 0 },
    threshold: 100,
    taken: "o",
    skipped: "cq",
  },
  { preferred: "l", chain: "lo", states: { l: 95, o: "?" }, taken: "o", skipped: "lq" },
  // The preferred kind is not ready.
  { preferred: "c", chain: "co", states: { c: "x", o: 0 }, taken: "o", skipped: "cx" },
  { preferred: "c", chain: "col", states: { c: "x", o: "x", l: 0 }, taken: "l", skipped: "cx ox" },
  { preferred: "o", chain: "o", states: { o: "x" }, taken: "-", skipped: "ox" },
  { preferred: "o", chain: "oc", states: { o: "x", c: "x" }, taken: "-", skipped: "ox cx" },
  { preferred: "o", chain: "oc", states: { o: "x", c: 90 }, taken: "-", skipped: "ox cq" },
  { preferred: "o", chain: "oc", states: { o: 95, c: 95 }, taken: "-", skipped: "oq cq" },
  { preferred: "o", chain: "ocl", states: { o: "x", c: 90, l: 3 }, taken: "l", skipped: "ox cq" },
  { preferred: "o", chain: "ocl", states: { o: 90, c: "x", l: 3 }, taken: "l", skipped: "oq cx" },
  {
    preferred: "o",
    chain: "ocl",
    states: { o: 90, c: 90, l: 90 },
    taken: "-",
    skipped: "oq cq lq",
  },
  // The caller asked for another kind than the chain's first: the chain follows in its order.
  { preferred: "o", chain: "cl", states: { o: "x", c: 0, l: 0 }, taken: "c", skipped: "ox" },
  { preferred: "o", chain: "lc", states: { o: "x", c: 0, l: 0 }, taken: "l", skipped: "ox" },
  { preferred: "o", chain: "cl", states: { o: "x", c: "x", l: 0 }, taken: "l", skipped: "ox cx" },
  { preferred: "l", chain: "cl", states: { l: "x", c: 0 }, taken: "c", skipped: "lx" },
  { preferred: "l", chain: "cl", states: { l: "x", c: 91 }, taken: "-", skipped: "lx cq" },
  { preferred: "l", chain: "c", states: { l: 90, c: "?" }, taken: "c", skipped: "lq" },
  // A kind that was skipped is not tried again, wherever it stands.
  { preferred: "c", chain: "occ", states: { c: "x", o: "x" }, taken: "-", skipped: "cx ox" },
  { preferred: "c", chain: "cco", states: { c: 90, o: 0 }, taken: "o", skipped: "cq" },
  { preferred: "c", chain: "oco", states: { c: 90, o: "x" }, taken: "-", skipped: "cq ox" },
  // Unknown counts as unused, also at the lowest threshold.
  { preferred: "l", chain: "lo", states: { l: "?", o: 0 }, threshold: 1, taken: "l" },
  {
    preferred: "o",
    chain: "ol",
    states: { o: "x", l: "?" },
    threshold: 1,
    taken: "l",
    skipped: "ox",
  },
  // A problem counts before the quota.
  { preferred: "c", chain: "c", states: { c: "x" }, threshold: 1, taken: "-", skipped: "cx" },
  { preferred: "o", chain: "l", states: { o: 90, l: 89 }, taken: "l", skipped: "oq" },
  { preferred: "o", chain: "lc", states: { o: 90, l: 90, c: 89 }, taken: "c", skipped: "oq lq" },
];

const entryOf = (letter: Letter, at: number): FallbackEntry => ({
  kind: kinds[letter],
  providerId: null,
  modelId: `model-${at}`,
});

const show = ({ preferred, chain, states, threshold = 90 }: Row) =>
  `${preferred} with chain [${[...chain].join()}], ${JSON.stringify(states)} and ${threshold} percent`;

for (const row of rows) {
  test(`${show(row)}: ${row.taken}`, async () => {
    const { preferred, chain, states, threshold = 90, taken, skipped = "" } = row;
    const asked: AgentKind[] = [];
    const stateOf = async (kind: AgentKind): Promise<KindState> => {
      asked.push(kind);
      const state = states[(Object.keys(kinds) as Letter[]).find((each) => kinds[each] === kind)!];
      assert.notEqual(state, undefined, `${kind} was not to be looked at`);
      const problem = state === "x" ? { code: "not_installed", message: "None." } : undefined;
      return { problem, utilization: typeof state === "number" ? state : null };
    };
    const entries = [...chain].map((letter, at) => entryOf(letter as Letter, at + 1));
    const wish = { preferred: entryOf(preferred, 0), chain: entries, threshold };
    const chosen = await chooseKind(wish, stateOf);
    assert.equal(chosen.entry?.kind, taken === "-" ? undefined : kinds[taken]);
    // The model of the preferred kind, or of the entry that is taken.
    const at = skipped === "" ? 0 : chain.indexOf(taken) + 1;
    if (chosen.entry) assert.equal(chosen.entry.modelId, `model-${at}`);
    const letters = chosen.skipped.map(({ kind, reason }) => {
      const letter = (Object.keys(kinds) as Letter[]).find((each) => kinds[each] === kind)!;
      return `${letter}${reason === "quota" ? "q" : "x"}`;
    });
    assert.equal(letters.join(" "), skipped);
    assert.equal(new Set(asked).size, asked.length, "each kind is looked at once");
  });
}

test("the table has forty rows or more", () => assert.ok(rows.length >= 40, `${rows.length}`));
