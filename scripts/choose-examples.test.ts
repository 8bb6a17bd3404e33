import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseExamples, neutral } from "./choose-examples.ts";

test("a line keeps nothing of the machine it was recorded on", () => {
  const line = JSON.stringify({
    url: "http://127.0.0.1:4711/api",
    path: "/tmp/hawser-x/roots/widget",
    host: "machine-7",
    text: "see /var/a/b/c.txt and '/var/lib/d'",
  });
  assert.deepEqual(JSON.parse(neutral(line, "machine-7")), {
    url: "https://hawser.example.com/api",
    path: "/srv/code/widget",
    host: "build-1",
    text: "see /srv/code/c.txt and '/srv/code/d'",
  });
});

test("the example with most values is chosen, unless it is long, and secrets are replaced", () => {
  const of = (result: Record<string, unknown>) => ({ action: "a", request: {}, result });
  const long = of({ list: Array.from({ length: 999 }, () => "value") });
  const { a } = chooseExamples([of({ x: null }), of({ x: 1, key: "secret" }), long, of({ x: 2 })]);
  assert.deepEqual(a?.result, { x: 1, key: "hawser_key_shown_once" });
});
