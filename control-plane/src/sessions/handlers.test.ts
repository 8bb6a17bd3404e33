// What the session actions do, with a host that is a function.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Refusal, formatId, parseId } from "@hawser/contract";
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

const started = {
  directory: "/srv/worktree",
  worktreeBranch: "hawser/x-1",
  model: { providerId: "openai", modelId: "gpt" },
  capabilities: ["diff"],
};
const start = (more: object = {}) => ({ instanceId: bed.instanceId, directory: "/srv", ...more });

test("a session is on record before its host is asked, and then what the host made of it", async () => {
  let before: unknown;
  bed.host.start_session = async ({ sessionId }) => {
    before = await rowOf(sessionId as string);
    return started;
  };
  const input = start({ title: "Fix it", options: { effort: "high" }, modelId: "gpt" });
  const record = await node.result("start_session", input);
  assert.deepEqual(before, { status: "active", status_reason: null, activity: "starting" });
  assert.deepEqual(await rowOf(record["sessionId"] as string), {
    status: "active",
    status_reason: null,
    activity: "idle",
  });
  const { directory, worktreeBranch, model, capabilities, title, agentKind, startedBy } = record;
  assert.deepEqual({ directory, worktreeBranch, model, capabilities }, started);
  assert.deepEqual([title, agentKind], ["Fix it", "codex"]);
  assert.equal((startedBy as { type: string }).type, "user");
  const { ownerId, ...payload } = bed.asked[0]!.payload;
  assert.ok((ownerId as string).startsWith(`${bed.organization.userId}.`));
  assert.deepEqual(payload, {
    sessionId: record["sessionId"],
    kind: "codex",
    directory: "/srv",
    title: "Fix it",
    modelId: "gpt",
    options: { effort: "high" },
    policy: { allowedCommands: [], outsideWorktree: "ask" },
    mode: "ask",
    author: { name: "ada@acme.example", email: "ada@acme.example" },
  });
});

test("a start that the host refuses leaves no session, and names the field to blame", async () => {
  bed.host.start_session = () => {
    const fields = [{ field: "modelId", message: "is none of the models" }];
    throw new Refusal("invalid_input", "There is no such model.", { fields });
  };
  const refusal = await refusalOf("start_session", start());
  assert.deepEqual(
    [refusal.code, refusal.details.fields?.[0]?.field],
    ["invalid_input", "modelId"],
  );
  const sessionId = bed.asked[0]!.payload["sessionId"] as string;
  assert.equal((await refusalOf("get_session_summary", { sessionId })).code, "not_found");
});

test("a start that is refused because somebody ended the session leaves it ended", async () => {
  const interrupted = () => new Refusal("host_refused", "The start was stopped.");
  const ending = async (sessionId: unknown) => node.result("end_session", { sessionId });
  const statusOf = async (sessionId: unknown) =>
    (await node.result("get_session_summary", { sessionId }))["status"];
  // The host refuses the start after the session has ended, and while it is being ended.
  bed.host.end_session = () => ({});
  bed.host.start_session = async ({ sessionId }) => {
    assert.equal((await ending(sessionId))["status"], "ended");
    throw interrupted();
  };
  assert.equal((await refusalOf("start_session", start())).code, "host_refused");
  assert.equal(await statusOf(bed.asked[0]!.payload["sessionId"]), "ended");

  const asked = Promise.withResolvers<void>();
  const refused = Promise.withResolvers<void>();
  bed.host.end_session = async () => {
    asked.resolve();
    await refused.promise;
    return {};
  };
  let ended: Promise<Record<string, unknown>> | undefined;
  bed.host.start_session = async ({ sessionId }) => {
    ended = ending(sessionId);
    await asked.promise;
    throw interrupted();
  };
  assert.equal((await refusalOf("start_session", start())).code, "host_refused");
  refused.resolve();
  const { status, sessionId } = await ended!;
  assert.deepEqual([status, await statusOf(sessionId)], ["ended", "ended"]);
});

test("a session whose start has an unknown outcome is in error until the outcome is known", async () => {
  bed.host.start_session = () => {
    throw new OutcomeUnknown("silent");
  };
  const options = { idempotencyKey: "start-once" };
  const first = await node.call("start_session", start(), options);
  assert.equal("refusal" in first && first.refusal.code, "in_progress");
  const sessionId = bed.asked[0]!.payload["sessionId"] as string;
  assert.deepEqual(await rowOf(sessionId), {
    status: "error",
    status_reason: "start_unknown",
    activity: "idle",
  });
  // The retry asks for the same session under the same id, and concludes it.
  bed.host.start_session = () => started;
  const record = await node.result("start_session", start(), options);
  assert.deepEqual([record["sessionId"], record["status"]], [sessionId, "active"]);
  assert.equal(record["statusReason"], null);
  assert.equal(bed.asked[1]!.commandId, bed.asked[0]!.commandId);
});

