// Work for a session: what is checked before the host is asked, and what the host receives.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { parseId } from "@hawser/contract";
import { openSessionBed, type SessionBed, type TestUpdate } from "@hawser/testkit/session-bed.ts";
import { OutcomeUnknown } from "../dispatch/handler.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;
before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
});
after(() => bed[Symbol.asyncDispose]());
beforeEach(() => void (bed.asked.length = 0));

const taken = { turnId: "t1", messageId: "m1", queued: false, model: null };

async function refusalOf(action: string, body: object) {
  const answer = await node.call(action, body);
  assert.ok("refusal" in answer, JSON.stringify(answer));
  return answer.refusal;
}

test("without the capability nobody asks the host", async () => {
  const sessionId = await bed.addSession();
  for (const [action, more] of [
    ["run_shell", { command: "ls" }],
    ["run_command", { command: "greet" }],
    ["summarize_session", {}],
  ] as const) {
    assert.equal((await refusalOf(action, { sessionId, ...more })).code, "capability_missing");
  }
  const withCommands = await bed.addSession({ capabilities: "{commands}" });
  const { code, message } = await refusalOf("summarize_session", { sessionId: withCommands });
  assert.equal(code, "capability_missing");
  assert.match(message, /Call run_command with the command "compact" instead\./);
  assert.deepEqual(bed.asked, []);
});

test("with it the host is asked, and its answer is the caller's", async () => {
  const sessionId = await bed.addSession({ capabilities: "{commands,shell,summarize}" });
  bed.host.run_shell = () => ({ shellId: "s1" });
  bed.host.run_command = () => taken;
  bed.host.summarize_session = () => ({ turnId: "t2" });
  const shell = { sessionId, command: "ls" };
  assert.deepEqual(await node.result("run_shell", shell), { sessionId, shellId: "s1" });
  const command = { sessionId, command: "greet" };
  const { model: _, ...accepted } = taken;
  assert.deepEqual(await node.result("run_command", command), { sessionId, ...accepted });
  assert.deepEqual(await node.result("summarize_session", { sessionId }), {
    sessionId,
    status: "in_progress",
  });
  assert.deepEqual(
    bed.asked.map(({ payload: { ownerId: _owner, ...payload } }) => payload),
    [shell, { ...command, arguments: "", highestMode: "unattended" }, { sessionId }],
  );
});

/** What waiting for the session says about its shell commands. */
async function shellsOf(sessionId: string) {
  const told = await node.result("wait_for_session", { sessionId, timeoutSeconds: 1 });
  return [told["activity"], told["runningShellIds"]];
}

test("a shell command runs as soon as its caller is answered, until the log reports its end", async () => {
  const begun = { sessionUpdate: "shell_started", shellId: "s1", agent: null };
  const ended = { ...begun, sessionUpdate: "shell", exitCode: 0, output: "", reason: null };
  const sessionId = await bed.addSession({ capabilities: "{shell}" });
  const shell = { sessionId, command: "ls" };
  bed.host.run_shell = () => ({ shellId: "s1" });
  const once = { idempotencyKey: "running-shell" };
  await node.result("run_shell", shell, once);
  assert.deepEqual(await shellsOf(sessionId), ["running", ["s1"]]);
  await bed.report(sessionId, begun);
  assert.deepEqual(await shellsOf(sessionId), ["running", ["s1"]]);
  await bed.report(sessionId, ended);
  assert.deepEqual(await shellsOf(sessionId), ["idle", []]);
  await node.result("run_shell", shell, once);
  assert.deepEqual(await shellsOf(sessionId), ["idle", []]);
});

test("a shell command that the log reports before the host answers is counted once, and not after its end", async () => {
  const begun = (shellId: string) => ({ sessionUpdate: "shell_started", shellId, agent: null });
  const ended = (shellId: string) => {
    const end = { exitCode: 0, output: "", reason: null };
    return { ...begun(shellId), sessionUpdate: "shell", ...end };
  };
  const sessionId = await bed.addSession({ capabilities: "{shell}" });
  const run = (shellId: string, ...updates: TestUpdate[]) => {
    bed.host.run_shell = async () => {
      await bed.report(sessionId, ...updates);
      return { shellId };
    };
    return node.result("run_shell", { sessionId, command: "ls" });
  };
  await run("s1", begun("s1"), ended("s1"));
  assert.deepEqual(await shellsOf(sessionId), ["idle", []]);
  await run("s2", begun("s2"));
  await run("s3", begun("s3"));
  assert.deepEqual(await shellsOf(sessionId), ["running", ["s2", "s3"]]);
  await bed.report(sessionId, ended("s2"));
  assert.deepEqual(await shellsOf(sessionId), ["running", ["s3"]]);
  // A daemon that is too old to report the beginning.
  await run("s4", ended("s4"), ended("s3"));
  assert.deepEqual(await shellsOf(sessionId), ["idle", []]);
});

