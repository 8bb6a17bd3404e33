import assert from "node:assert/strict";
import { test } from "node:test";
import { promptOf } from "@hawser/testkit/conformance/bench.ts";
import type { Message, Result } from "./messages.ts";
import { createTurn, outcomeOf, problemIn } from "./turn.ts";
import { userMessageOf } from "./user-message.ts";

test("a command that cannot run fails its turn and says why", async () => {
  const message: Message = {
    type: "user",
    parent_tool_use_id: null,
    message: {
      content: "<local-command-stderr>Error: There is no such branch.</local-command-stderr>",
    },
  };
  const prompt = promptOf([], { task: { type: "command", name: "review" }, text: "" });
  const turn = createTurn(await userMessageOf(prompt), prompt, AbortSignal.any([]), () => {});
  turn.problem = problemIn(message);
  // Claude Code ends such a turn as a success without a call of the model.
  const result: Result = {
    type: "result",
    subtype: "success",
    is_error: false,
    num_turns: 0,
    total_cost_usd: 0,
  };
  const reason = "The command did not run. Error: There is no such branch.";
  assert.deepEqual(outcomeOf(result, turn, undefined), { outcome: "failed", reason });
  assert.equal(outcomeOf({ ...result, num_turns: 1 }, turn, undefined).outcome, "completed");
});