test("a start of unknown outcome keeps the state that the log has reported", async () => {
  bed.host.start_session = async ({ sessionId }) => {
    const status = { sessionUpdate: "session_status", status: "active", reason: null };
    await bed.report(sessionId as string, status);
    throw new OutcomeUnknown("silent");
  };
  await node.call("start_session", start());
  assert.equal((await rowOf(bed.asked[0]!.payload["sessionId"] as string)).status, "active");
});

test("the kind is the one asked for, else the first of the chain, else the first that is ready, else the first", async () => {
  bed.host.start_session = () => started;
  const kindOf = async (input: object) =>
    (await node.result("start_session", start(input)))["agentKind"];
  assert.equal(await kindOf({ agentKind: "opencode" }), "opencode");
  assert.equal(await kindOf({}), "codex");
  const chain = [{ kind: "claude_code", providerId: "anthropic", modelId: "sonnet" }];
  await bed.sql(`UPDATE instances SET fallback_chain = $1`, [JSON.stringify(chain)]);
  assert.equal(await kindOf({}), "claude_code");
  assert.equal(bed.asked.at(-1)!.payload["modelId"], "sonnet");
  const [agents] = await bed.sql<{ agents: unknown }>(`SELECT agents FROM instances`);
  await bed.sql(`UPDATE instances SET fallback_chain = '[]', agents = '[]'`);
  assert.equal(await kindOf({}), "opencode", "the host has the last word");
  await bed.sql(`UPDATE instances SET status = 'offline'`);
  assert.equal((await refusalOf("start_session", start())).code, "host_offline");
  await bed.sql(`UPDATE instances SET status = 'online', agents = $1`, [
    JSON.stringify(agents!.agents),
  ]);
});

test("a prompt that the host takes makes the session run, unless its log is ahead", async () => {
  const sessionId = await bed.addSession();
  const accepted = { turnId: "t1", messageId: "m1", queued: false, model: null };
  bed.host.send_prompt = () => accepted;
  const model = { providerID: "p", modelID: "m" };
  assert.deepEqual(await node.result("send_prompt", { sessionId, text: "go", model }), {
    sessionId,
    turnId: "t1",
    messageId: "m1",
    queued: false,
  });
  assert.deepEqual(bed.asked[0]!.payload["model"], { providerId: "p", modelId: "m" });
  assert.equal((await rowOf(sessionId)).activity, "running");
  bed.host.send_prompt = async () => {
    await bed.report(
      sessionId,
      { sessionUpdate: "turn_started", turnId: "t2", messageId: "m", model: null, agent: null },
      { sessionUpdate: "turn_finished", turnId: "t2", outcome: "completed", reason: null },
    );
    return { ...accepted, turnId: "t2" };
  };
  await node.result("send_prompt", { sessionId, text: "go" });
  assert.equal((await rowOf(sessionId)).activity, "idle");
});

test("a prompt to what is over is refused; what is detached or in error goes to the host", async () => {
  bed.host.send_prompt = refusing("queue_full");
  for (const [status, code] of [
    ["ended", "session_ended"],
    ["cleanup_failed", "session_ended"],
    ["detached", "queue_full"],
    ["error", "queue_full"],
  ] as const) {
    const sessionId = await bed.addSession({ status });
    assert.equal((await refusalOf("send_prompt", { sessionId, text: "go" })).code, code, status);
  }
  delete bed.host.send_prompt;
  const sessionId = await bed.addSession();
  assert.equal((await refusalOf("send_prompt", { sessionId, text: "x" })).code, "host_offline");
});

test("a summary has what the host says now, or nothing", async () => {
  const sessionId = await bed.addSession({ title: "T" });
  assert.equal((await node.result("get_session_summary", { sessionId }))["live"], null);
  const live = { title: "T", status: "running", model: null, usage: null };
  bed.host.describe_session = () => live;
  assert.deepEqual((await node.result("get_session_summary", { sessionId }))["live"], live);
});

test("a rename counts at once, and is sent to the host if it is connected", async () => {
  const sessionId = await bed.addSession();
  const record = await node.result("rename_session", { sessionId, title: "Renamed" });
  assert.equal(record["title"], "Renamed");
  assert.deepEqual(bed.asked[0]?.payload, { sessionId, title: "Renamed" });
  await bed.report(sessionId, { sessionUpdate: "session_info_update", title: "Agent's" });
  assert.equal((await node.result("get_session_summary", { sessionId }))["title"], "Renamed");
});

