import assert from "node:assert/strict";
import { test } from "node:test";
import { refuseUntested } from "./escape-tests.ts";
import { shippedAgents } from "./publish-agents.ts";

test("the shipped versions of the agents have passed the escape tests", () => {
  refuseUntested(shippedAgents);
});

test("a version that has not passed them is not published", () => {
  const agents = shippedAgents.agents.map((agent) =>
    agent.kind === "codex" ? { ...agent, version: "0.167.0" } : agent,
  );
  assert.throws(() => refuseUntested({ agents }), /^Error: codex 0\.167\.0 has not passed/);
});
