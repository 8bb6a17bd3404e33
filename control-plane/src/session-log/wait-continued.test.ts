// Waiting for a session whose turn continues elsewhere, because its quota was used up.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openContinuingBed, type ContinuingBed } from "@hawser/testkit/continuing-bed.ts";

let beds: ContinuingBed;
let sweep: ReturnType<ContinuingBed["addSweep"]>;

before(async () => {
  beds = await openContinuingBed();
  sweep = beds.addSweep();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(() => beds.clear());

async function reasonAfterWait(sessionId: string, timeoutSeconds = 20) {
  const startedAt = performance.now();
  const result = await beds.node.result("wait_for_session", { sessionId, timeoutSeconds });
  assert.equal(result["turnOutcome"], "failed");
  const reason = result["turnReason"] as string;
  return { reason, timedOut: result["timedOut"], ms: performance.now() - startedAt };
}

const forkId = () => beds.asked("fork_session")[0]!.payload["sessionId"] as string;

test("it waits until the fork is known, names it, and does not advise to prompt again", async () => {
  const sessionId = await beds.startTurn();
  await beds.useUp(sessionId);
  const early = await reasonAfterWait(sessionId, 1);
  assert.equal(early.timedOut, true);
  assert.match(early.reason, /^Another agent kind is to continue.*call wait_for_session again/);
  const waiting = reasonAfterWait(sessionId);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await sweep.work();
  const { reason, timedOut, ms } = await waiting;
  assert.equal(timedOut, false);
  assert.ok(ms < 5_000, `${ms}`);
  assert.ok(reason.startsWith(`The session ${forkId()} continues this turn`), reason);
  assert.match(reason, /Do not prompt again here; .* for this reason: The account has reached/);
});

test("if the turn cannot be continued, it says why", async () => {
  const sessionId = await beds.startTurn();
  await beds.setChain();
  await beds.useUp(sessionId);
  await sweep.work();
  const { reason } = await reasonAfterWait(sessionId);
  assert.match(reason, /^The account has reached .* It is not continued: The host has no fallback/);
});

test("a later turn without quota of a continued session leads to the session that continued it", async () => {
  const sessionId = await beds.startTurn();
  await beds.useUp(sessionId);
  await sweep.work();
  await beds.useUp(sessionId, "t2");
  const { reason, timedOut } = await reasonAfterWait(sessionId);
  assert.equal(timedOut, false);
  assert.ok(reason.startsWith(`The session ${forkId()} has continued an earlier turn`), reason);
  assert.match(reason, /Prompt that session instead/);
});

test("without the setting, and for a turn without a key, it answers at once with the agent's reason", async () => {
  const keyless = await beds.startTurn();
  await beds.bed.sql(`DELETE FROM turn_keys`);
  await beds.useUp(keyless);
  assert.match((await reasonAfterWait(keyless)).reason, /^The account has reached its usage limit/);
  await beds.setSetting(false);
  const sessionId = await beds.startTurn();
  await beds.useUp(sessionId);
  const { reason, timedOut } = await reasonAfterWait(sessionId);
  assert.deepEqual([reason, timedOut], ["The account has reached its usage limit.", false]);
});
