// Which kind continues a turn, by the chain and what was tried.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentKind } from "@hawser/contract";
import { nextEntry, skippedKinds, whyNoneLeft, type Wanted } from "./next-kind.ts";

const entry = (kind: AgentKind, modelId: string | null = null) => ({
  kind,
  providerId: null,
  modelId,
});
const all = [entry("codex"), entry("claude_code"), entry("opencode")];
const passed = (kind: AgentKind) => ({ kind, code: "agent_not_ready", message: "Not ready." });

const table: [what: string, wanted: Partial<Wanted>, kind: AgentKind | undefined][] = [
  ["the first kind failed", { used: ["codex"] }, "claude_code"],
  ["the second kind failed", { used: ["claude_code"] }, "codex"],
  ["the last kind failed", { used: ["opencode"] }, "codex"],
  ["a kind outside of the chain failed", { chain: [entry("codex")], used: ["opencode"] }, "codex"],
  ["two were used", { used: ["claude_code", "codex"] }, "opencode"],
  ["all were used", { used: ["claude_code", "codex", "opencode"] }, undefined],
  ["the next one is not ready", { passedOver: [passed("claude_code")] }, "opencode"],
  ["no other is ready", { passedOver: [passed("claude_code"), passed("opencode")] }, undefined],
  ["there is no chain", { chain: [] }, undefined],
  ["the chain has only the kind that failed", { chain: [entry("codex")] }, undefined],
  [
    "the chain has the failed kind twice",
    { chain: [entry("codex", "small"), entry("codex", "large")] },
    undefined,
  ],
  ["a host may have been asked for one", { asked: "opencode" }, "opencode"],
  [
    "the chain no longer has the kind that a host may have been asked for",
    { chain: [], asked: "opencode" },
    "opencode",
  ],
];

for (const [what, wanted, kind] of table) {
  test(`${what}: ${kind ?? "none is left"}`, () => {
    const next = nextEntry({ chain: all, used: ["codex"], passedOver: [], asked: null, ...wanted });
    assert.equal(next?.kind, kind);
  });
}

test("the model of the chain's entry is used", () => {
  const chain = [entry("codex"), entry("opencode", "large")];
  const next = nextEntry({ chain, used: ["codex"], passedOver: [], asked: null });
  assert.equal(next?.modelId, "large");
});

test("the reason why none is left names what was tried", () => {
  const wanted = { chain: all, used: ["codex" as const], passedOver: [], asked: null };
  assert.match(whyNoneLeft({ ...wanted, chain: [] }), /set_fallback_chain/);
  assert.match(whyNoneLeft(wanted), /No kind of the fallback chain is left/);
  const tried = { ...wanted, passedOver: [passed("claude_code")] };
  assert.match(whyNoneLeft(tried), /claude_code: Not ready\./);
});

test("the fork's record names the original, and the kinds that were passed over", () => {
  const original = { kind: "codex" as const, sessionId: "ses_1", turnId: "t1" };
  const [first, second] = skippedKinds(original, [passed("claude_code")]);
  assert.deepEqual([first?.kind, first?.reason], ["codex", "quota"]);
  assert.match(first!.message, /turn t1 of the session ses_1/);
  assert.deepEqual(second, {
    kind: "claude_code",
    reason: "agent_not_ready",
    message: "Not ready.",
    utilization: null,
  });
});
