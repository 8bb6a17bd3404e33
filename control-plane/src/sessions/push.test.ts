// Pushing, and starting in a clone, with a host that is a function: what it is asked, and what happens
// to a session whose clone takes longer than its caller waits.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Refusal, parseId } from "@hawser/contract";
import { openSessionBed, refusing, type SessionBed } from "@hawser/testkit/session-bed.ts";
import { OutcomeUnknown } from "../dispatch/handler.ts";
import { createLog } from "../log.ts";
import { createOwedEndings } from "../instances/owed-endings.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
});
after(() => bed[Symbol.asyncDispose]());
beforeEach(() => {
  bed.asked.length = 0;
  for (const command of Object.keys(bed.host)) delete bed.host[command as keyof typeof bed.host];
});

const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => assert.fail("it worked"),
    (error: unknown) => (assert.ok(error instanceof Refusal, String(error)), error),
  );

test("a pull request has the session's title and names the session and the agent, unless the caller says more", async () => {
  const pushed = {
    branch: "hawser/x-1234567890",
    uncommittedChanges: 0,
    pullRequestUrl: "https://github.com/acme/widget/pull/1",
    pullRequestError: null,
    compareUrl: null,
  };
  bed.host.push_session = () => pushed;
  const sessionId = await bed.addSession({ title: "Fix\nthe login" });
  const asked = async (input: object) => {
    const result = await node.result("push_session", { sessionId, ...input });
    assert.deepEqual(result, { sessionId, ...pushed, pullRequestMessage: null });
    return bed.asked.at(-1)!.payload["pullRequest"] as { title: string; body: string } | null;
  };
  const byDefault = await asked({});
  assert.equal(byDefault?.title, "Fix the login");
  assert.ok(byDefault.body.includes(sessionId) && byDefault.body.includes("codex"));
  assert.deepEqual(await asked({ title: "Mine", body: "" }), { title: "Mine", body: "" });
  assert.equal((await asked({ title: "" }))?.title, "Fix the login");
  assert.equal(await asked({ openPr: false }), null);
});

test("a session that is over is not pushed, and the host's own reason is returned", async () => {
  const ended = await bed.addSession({ status: "ended" });
  const over = await refusalOf(node.result("push_session", { sessionId: ended }));
  assert.equal(over.code, "session_ended");
  assert.equal(bed.asked.length, 0);
  const sessionId = await bed.addSession();
  for (const code of ["not_a_repository", "host_refused"] as const) {
    bed.host.push_session = refusing(code, "because");
    const refusal = await refusalOf(node.result("push_session", { sessionId }));
    assert.deepEqual([refusal.code, refusal.message], [code, "because"]);
  }
});

const clone = { repo: "acme/widget" };
const rowOf = async () => {
  const [row] = await bed.sql<Record<string, unknown>>(
    `SELECT session_id, status, status_reason, status_message, activity, directory, capabilities
       FROM sessions WHERE deleted_at IS NULL ORDER BY session_id DESC LIMIT 1`,
  );
  return row!;
};
const shownId = () => bed.asked.at(-1)!.payload["sessionId"] as string;

test("a session whose clone outlasts its caller is starting, until its log reports the end", async () => {
  const owed = createOwedEndings({
    database: bed.service.database,
    hosts: bed.hosts,
    viewers: bed.viewers,
    log: createLog("silent"),
  });
  bed.host.start_session_in_clone = () => {
    throw new OutcomeUnknown("It takes its time.");
  };
  const begin = async () => {
    const begun = await node.result("start_session", { instanceId: bed.instanceId, clone });
    assert.deepEqual([begun["sessionId"], begun["directory"]], [shownId(), null]);
    const [instance] = await bed.sql<{ session_id: string }>(
      `UPDATE sessions SET created_at = created_at - interval '5 minutes'
        WHERE session_id = $1 RETURNING session_id`,
      [parseId("session", shownId())],
    );
    assert.ok(instance);
    await owed.sweep();
    const { status, activity, directory } = await rowOf();
    assert.deepEqual([status, activity, directory], ["active", "starting", null]);
    return shownId();
  };
  const first = await begin();
  assert.deepEqual(bed.asked[0]!.payload["clone"], clone);
  await bed.report(
    first,
    { sessionUpdate: "session_status", status: "active", reason: null },
    {
      sessionUpdate: "session_placed",
      directory: "/state/checkouts/x/widget",
      worktreeBranch: null,
      model: { providerId: "openai", modelId: "gpt" },
      capabilities: ["diff"],
    },
  );
  const told = await node.result("get_session_summary", { sessionId: first });
  assert.equal(told["directory"], "/state/checkouts/x/widget");
  assert.deepEqual([told["status"], told["capabilities"]], ["active", ["diff"]]);
  assert.equal((await rowOf())["activity"], "idle");

  const second = await begin();
  const reason = "There is no such repository.";
  await bed.report(second, { sessionUpdate: "session_status", status: "ended", reason });
  const { status, status_reason, status_message, activity } = await rowOf();
  // A daemon before the word of the reason.
  assert.deepEqual(
    [status, status_reason, status_message, activity],
    ["ended", "reported", reason, "idle"],
  );

  await begin();
  await bed.sql(`UPDATE sessions SET created_at = created_at - interval '1 hour'`);
  await owed.sweep();
  const { status: lost, status_reason: why } = await rowOf();
  assert.deepEqual([lost, why], ["error", "start_unknown"]);
});

test("a clone whose host went away is shown as unknown", async () => {
  bed.host.start_session_in_clone = async () => {
    await bed.sql(`UPDATE instances SET status = 'offline'`);
    throw new OutcomeUnknown("It went away.");
  };
  const work = node.result("start_session", { instanceId: bed.instanceId, clone });
  const { code, message, details } = await refusalOf(work);
  assert.equal(code, "in_progress");
  assert.deepEqual(
    [details.sessionId, details.nextAction, details.retry],
    [shownId(), "get_session_summary", "changed"],
  );
  assert.match(message, /get_session_summary shows whether it took effect/);
  await bed.sql(`UPDATE instances SET status = 'online'`);
  const { status, status_reason } = await rowOf();
  assert.deepEqual([status, status_reason], ["error", "start_unknown"]);
});

test("a clone that the host refuses leaves no session", async () => {
  bed.host.start_session_in_clone = refusing("host_refused", "There is no such repository.");
  const work = node.result("start_session", { instanceId: bed.instanceId, clone });
  assert.equal((await refusalOf(work)).code, "host_refused");
  const gone = node.result("get_session_summary", { sessionId: shownId() });
  assert.equal((await refusalOf(gone)).code, "not_found");
});
