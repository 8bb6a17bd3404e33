// What becomes of a continuation whose host says that the call came too late.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { Continuation } from "@hawser/contract";
import { openContinuingBed, type ContinuingBed } from "@hawser/testkit/continuing-bed.ts";
import { tooLate } from "../fabric/host-asker.ts";

let beds: ContinuingBed;
let sweep: ReturnType<ContinuingBed["addSweep"]>;

before(async () => {
  beds = await openContinuingBed();
  sweep = beds.addSweep();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(() => beds.clear());

const late = () => {
  throw tooLate("Too late.");
};

async function continuationOf(sessionId: string) {
  const summary = await beds.node.result("get_session_summary", { sessionId });
  return summary["continuation"] as Continuation | null;
}

for (const command of ["fork_session", "send_prompt"] as const) {
  test(`a ${command} that reached its host too late is made again, for ten minutes`, async () => {
    const sessionId = await beds.startTurn();
    await beds.useUp(sessionId);
    const accepts = beds.bed.host[command]!;
    beds.bed.host[command] = late;
    await sweep.work();
    beds.bed.host[command] = accepts;
    await beds.endLeases();
    await sweep.work();
    const asked = beds.asked(command);
    assert.equal(new Set(asked.map(({ commandId }) => commandId)).size, 2);
    const kinds = new Set(beds.asked("fork_session").map(({ payload }) => payload["kind"]));
    assert.deepEqual([...kinds], ["claude_code"]);
    assert.equal(beds.asked("send_prompt").length, command === "send_prompt" ? 2 : 1);
    assert.deepEqual(await continuationOf(sessionId), {
      turnId: "t1",
      sessionId: beds.asked("fork_session").at(-1)!.payload["sessionId"],
      problem: null,
    });
  });
}

test("if every call of ten minutes comes too late, the record says so", async () => {
  const sessionId = await beds.startTurn();
  await beds.useUp(sessionId);
  beds.bed.host.send_prompt = late;
  await sweep.work();
  await beds.age(11);
  await beds.endLeases();
  await sweep.work();
  assert.equal(
    (await continuationOf(sessionId))!.problem,
    "For ten minutes, no call reached the host in time, so it has done nothing.",
  );
});
