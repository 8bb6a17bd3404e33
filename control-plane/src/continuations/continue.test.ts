// What becomes of a turn that a used-up quota ended: which session continues it, with whose key, and what is shown if
// none does.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { formatId, parseId, type Continuation, type Fallback } from "@hawser/contract";
import { openContinuingBed, type ContinuingBed } from "@hawser/testkit/continuing-bed.ts";
import { refusing } from "@hawser/testkit/session-bed.ts";
import { OutcomeUnknown } from "../dispatch/handler.ts";

let beds: ContinuingBed;
let sweep: ReturnType<ContinuingBed["addSweep"]>;

before(async () => {
  beds = await openContinuingBed();
  sweep = beds.addSweep();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(() => beds.clear());

const neverReturns = () => new Promise<never>(() => {});
const summaryOf = (sessionId: string) => beds.node.result("get_session_summary", { sessionId });
const continuationOf = async (sessionId: string) =>
  (await summaryOf(sessionId))["continuation"] as Continuation | null;
const rows = () => beds.bed.sql<{ step: string }>(`SELECT step FROM turn_continuations`);

/** The fork that continues a turn, as its host was asked for it. */
function forkOf(at = 0) {
  const { payload } = beds.asked("fork_session")[at]!;
  return payload as {
    sessionId: string;
    originalId: string;
    kind: string;
    mode: string;
    summarize: boolean;
    ownerId: string | null;
    continues: { turnId: string; fallback: Fallback };
  };
}

test("the next kind of the chain continues the turn, in one fork with one prompt", async () => {
  const sessionId = await beds.startTurn();
  await beds.useUp(sessionId);
  await sweep.work();
  const fork = forkOf();
  assert.deepEqual(
    [fork.originalId, fork.kind, fork.summarize, fork.continues.turnId],
    [sessionId, "claude_code", false, "t1"],
  );
  const { preferredKind, skipped } = fork.continues.fallback;
  assert.deepEqual(
    [preferredKind, skipped[0]?.kind, skipped[0]?.reason],
    ["codex", "codex", "quota"],
  );
  const [prompt, ...others] = beds.asked("send_prompt");
  assert.equal(prompt?.payload["sessionId"], fork.sessionId);
  assert.match(prompt.payload["text"] as string, /used up its quota.*Continue the task/);
  assert.deepEqual(others, []);
  assert.deepEqual(await continuationOf(sessionId), {
    turnId: "t1",
    sessionId: fork.sessionId,
    problem: null,
  });
  assert.equal((await summaryOf(fork.sessionId))["forkedFrom"], sessionId);
  await sweep.work();
  assert.equal(beds.asked("fork_session").length, 1);
});

test("without the setting nothing is continued, and nothing is recorded", async () => {
  await beds.setSetting(false);
  const sessionId = await beds.startTurn();
  await beds.useUp(sessionId);
  await sweep.work();
  assert.deepEqual(await rows(), []);
  assert.deepEqual(await beds.bed.sql(`SELECT FROM turn_keys`), []);
  assert.deepEqual(beds.bed.asked, []);
  assert.equal(await continuationOf(sessionId), null);
});

test("a turn that failed for another reason is not continued", async () => {
  const sessionId = await beds.startTurn();
  await beds.bed.report(sessionId, {
    sessionUpdate: "turn_finished",
    turnId: "t1",
    outcome: "failed",
    reason: "Overloaded.",
  });
  assert.deepEqual(await rows(), []);
});

test("a session is continued once: prompts that waited behind the turn are not forked", async () => {
  const sessionId = await beds.startTurn();
  await beds.useUp(sessionId);
  await beds.useUp(sessionId, "t2");
  await sweep.work();
  await beds.useUp(sessionId, "t3");
  await sweep.work();
  assert.equal((await rows()).length, 1);
  assert.equal(beds.asked("fork_session").length, 1);
});

test("a kind that is not ready is passed over, and the fork says so", async () => {
  const sessionId = await beds.startTurn();
  await beds.useUp(sessionId);
  beds.bed.host.fork_session = (payload) => {
    if (payload["kind"] === "claude_code") return refusing("agent_not_ready", "Not ready.")({}, "");
    return { directory: "/srv", worktreeBranch: null, model: null, capabilities: [] };
  };
  await sweep.work();
  const { kind, continues } = forkOf(1);
  assert.equal(kind, "opencode");
  assert.deepEqual(
    continues.fallback.skipped.map(({ kind: skipped, reason }) => [skipped, reason]),
    [
      ["codex", "quota"],
      ["claude_code", "agent_not_ready"],
    ],
  );
});

test("no kind is used twice: a fork whose quota is used up goes to a third kind, and then ends", async () => {
  const first = await beds.startTurn();
  await beds.useUp(first);
  await sweep.work();
  const second = forkOf().sessionId;
  await beds.useUp(second);
  await sweep.work();
  assert.equal(forkOf(1).kind, "opencode");
  const third = forkOf(1).sessionId;
  await beds.useUp(third);
  await sweep.work();
  assert.equal(beds.asked("fork_session").length, 2);
  const { sessionId, problem } = (await continuationOf(third))!;
  assert.equal(sessionId, null);
  assert.match(problem!, /No kind of the fallback chain is left/);
});

test("a host that reports other kinds than it has cannot have a turn continued for ever", async () => {
  let sessionId = await beds.startTurn();
  for (let forks = 0; forks < 6; forks++) {
    await beds.useUp(sessionId);
    await sweep.work();
    const made = beds.asked("fork_session").length;
    if (made === forks) return assert.ok(forks <= 3, `${forks} forks`);
    sessionId = forkOf(made - 1).sessionId;
    await beds.bed.sql(`UPDATE sessions SET agent_kind = 'codex'`);
  }
  assert.fail("it was continued six times");
});

test("if no kind can continue, the record says why, and a later turn is tried again", async () => {
  const sessionId = await beds.startTurn();
  await beds.setChain();
  await beds.useUp(sessionId);
  await sweep.work();
  assert.match((await continuationOf(sessionId))!.problem!, /no fallback chain/);
  await beds.setChain("opencode");
  await beds.bed.sql(`UPDATE turn_keys SET turn_id = 't2'`);
  await beds.useUp(sessionId, "t2");
  await sweep.work();
  assert.deepEqual([forkOf().kind, (await continuationOf(sessionId))!.problem], ["opencode", null]);
});

test("a node that dies between fork and prompt is replaced: one fork, one prompt", async () => {
  const sessionId = await beds.startTurn();
  await beds.useUp(sessionId);
  const dying = beds.addSweep(async (action, dispatch) =>
    action === "send_prompt" ? neverReturns() : dispatch(),
  );
  await dying.pickUp();
  while ((await continuationOf(sessionId)) === null) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await beds.endLeases();
  await sweep.work();
  assert.equal(beds.asked("fork_session").length, 1);
  assert.equal(beds.asked("send_prompt").length, 1);
  assert.equal((await continuationOf(sessionId))!.sessionId, forkOf().sessionId);
});

test("a node that dies before it has recorded the fork, or the prompt, causes no second one", async () => {
  for (const dies of ["fork_session", "send_prompt"]) {
    await beds.clear();
    const sessionId = await beds.startTurn();
    await beds.useUp(sessionId);
    const done = Promise.withResolvers<void>();
    const dying = beds.addSweep(async (action, dispatch) => {
      const answer = await dispatch();
      if (action !== dies) return answer;
      done.resolve();
      return neverReturns();
    });
    await dying.pickUp();
    await done.promise;
    await beds.endLeases();
    await sweep.work();
    assert.equal(beds.asked("fork_session").length, 1, dies);
    assert.equal(beds.asked("send_prompt").length, 1, dies);
    assert.deepEqual(await rows(), [{ step: "ended" }], dies);
  }
});

test("a host that did not answer is asked again under the same command, until it has been for long enough", async () => {
  const sessionId = await beds.startTurn();
  await beds.useUp(sessionId);
  beds.bed.host.send_prompt = () => {
    throw new OutcomeUnknown("No answer.");
  };
  await sweep.work();
  await beds.endLeases();
  await sweep.work();
  const commands = new Set(beds.asked("send_prompt").map(({ commandId }) => commandId));
  assert.deepEqual([beds.asked("send_prompt").length, commands.size], [2, 1]);
  await beds.age(11);
  await beds.endLeases();
  await sweep.work();
  assert.match((await continuationOf(sessionId))!.problem!, /not known whether it received/);
});

test("a fork that takes long gets the prompt when it has started, and one that fails says why", async () => {
  beds.bed.host.fork_session = () => {
    throw new OutcomeUnknown("It takes its time.");
  };
  const sessionId = await beds.startTurn();
  await beds.useUp(sessionId);
  await sweep.work();
  assert.equal((await continuationOf(sessionId))!.sessionId, forkOf().sessionId);
  assert.deepEqual(beds.asked("send_prompt"), []);
  await beds.bed.report(forkOf().sessionId, {
    sessionUpdate: "session_status",
    status: "active",
    reason: null,
  });
  await beds.endLeases();
  await sweep.work();
  assert.equal(beds.asked("send_prompt")[0]!.payload["sessionId"], forkOf().sessionId);

  const another = await beds.startTurn();
  await beds.useUp(another);
  await sweep.work();
  await beds.bed.report(forkOf().sessionId, {
    sessionUpdate: "session_status",
    status: "ended",
    reason: "The files could not be copied.",
    code: "start_failed",
  });
  await beds.endLeases();
  await sweep.work();
  assert.match((await continuationOf(another))!.problem!, /could not be copied/);
});

const keyChanges: [what: string, change: string, back: string, problem: RegExp][] = [
  ["was revoked", "revoked_at = hawser_now()", "revoked_at = NULL", /was revoked/],
  [
    "may not fork",
    "permissions = '{sessions:view}'",
    "permissions = '{sessions:view,sessions:edit}'",
    /may not fork/,
  ],
];

for (const [what, change, back, expected] of keyChanges) {
  test(`a turn whose key ${what} meanwhile is not continued, and the record says so`, async () => {
    const sessionId = await beds.startTurn();
    await beds.useUp(sessionId);
    const set = (values: string) =>
      beds.bed.sql(`UPDATE api_keys SET ${values} WHERE name = 'member'`);
    await set(change);
    await sweep.work();
    await set(back);
    assert.match((await continuationOf(sessionId))!.problem!, expected);
    assert.deepEqual(beds.asked("fork_session"), []);
  });
}

test("a host that is away is waited for, and a session that was ended is left alone", async () => {
  const away = await beds.startTurn();
  await beds.useUp(away);
  await beds.bed.sql(`UPDATE instances SET status = 'offline', status_reason = 'link_lost'`);
  await sweep.work();
  assert.equal(await continuationOf(away), null);
  await beds.age(6);
  await sweep.work();
  assert.match((await continuationOf(away))!.problem!, /disconnected/);
  await beds.clear();
  const ended = await beds.startTurn();
  await beds.useUp(ended);
  await beds.bed.sql(`UPDATE sessions SET status = 'ended' WHERE session_id = $1`, [
    parseId("session", ended),
  ]);
  await sweep.work();
  assert.match((await continuationOf(ended))!.problem!, /was ended/);
  assert.deepEqual(beds.asked("fork_session"), []);
});

test("a turn whose key is not recorded is forgotten after a minute", async () => {
  const sessionId = await beds.startTurn();
  await beds.bed.sql(`DELETE FROM turn_keys`);
  await beds.useUp(sessionId);
  await sweep.work();
  assert.deepEqual(await rows(), [{ step: "fork" }]);
  await beds.age(2);
  await sweep.work();
  assert.deepEqual(await rows(), []);
  assert.equal(await continuationOf(sessionId), null);
});

for (const [type, mode] of [
  ["schedule", null],
  ["trigger", "unattended"],
] as const) {
  test(`the turn of a ${type} uses its chain and mode, and its run follows the fork`, async () => {
    await continueRun(type, mode);
  });
}

async function continueRun(type: "schedule" | "trigger", mode: "unattended" | null) {
  const { bed } = beds;
  await bed.sql(`UPDATE organizations SET default_mode = 'ask', highest_mode = 'unattended'`);
  const [key] = await bed.sql<{ api_key_id: string }>(
    `SELECT api_key_id FROM api_keys WHERE name = 'member'`,
  );
  const somebody = JSON.stringify({ type: "user", id: bed.organization.userId, name: "Ada" });
  const [schedule] = await bed.sql<{ schedule_id: string }>(
    `INSERT INTO schedules (organization_id, prompt, directory, instance_ids, frequency, start_at, api_key_id, acts_as, created_by)
     VALUES ($1, 'go', '/srv', $2, 'daily', hawser_now(), $3, $4, $4) RETURNING schedule_id`,
    [bed.organizationId, [parseId("instance", bed.instanceId)], key!.api_key_id, somebody],
  );
  const sessionId = await beds.startTurn({ cost_usd: "0.5", mode: mode ?? "ask" });
  const id = formatId(type, schedule!.schedule_id);
  const fallbackChain = [{ kind: "opencode", providerId: null, modelId: null }];
  await bed.sql(`UPDATE turn_keys SET schedule = $1`, [
    JSON.stringify({ type, id, name: "Nightly", mode, hostKey: null, fallbackChain }),
  ]);
  await bed.sql(
    `INSERT INTO schedule_runs (organization_id, schedule_id, run_at, plan, api_key_id, step, session_id, turn_id, started_at)
     VALUES ($1, $2, hawser_now(), '{}', $3, 'watch', $4, 't1', hawser_now())`,
    [bed.organizationId, schedule!.schedule_id, key!.api_key_id, parseId("session", sessionId)],
  );
  bed.host.send_prompt = () => ({ turnId: "t9", messageId: "m9", queued: false, model: null });
  await beds.useUp(sessionId);
  await sweep.work();
  assert.deepEqual([forkOf().kind, forkOf().mode], ["opencode", mode ?? "ask"]);
  const [run] = await bed.sql<{ session_id: string; turn_id: string; cost_usd: number }>(
    `SELECT session_id, turn_id, cost_usd FROM schedule_runs`,
  );
  assert.deepEqual(run, {
    session_id: parseId("session", forkOf().sessionId),
    turn_id: "t9",
    cost_usd: 0.5,
  });
  const { startedBy } = await summaryOf(forkOf().sessionId);
  assert.deepEqual(startedBy, { type, id, name: "Nightly" });
  await bed.sql(`DELETE FROM schedules`);
}