test("a mode is set on the host first, and none is wider than the organization allows", async () => {
  const sessionId = await bed.addSession();
  bed.host.set_session_mode = () => ({});
  const record = await node.result("set_session_mode", { sessionId, mode: "auto" });
  assert.equal(record["mode"], "auto");
  const { ownerId: _owner, ...payload } = bed.asked[0]!.payload;
  assert.deepEqual(payload, { sessionId, mode: "auto" });
  await bed.report(sessionId, { sessionUpdate: "mode_changed", mode: "ask", reason: "narrowed" });
  assert.equal((await node.result("get_session_summary", { sessionId }))["mode"], "ask");
  await bed.sql("UPDATE organizations SET highest_mode = 'ask'");
  const refusal = await refusalOf("set_session_mode", { sessionId, mode: "auto" });
  assert.equal(refusal.code, "mode_not_allowed");
  assert.match(refusal.message, /at most the mode ask\. .* raise highestMode with update_settings/);
  bed.host.set_session_mode = refusing("mode_not_allowed");
  const byHost = await refusalOf("set_session_mode", { sessionId, mode: "ask" });
  assert.equal(byHost.code, "mode_not_allowed");
  await bed.sql("UPDATE organizations SET highest_mode = 'unattended'");
});

test("a call that is repeated late does not show its mode instead of a later one", async () => {
  const sessionId = await bed.addSession();
  const changed = (mode: string) => ({ sessionUpdate: "mode_changed", mode, reason: null });
  const call = [{ sessionId, mode: "ask" }, { idempotencyKey: "set-ask" }] as const;
  bed.host.set_session_mode = () => {
    throw new OutcomeUnknown();
  };
  const { refusal } = (await node.call("set_session_mode", ...call)) as { refusal: Refusal };
  assert.equal(refusal.code, "in_progress");
  // The host has set this mode, and then the mode of another caller.
  await bed.report(sessionId, changed("ask"), changed("unattended"));
  bed.host.set_session_mode = () => ({});
  assert.equal((await node.result("set_session_mode", ...call))["mode"], "unattended");
  const record = await node.result("get_session_summary", { sessionId });
  assert.equal(record["mode"], "unattended");
});

test("stopping what is over asks nobody", async () => {
  bed.host.abort_turn = () => ({ aborted: true, droppedPrompts: 2 });
  const sessionId = await bed.addSession();
  assert.deepEqual(await node.result("abort_session", { sessionId }), {
    sessionId,
    aborted: true,
    droppedPrompts: 2,
  });
  const ended = await bed.addSession({ status: "ended" });
  assert.equal((await node.result("abort_session", { sessionId: ended }))["aborted"], false);
  assert.equal(bed.asked.length, 1);
});

test("an ending that the host carries out ends; twice is once", async () => {
  bed.host.end_session = () => ({});
  const sessionId = await bed.addSession();
  const record = await node.result("end_session", { sessionId });
  assert.equal(record["status"], "ended");
  assert.notEqual(record["endedAt"], null);
  assert.deepEqual(await node.result("end_session", { sessionId }), record);
  assert.equal(bed.asked.length, 1);
  assert.deepEqual(await owed(sessionId), []);
});

test("an ending is owed while the host is away or refuses, and worked off when it is back", async () => {
  const events: string[] = [];
  const endings = createOwedEndings({
    database: bed.service.database,
    hosts: bed.hosts,
    viewers: { notify: (_, { sessions = [] }) => void events.push(...sessions) },
    log: createLog("silent"),
  });
  const instance = parseId("instance", bed.instanceId)!;
  const away = await bed.addSession();
  const record = await node.result("end_session", { sessionId: away });
  assert.deepEqual([record["status"], record["statusReason"]], ["cleanup_failed", "host_offline"]);
  bed.host.end_session = refusing("host_refused");
  const refused = await bed.addSession();
  const other = await node.result("end_session", { sessionId: refused });
  assert.deepEqual([other["status"], other["statusReason"]], ["cleanup_failed", "host_refused"]);
  await endings.hostIsBack(instance);
  assert.equal((await owed(away)).length, 1);

  bed.host.end_session = () => ({});
  await endings.hostIsBack(instance);
  for (const sessionId of [away, refused]) {
    assert.equal((await rowOf(sessionId)).status, "ended");
    assert.deepEqual(await owed(sessionId), []);
    assert.ok(events.includes(sessionId));
  }
});

