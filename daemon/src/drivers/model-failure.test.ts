// Sentences for a failed turn, the same for every kind of agent.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  describeFailure,
  explainFailure,
  explainSilence,
  failureOfStatus,
  type ModelFailure,
} from "./model-failure.ts";

const agent = { name: "Toy", loginCommand: "toy login" };

const statuses: [number, ModelFailure][] = [
  [400, "request_refused"],
  [401, "login_refused"],
  [403, "login_refused"],
  [404, "model_unknown"],
  [413, "too_long"],
  [429, "rate_limited"],
  [500, "overloaded"],
  [503, "overloaded"],
  [529, "overloaded"],
];

for (const [status, failure] of statuses) {
  test(`status ${status} is ${failure}`, () => assert.equal(failureOfStatus(status), failure));
}

const advice: [ModelFailure, RegExp][] = [
  ["login_refused", /Log in on the host with `toy login`/],
  ["model_unknown", /Choose another one from list_models/],
  ["rate_limited", /\(rate limit\)\. Prompt again in a few minutes/],
  ["usage_limit", /Wait until the limit is reset/],
  ["overloaded", /overloaded or has a fault\. Prompt again/],
  ["unreachable", /cannot be reached.*network.*prompt again/],
  ["too_long", /Start a new session/],
  ["request_refused", /Try another model/],
];

for (const [failure, words] of advice) {
  test(`${failure} says what to do, then what the agent says`, () => {
    assert.match(describeFailure(agent, failure), words);
    const end = explainFailure(agent, failure, "No.\nat line 7");
    assert.equal(end.reason, `${describeFailure(agent, failure)} Toy says: No.`);
    // Only a used-up quota has a cause: another kind would not help in the other cases.
    assert.equal(end.cause, failure === "usage_limit" ? "quota" : undefined);
  });
}

test("an unknown failure is quoted", () => {
  assert.equal(
    explainFailure(agent, undefined, "Too hot.").reason,
    "The turn failed. Toy says: Too hot. Prompt again.",
  );
  assert.ok(explainFailure(agent, undefined, "x".repeat(10_000)).reason.length < 400);
});

test("details are named where they are known", () => {
  const resetsAt = Date.UTC(2026, 10, 14, 23, 53, 13);
  assert.match(
    describeFailure(agent, "rate_limited", { resetsAt }),
    /Prompt again after 2026-11-14T23:53:13Z/,
  );
  assert.match(
    describeFailure(agent, "usage_limit", { resetsAt }),
    /usage limit\. Prompt again after 2026-11-14T23:53:13Z/,
  );
  assert.match(describeFailure(agent, "overloaded", { status: 529 }), /fault \(529\)/);
  const condensing = { ...agent, condenseCommand: "compact" };
  assert.match(describeFailure(condensing, "too_long"), /Run the command compact, or start a new/);
  assert.match(explainSilence(90_400).reason, /said nothing for 90 seconds.*network/);
});
