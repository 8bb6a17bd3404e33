// What can be done with a session, and by which key.
import assert from "node:assert/strict";
import { test } from "node:test";
import { actKey, actsOf } from "./acts.ts";

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

test("7 Keyboard: P pushes and F forks, outside of fields and without modifiers", () => {
  const event = { key: "p", altKey: false, ctrlKey: false, metaKey: false, repeat: false };
  assert.equal(actKey(event, false), "push");
  assert.equal(actKey({ ...event, key: "F" }, false), "fork");
  assert.equal(actKey(event, true), undefined);
  assert.equal(actKey({ ...event, metaKey: true }, false), undefined);
  assert.equal(actKey({ ...event, key: "x" }, false), undefined);
});