test("a shell command of a host that has lost its journal meanwhile is not counted", async () => {
  const sessionId = await bed.addSession({ capabilities: "{shell}" });
  bed.host.run_shell = async () => {
    await bed.sql(
      `UPDATE sessions SET status = 'error', status_reason = 'journal_lost' WHERE session_id = $1`,
      [parseId("session", sessionId)],
    );
    return { shellId: "s1" };
  };
  await node.result("run_shell", { sessionId, command: "ls" });
  assert.deepEqual(await shellsOf(sessionId), ["idle", []]);
});

test("a shell command's text is in no table", async () => {
  const sessionId = await bed.addSession({ capabilities: "{shell}" });
  bed.host.run_shell = () => ({ shellId: "s1" });
  const mark = "planted-51c0";
  const once = { idempotencyKey: "shell-text" };
  await node.result("run_shell", { sessionId, command: `echo ${mark}` }, once);
  const rows = await bed.sql(`SELECT to_jsonb(a)::text AS row FROM audit_entries a`);
  assert.ok(rows.length > 0);
  assert.ok(!JSON.stringify(rows).includes(mark));
});

test("after an unknown outcome, the advice waits until the command can no longer take effect", async () => {
  const sessionId = await bed.addSession({ capabilities: "{commands,shell,summarize}" });
  await bed.report(sessionId, { sessionUpdate: "session_status", status: "active", reason: null });
  const silent = (mayBeginMs: number) => () => {
    throw new OutcomeUnknown("It went away.", mayBeginMs);
  };
  const text = { sessionId, text: "only once" };
  for (const [action, command, body] of [
    ["send_prompt", "send_prompt", text],
    ["run_command", "run_command", { sessionId, command: "greet" }],
    ["run_shell", "run_shell", { sessionId, command: "ls" }],
    ["summarize_session", "summarize_session", { sessionId }],
  ] as const) {
    bed.host[command] = silent(12_300);
    const { code, message, details } = await refusalOf(action, body);
    assert.equal(code, "in_progress");
    assert.deepEqual(details, { retry: "changed", nextAction: "wait_for_session" });
    assert.match(message, /It can still take effect for 13 seconds\. Before you call again, /);
    assert.match(
      message,
      /wait_for_session with sinceSeq 1 and timeoutSeconds 18\. If `reachable`/,
    );
    assert.match(
      message,
      /If `lastSeq` is still 1, this call had no effect; otherwise list_session/,
    );
  }
  bed.host.send_prompt = silent(24_500);
  const soon = await refusalOf("send_prompt", text);
  assert.match(soon.message, /for 25 seconds\..*timeoutSeconds 25\./);
  bed.host.send_prompt = silent(0);
  const late = await refusalOf("send_prompt", text);
  assert.doesNotMatch(late.message, /still take effect/);
  assert.match(late.message, /sinceSeq 1 and timeoutSeconds 5\./);

  // The wait of the advice is not answered until the prompt has arrived after all and has run.
  const waiting = node.result("wait_for_session", { sessionId, sinceSeq: 1, timeoutSeconds: 18 });
  await new Promise((resolve) => setTimeout(resolve, 100));
  const turn = { turnId: "t1", messageId: "m1", model: null, agent: null };
  const end = { turnId: "t1", outcome: "completed", reason: null };
  await bed.report(sessionId, { sessionUpdate: "turn_started", ...turn });
  await bed.report(sessionId, { sessionUpdate: "turn_finished", ...end });
  const told = await waiting;
  assert.deepEqual([told["turnId"], told["lastSeq"], told["timedOut"]], ["t1", 3, false]);
  const keyed = await node.call("send_prompt", text, { idempotencyKey: "unknown-prompt" });
  assert.ok("refusal" in keyed);
  assert.match(keyed.refusal.message, /Call again with the same idempotency key/);
});

test("bytes go to the host as the name of a blob, an address as it is", async () => {
  const sessionId = await bed.addSession();
  bed.host.send_prompt = () => taken;
  const attachments = [
    { mime: "text/plain", url: "data:,hello", filename: "../a\n.txt" },
    { mime: "image/png", url: "https://x.example/a.png" },
  ];
  await node.result("send_prompt", { sessionId, text: "look", attachments });
  const sent = bed.asked[0]!.payload["attachments"] as { fileId?: string }[];
  const { fileId } = sent[0]!;
  // By it the log's entry names the file.
  assert.match(fileId!, /^fil_/);
  assert.deepEqual(sent, [
    {
      fileId,
      mime: "text/plain",
      filename: ".._a_.txt",
      from: {
        sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        size: 5,
      },
    },
    { mime: "image/png", filename: null, from: { url: "https://x.example/a.png" } },
  ]);
  // When they are sent again, the same bytes are stored once.
  await node.result("send_prompt", { sessionId, text: "look", attachments });
  const [{ count }] = (await bed.sql<{ count: number }>(
    `SELECT count(*)::int AS count FROM blobs`,
  )) as [{ count: number }];
  assert.equal(count, 1);
});

test("files that are not there are not found, and the host is not asked", async () => {
  const sessionId = await bed.addSession();
  const attachments = [{ mime: "image/png", fileId: "fil_01kaba0000eefnktmwbecf8wm0" }];
  const refusal = await refusalOf("send_prompt", { sessionId, text: "look", attachments });
  assert.equal(refusal.code, "not_found");
  assert.deepEqual(bed.asked, []);
});
