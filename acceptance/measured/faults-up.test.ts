// `hawser up` and its parts, killed at random moments. The long run, with 30 kills, is `npm run faults -- up`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runUpFaults } from "../faults/up.ts";
import { tell } from "../figures.ts";

test("After a kill at any moment the next hawser up works, and nothing is lost", async () => {
  const result = await runUpFaults({ seed: "slice", kills: 3 });
  tell(
    `hawser up killed ${result.kills} times: ${result.starts} starts worked, at most ${result.readyMs.most} ms`,
  );
  assert.deepEqual(result.violations, []);
  assert.equal(result.starts, 3);
});