test("an ending whose node died is worked off by the sweep, and so is a start", async () => {
  const endings = createOwedEndings({
    database: bed.service.database,
    hosts: bed.hosts,
    viewers: bed.viewers,
    log: createLog("silent"),
  });
  const ending = await bed.addSession();
  await bed.sql(
    `INSERT INTO owed_endings (organization_id, session_id, instance_id, tried_at)
     SELECT organization_id, session_id, instance_id, now() - interval '2 minutes'
       FROM sessions WHERE session_id = $1`,
    [parseId("session", ending)],
  );
  const old = new Date(Date.now() - 120_000).toISOString();
  const starting = await bed.addSession({ activity: "starting", created_at: old });
  const fresh = await bed.addSession({ activity: "starting" });
  bed.host.end_session = () => ({});
  await endings.sweep();
  assert.equal((await rowOf(ending)).status, "ended");
  assert.deepEqual(await rowOf(starting), {
    status: "error",
    status_reason: "start_unknown",
    activity: "idle",
  });
  assert.equal((await rowOf(fresh)).activity, "starting");
});

test("deleting treats each id by itself", async () => {
  const good = await bed.addSession();
  const stubborn = await bed.addSession();
  const over = await bed.addSession({ status: "ended" });
  const unknown = formatId("session", crypto.randomUUID());
  bed.host.end_session = ({ sessionId }) => {
    if (sessionId === stubborn) throw new Refusal("host_refused", "The worktree is in use.");
    return {};
  };
  const sessionIds = [good, unknown, stubborn, over, good];
  const result = await node.result("delete_session", { sessionIds });
  assert.deepEqual((result["deleted"] as string[]).toSorted(), [good, over].toSorted());
  assert.deepEqual(result["failed"], [
    {
      sessionId: unknown,
      reason: "There is no session with this id in your organization. list_sessions lists the ids.",
    },
    { sessionId: stubborn, reason: "The worktree is in use." },
  ]);
  assert.equal((await rowOf(stubborn)).status, "cleanup_failed");
  assert.equal(new Set(bed.asked.map(({ commandId }) => commandId)).size, 2);

  const refusal = await refusalOf("delete_session", { sessionIds: [stubborn, unknown, good] });
  assert.equal(refusal.code, "nothing_deleted");
  assert.deepEqual(refusal.details.fields?.map(({ field }) => field).sort(), [
    "sessionIds[0]",
    "sessionIds[1]",
    "sessionIds[2]",
  ]);
  assert.equal((await rowOf(stubborn)).status, "cleanup_failed");
});

test("F15: a deleted session never comes back, and its host still cleans up", async () => {
  const sessionId = await bed.addSession();
  assert.deepEqual(await node.result("delete_session", { sessionId }), {
    deleted: [sessionId],
    failed: [],
  });
  assert.equal((await owed(sessionId)).length, 1);
  const status = { sessionUpdate: "session_status", status: "active", reason: null };
  assert.deepEqual(await bed.report(sessionId, status), { applied: [] });
  bed.host.end_session = () => ({});
  const endings = createOwedEndings({
    database: bed.service.database,
    hosts: bed.hosts,
    viewers: bed.viewers,
    log: createLog("silent"),
  });
  await endings.hostIsBack(parseId("instance", bed.instanceId)!);
  assert.deepEqual(await owed(sessionId), []);
  assert.equal((await refusalOf("get_session_summary", { sessionId })).code, "not_found");
});

test("a session's log is read page by page", async () => {
  const sessionId = await bed.addSession();
  const entries = Array.from({ length: 5 }, (_, n) => ({ sessionUpdate: "plan", n }));
  await bed.report(sessionId, ...entries);
  const first = await node.result("list_session_events", { sessionId, limit: 3 });
  const seqs = (page: Record<string, unknown>) =>
    (page["events"] as { seq: number }[]).map(({ seq }) => seq);
  assert.deepEqual([seqs(first), first["lastSeq"], first["hasMore"]], [[1, 2, 3], 5, true]);
  const rest = await node.result("list_session_events", { sessionId, after: 3 });
  assert.deepEqual([seqs(rest), rest["hasMore"]], [[4, 5], false]);
  assert.deepEqual((rest["events"] as { update: unknown }[])[0]!.update, entries[3]);
});

async function refusalOf(action: string, body: object): Promise<Refusal> {
  const answer = await node.call(action, body);
  assert.ok("refusal" in answer, JSON.stringify(answer));
  return answer.refusal;
}

async function rowOf(sessionId: string) {
  const [row] = await bed.sql<{ status: string; status_reason: string | null; activity: string }>(
    `SELECT status, status_reason, activity FROM sessions WHERE session_id = $1`,
    [parseId("session", sessionId)],
  );
  return { ...row! };
}

function owed(sessionId: string) {
  return bed.sql(`SELECT session_id FROM owed_endings WHERE session_id = $1`, [
    parseId("session", sessionId),
  ]);
}
