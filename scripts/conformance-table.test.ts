import assert from "node:assert/strict";
import { test } from "node:test";
import { tableOf } from "./conformance-table.ts";

test("each kind's column says what was seen, what failed, what does not apply and why", () => {
  const seen = (kind: string, name: string, outcome: boolean | string) => ({ kind, name, outcome });
  const table = tableOf(
    ["opencode", "codex"],
    [
      seen("opencode", "it plans", true),
      seen("opencode", "it a|b", false),
      seen("codex", "it plans", "It makes no plans."),
    ],
  );
  assert.deepEqual(table.split("\n"), [
    "| Behaviour | opencode | codex |",
    "| --- | --- | --- |",
    "| it plans | yes | no (1) |",
    "| it a\\|b | FAILED | not run |",
    "",
    "(1) It makes no plans.",
  ]);
});
