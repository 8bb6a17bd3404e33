// What can be done with a session.
import assert from "node:assert/strict";
import { test } from "node:test";
import { actsOf } from "./acts.ts";

const everyone = { mayEdit: true, hasGit: true };

test("3.1 what the agent cannot do is absent, and who may not edit is offered nothing", () => {
  const able = { capabilities: ["fork", "summarize", "revert"], status: "active" } as const;
  const session = { ...able, capabilities: [...able.capabilities] };
  assert.deepEqual(
    [...actsOf(session, everyone)],
    ["rename", "fork", "push", "summarize", "revert", "end"],
  );
  assert.deepEqual(
    [...actsOf({ ...session, capabilities: [] }, everyone)],
    ["rename", "push", "end"],
  );
  assert.deepEqual([...actsOf({ ...session, status: "ended" }, everyone)], ["rename", "fork"]);
  assert.equal(actsOf(session, { mayEdit: false, hasGit: true }).size, 0);
  assert.ok(!actsOf(session, { mayEdit: true, hasGit: false }).has("push"));
});
