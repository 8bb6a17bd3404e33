// Who may prompt a session that uses the account of a person, before and after the owner shares it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { logIn, openSmall, setPolicy } from "@hawser/testkit/scripted-accounts.ts";
import {
  asks,
  codeOf,
  makeSmallHost,
  script,
  wanted,
  type OpenHost,
  type SmallHost,
} from "@hawser/testkit/small-host.ts";

const ada = "usr_ada.1000";
const bo = "usr_bo.2000";
const cy = "usr_cy.3000";

/** A session with an account of Ada's. */
async function startWithAccount(small: SmallHost, clonesRepositories = false) {
  setPolicy(small, "shared-logins = yes");
  const opened = openSmall(small, undefined, { clonesRepositories });
  await logIn(opened.host, ada);
  const asked = { ...wanted(small.repository), kind: "claude_code" as const, ownerId: ada };
  await opened.host.must("start_session", asked);
  return { ...opened, sessionId: asked.sessionId };
}

const text = script([{ text: "done" }]);

/** The outcome of a prompt: `done`, or the code of the refusal. */
const promptBy = async (host: OpenHost, sessionId: string, ownerId: string | null) =>
  codeOf(await host.ask("send_prompt", { sessionId, text, ownerId }));

const refused = "account_not_yours";
type Guests = string[] | null | undefined;

/** Keys of organizations and agents have no owner id. */
const table: [shared: string, guests: Guests, who: string, ownerId: string | null, code: string][] =
  [
    ["not shared", undefined, "the owner", ada, "done"],
    ["not shared", undefined, "a member", bo, refused],
    ["not shared", undefined, "a key without a person", null, refused],
    ["shared with Bo", [bo], "the owner", ada, "done"],
    ["shared with Bo", [bo], "Bo", bo, "done"],
    ["shared with Bo", [bo], "another member", cy, refused],
    ["shared with Bo", [bo], "Bo, who left and joined again", "usr_bo.2001", refused],
    ["shared with Bo", [bo], "a key without a person", null, refused],
    ["shared with every member", null, "a member", cy, "done"],
    ["shared with every member", null, "a key without a person", null, refused],
    ["withdrawn", [], "the owner", ada, "done"],
    ["withdrawn", [], "Bo", bo, refused],
  ];

for (const [shared, guests, who, ownerId, code] of table) {
  test(`${shared}: a prompt of ${who} gets ${code}`, async () => {
    using small = makeSmallHost();
    const { host, sessionId } = await startWithAccount(small);
    if (guests !== undefined) {
      if (guests?.length === 0) {
        await host.must("share_session", { sessionId, ownerId: ada, guests: [bo] });
      }
      await host.must("share_session", { sessionId, ownerId: ada, guests });
    }
    assert.equal(await promptBy(host, sessionId, ownerId), code);
    await host.close();
  });
}

test("only the owner shares a session, and the log shows with whom", async () => {
  using small = makeSmallHost();
  const { host, accounts, sessionId } = await startWithAccount(small);
  const share = { sessionId, guests: [bo] };
  assert.equal(codeOf(await host.ask("share_session", { ...share, ownerId: bo })), refused);
  await host.must("share_session", { ...share, ownerId: ada });
  const { userIds } = await host.until(sessionId, "session_shared");
  assert.deepEqual(userIds, ["usr_bo"]);
  // A guest cannot bring further guests.
  const more = { sessionId, guests: null, ownerId: bo };
  const outcome = await host.ask("share_session", more);
  assert.equal(codeOf(outcome), refused);
  assert.match(JSON.stringify(outcome), /Only the owner .* can share the session/);
  await host.close();
  const { host: again } = openSmall(small, accounts);
  assert.equal(await promptBy(again, sessionId, bo), "done", "also after a restart of the daemon");
  await again.close();
});

test("a session that uses the login of the host's user is not shared", async () => {
  using small = makeSmallHost();
  const { host } = openSmall(small);
  const asked = { ...wanted(small.repository), kind: "claude_code" as const };
  await host.must("start_session", asked);
  const share = { sessionId: asked.sessionId, ownerId: ada, guests: [bo] };
  assert.equal(codeOf(await host.ask("share_session", share)), refused);
  await host.close();
});

test("a guest prompts, and decides nothing else", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await startWithAccount(small);
  await host.must("share_session", { sessionId, ownerId: ada, guests: [bo] });
  const by = { sessionId, ownerId: bo };
  assert.equal(codeOf(await host.ask("run_shell", { ...by, command: "true" })), refused);
  assert.equal(codeOf(await host.ask("set_session_mode", { ...by, mode: "auto" })), refused);
  await host.must("send_prompt", { ...by, text: script([asks(["ls"])]) });
  const { requestId, shownHash } = await host.until(sessionId, "request_raised");
  const answer = { ...by, requestId, shownHash, answers: null };
  const yes = await host.ask("answer_request", { ...answer, answer: "once" });
  assert.equal(codeOf(yes), refused);
  const no = await host.must("answer_request", { ...answer, answer: "reject" });
  assert.deepEqual(no, { status: "answered" });
  await host.close();
});

test("only the owner pushes a session that pushes with logins of the owner's own Unix user", async () => {
  for (const isSeparated of [true, false]) {
    using small = makeSmallHost();
    const { host, sessionId } = await startWithAccount(small, isSeparated);
    await host.must("share_session", { sessionId, ownerId: ada, guests: null });
    const pushBy = async (ownerId: string | null | undefined) =>
      codeOf(await host.ask("push_session", { sessionId, pullRequest: null, ownerId }));
    // The repository has no origin.
    for (const who of [bo, null, undefined])
      assert.equal(await pushBy(who), isSeparated ? refused : "push_failed");
    assert.equal(await pushBy(ada), "push_failed");
    await host.close();
  }
});
