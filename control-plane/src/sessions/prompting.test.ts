// Work for a session: what is checked before the host is asked, and what the host receives.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openSessionBed, type SessionBed } from "@hawser/testkit/session-bed.ts";

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

test("bytes go to the host as the name of a blob, an address as it is", async () => {
  const sessionId = await bed.addSession();
  bed.host.send_prompt = () => taken;
  const attachments = [
    { mime: "text/plain", url: "data:,hello", filename: "../a\n.txt" },
    { mime: "image/png", url: "https://x.example/a.png" },
  ];
  await node.result("send_prompt", { sessionId, text: "look", attachments });
  assert.deepEqual(bed.asked[0]!.payload["attachments"], [
    {
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
