// People who sign in at real nodes: invitations, passwords, cookies as callers, and what ends a sign-in.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createCaller } from "@hawser/testkit/caller.ts";
import type { ControlPlaneNode } from "@hawser/testkit/control-plane-node.ts";
import { createTestOrganization, type TestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import type { ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { openTestBrowser, type TestBrowser } from "@hawser/testkit/signed-in-browser.ts";
import { until } from "@hawser/testkit/until.ts";
import { startTwoNodes, type TwoNodes } from "@hawser/testkit/two-nodes.ts";
import { makeSecretText } from "../access/secret-text.ts";

const password = "correct horse battery";
let two: TwoNodes;
let service: ServiceDatabase;
let acme: TestOrganization;
let globex: TestOrganization;
let node: ControlPlaneNode;
let other: ControlPlaneNode;

before(async () => {
  two = await startTwoNodes();
  ({
    service,
    nodes: [node, other],
  } = two);
  acme = await createTestOrganization(service.database, "Acme", "ada@acme.example");
  globex = await createTestOrganization(service.database, "Globex", "grace@globex.example");
});
after(() => two?.[Symbol.asyncDispose]());

const keys = (organization: TestOrganization, on = node) =>
  createCaller(on.baseUrl, organization.keys.owner);

let people = 0;
const newEmail = () => `person${++people}@people.example`;

/** The secret of a new invitation. */
async function invite(email: string, role = "member", organization = acme): Promise<string> {
  const { url } = await keys(organization).create_invitation({ email, role });
  const { origin, pathname, hash } = new URL(url);
  assert.deepEqual([origin, pathname], [node.baseUrl, "/invite"]);
  return hash.slice(1);
}

/** A browser in which a new person has accepted an invitation. */
async function joinAs(
  email: string,
  role = "member",
  organization = acme,
): Promise<TestBrowser & { userId: string }> {
  const browser = openTestBrowser(node.baseUrl);
  const invitation = await invite(email, role, organization);
  const reply = await browser.send("/api/sign-in/invitations/accept", { invitation, password });
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  return { ...browser, userId: reply.body["userId"] as string };
}

const codeOf = ({ body }: { body: Record<string, unknown> }) =>
  (body["error"] as { code?: string } | undefined)?.code;

const signIn = (browser: TestBrowser, email: string, typed = password) =>
  browser.send("/api/sign-in/password", { email, password: typed });

test("an invited person makes an account, and calls with the cookie as a key would", async () => {
  const email = newEmail();
  const browser = openTestBrowser(node.baseUrl);
  const invitation = await invite(email, "member");
  const shown = await browser.send("/api/sign-in/invitations/read", { invitation });
  assert.deepEqual(
    [shown.body["organization"], shown.body["email"], shown.body["role"]],
    ["Acme", email, "member"],
  );
  const accepted = await browser.send("/api/sign-in/invitations/accept", { invitation, password });
  assert.equal(accepted.status, 200);
  const cookie = accepted.headers.getSetCookie().find((each) => each.includes("_session="))!;
  assert.match(
    cookie,
    /^__Host-hawser_session=hws_[a-z0-9]+; Path=\/; Max-Age=\d+; HttpOnly; Secure; SameSite=Lax$/,
  );
  assert.doesNotMatch(JSON.stringify(accepted.body), /hws_/);

  const me = (await browser.call(acme.organizationId, "whoami")).body["result"] as Record<
    string,
    unknown
  >;
  assert.equal(me["apiKeyId"], null);
  assert.match(me["signInId"] as string, /^sgn_/);
  assert.deepEqual([me["scope"], (me["user"] as { name: string }).name], ["user", email]);
  assert.ok(!(me["permissions"] as string[]).includes("access:edit"));

  const made = await browser.call(acme.organizationId, "create_instance", { name: email });
  assert.equal(made.status, 200);
  const { entries } = await keys(acme).list_audit_entries({ limit: 1 });
  assert.deepEqual(
    [entries[0]!.action, entries[0]!.actor.type, entries[0]!.apiKeyId, entries[0]!.signInId],
    ["create_instance", "user", null, me["signInId"]],
  );
  // The key that calls are made with has no secret, and nobody sees it.
  const { apiKeys } = await keys(acme).list_api_keys({});
  assert.ok(apiKeys.every(({ name }) => name !== "sign-in"));
});

test("made-up invitations do not occupy the node with hashes of their passwords", async () => {
  const made = () => ({ invitation: makeSecretText("hwi"), password });
  const browser = await joinAs(newEmail());
  const guesses = Array.from({ length: 60 }, () =>
    openTestBrowser(node.baseUrl).send("/api/sign-in/invitations/accept", made()),
  );
  const [rightful, ...replies] = await Promise.all([
    browser.send("/api/sign-in/confirm", { password }),
    ...guesses,
  ]);
  assert.equal(rightful.status, 200);
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [404]);
});

test("an invitation is good once, for one address, while its creator may grant the role (N28)", async () => {
  const email = newEmail();
  const invitation = await invite(email);
  const accept = (browser: TestBrowser) =>
    browser.send("/api/sign-in/invitations/accept", { invitation, password });
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => accept(openTestBrowser(node.baseUrl))),
  );
  const statuses = replies.map(({ status }) => status).toSorted((one, next) => one - next);
  assert.deepEqual(statuses, [200, ...Array<number>(9).fill(404)]);

  const someone = await joinAs(newEmail());
  const forAnother = await invite(newEmail());
  const taken = await someone.send("/api/sign-in/invitations/accept", { invitation: forAnother });
  assert.deepEqual([taken.status, codeOf(taken)], [403, "forbidden"]);

  const owner = await joinAs(newEmail(), "owner");
  const made = await owner.call(acme.organizationId, "create_invitation", {
    email: newEmail(),
    role: "owner",
  });
  const { url } = made.body["result"] as { url: string };
  await keys(acme).remove_member({ userId: owner.userId });
  const late = await openTestBrowser(node.baseUrl).send("/api/sign-in/invitations/accept", {
    invitation: new URL(url).hash.slice(1),
    password,
  });
  assert.equal(late.status, 404);

  const withdrawn = await keys(acme).create_invitation({ email: newEmail(), role: "viewer" });
  await keys(acme).revoke_invitation({ invitationId: withdrawn.invitation.invitationId });
  const revoked = await openTestBrowser(node.baseUrl).send("/api/sign-in/invitations/read", {
    invitation: new URL(withdrawn.url).hash.slice(1),
  });
  assert.equal(revoked.status, 404);
});

test("an organization makes only some invitations in four days", async () => {
  await ownerSql(
    service.url,
    `INSERT INTO invitations (organization_id, secret_hash, email, role, created_by, creator_key_id, expires_at, revoked_at)
     SELECT organization_id, sha256(n::text::bytea), 'x@globex.example', 'member', '{}', hawser_new_id(), now(), now()
       FROM memberships, generate_series(1, 999) AS n WHERE email = 'grace@globex.example'`,
  );
  const make = () => keys(globex).try("create_invitation", { email: newEmail(), role: "viewer" });
  assert.equal((await make()).status, 200);
  const refused = (await make()) as { body: Record<string, unknown> };
  assert.equal(codeOf(refused), "limit_reached");
  await ownerSql(service.url, "DELETE FROM invitations WHERE email = 'x@globex.example'");
  assert.equal((await make()).status, 200);
});

test("who invites a member with keys cannot act as that member", async () => {
  const email = newEmail();
  const { userId } = await keys(acme).add_member({ email, role: "viewer" });
  const { key } = await keys(acme).create_api_key({
    name: "first",
    scope: "user",
    userId,
    permissions: ["instances:view", "sessions:view"],
  });
  const narrow = await createCaller(node.baseUrl, key).create_api_key({
    name: "narrow",
    scope: "user",
    permissions: ["sessions:view"],
  });
  const invitation = await invite(email);
  const accept = (shown?: string) =>
    openTestBrowser(node.baseUrl).send("/api/sign-in/invitations/accept", {
      invitation,
      password,
      ...(shown && { key: shown }),
    });
  for (const wrong of [undefined, acme.keys.owner, narrow.key]) {
    assert.equal(codeOf(await accept(wrong)), "forbidden");
  }
  assert.equal((await accept(key)).status, 200);
});

test("a removed member cannot come back with an invitation from before", async () => {
  const email = newEmail();
  const invitation = await invite(email, "owner");
  const member = await joinAs(email);
  await keys(acme).remove_member({ userId: member.userId });
  const late = await member.send("/api/sign-in/invitations/accept", { invitation });
  assert.equal(late.status, 404);
  const again = { invitation: await invite(email) };
  assert.equal((await member.send("/api/sign-in/invitations/accept", again)).status, 200);
});

test("who invites an address gets at no account that exists, and at nothing it reaches elsewhere", async () => {
  const email = newEmail();
  const victim = await joinAs(email, "owner", acme);
  // The other organization invites the same address, and opens the link itself.
  const invitation = await invite(email, "owner", globex);
  const intruder = openTestBrowser(node.baseUrl);
  const taken = await intruder.send("/api/sign-in/invitations/accept", {
    invitation,
    password: "the intruder's own",
  });
  assert.deepEqual([taken.status, codeOf(taken)], [409, "sign_in_first"]);
  // The person accepts it, and then reaches both.
  assert.equal((await victim.call(globex.organizationId, "whoami")).status, 401);
  const accepted = await victim.send("/api/sign-in/invitations/accept", { invitation });
  assert.equal(accepted.status, 200);
  assert.equal((await victim.call(globex.organizationId, "whoami")).status, 200);

  // A member without an account, whom another organization invites: the new account reaches only the inviter.
  const keyed = newEmail();
  await keys(acme).add_member({ email: keyed, role: "owner" });
  const made = await joinAs(keyed, "member", globex);
  assert.equal((await made.call(globex.organizationId, "whoami")).status, 200);
  assert.equal((await made.call(acme.organizationId, "whoami")).status, 401);
});

test("an invitation gives nobody the role of a member that the inviter may not grant", async () => {
  const email = newEmail();
  await keys(acme).add_member({ email, role: "owner" });
  await keys(acme).create_role({ name: "inviter", permissions: ["access:view", "access:edit"] });
  const inviter = await joinAs(newEmail(), "inviter");
  const made = await inviter.call(acme.organizationId, "create_invitation", {
    email,
    role: "inviter",
  });
  const { url } = made.body["result"] as { url: string };
  const browser = openTestBrowser(node.baseUrl);
  const invitation = new URL(url).hash.slice(1);
  const taken = await browser.send("/api/sign-in/invitations/accept", { invitation, password });
  assert.deepEqual([taken.status, browser.cookies.size], [404, 0]);
  // An owner may grant it, and the member keeps the role.
  const good = { invitation: await invite(email, "viewer"), password };
  assert.equal((await browser.send("/api/sign-in/invitations/accept", good)).status, 200);
  const me = (await browser.call(acme.organizationId, "whoami")).body["result"];
  assert.ok((me as { permissions: string[] }).permissions.includes("access:edit"));
});

test("who adds a person to an organization cannot see or end the person's sign-ins", async () => {
  const email = newEmail();
  const victim = await joinAs(email);
  const { userId } = await keys(globex).add_member({ email, role: "viewer" });
  const permissions = ["instances:view", "sessions:view"] as const;
  const first = await keys(globex).create_api_key({
    name: "first",
    scope: "user",
    userId,
    permissions: [...permissions],
  });
  const listed = await victim.call(acme.organizationId, "list_sign_ins");
  const [{ signInId }] = (listed.body["result"] as { signIns: [{ signInId: string }] }).signIns;
  const second = await createCaller(node.baseUrl, first.key).create_api_key({
    name: "second",
    scope: "user",
    permissions: [...permissions],
  });
  for (const { key } of [first, second]) {
    const headers = { authorization: `Bearer ${key}` };
    const send = (action: string, input: object) =>
      openTestBrowser(node.baseUrl).send(`/api/rest/actions/${action}`, input, headers);
    assert.equal(codeOf(await send("list_sign_ins", {})), "forbidden");
    assert.equal(codeOf(await send("revoke_sign_in", { signInId })), "forbidden");
  }
  assert.equal((await victim.call(acme.organizationId, "whoami")).status, 200);
});

test("a cookie counts only for requests of the service's own pages (N24, N25)", async () => {
  const browser = await joinAs(newEmail());
  const path = "/api/rest/actions/whoami";
  const organization = { "x-hawser-organization": acme.organizationId };
  const cases: [string, Record<string, string | undefined>, number][] = [
    ["its own page", {}, 200],
    ["only the origin", { "sec-fetch-site": undefined }, 200],
    ["only the fetch metadata", { origin: undefined }, 200],
    ["neither", { origin: undefined, "sec-fetch-site": undefined }, 403],
    ["a sibling name", { origin: "http://evil.localhost", "sec-fetch-site": "same-site" }, 403],
    ["another site", { origin: "https://evil.example", "sec-fetch-site": "cross-site" }, 403],
    ["a sandboxed frame", { origin: "null" }, 403],
    ["an address bar", { origin: undefined, "sec-fetch-site": "none" }, 403],
    ["a lying origin", { "sec-fetch-site": "cross-site" }, 403],
    ["a form", { "content-type": "text/plain" }, 403],
    ["another form", { "content-type": "application/x-www-form-urlencoded" }, 403],
    ["no organization", { "x-hawser-organization": undefined }, 401],
    ["another organization", { "x-hawser-organization": globex.organizationId }, 401],
  ];
  for (const [name, headers, status] of cases) {
    const reply = await browser.send(path, {}, { ...organization, ...headers });
    assert.equal(reply.status, status, name);
  }
  for (const stream of ["/api/sign-in"]) {
    const reply = await browser.send(stream, undefined, { origin: "https://evil.example" });
    assert.equal(reply.status, 403, stream);
  }
  for (const change of ["password", "confirm", "change-password", "out", "invitations/accept"]) {
    for (const headers of [
      { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
      { origin: undefined, "sec-fetch-site": undefined },
      { "content-type": "text/plain" },
    ]) {
      const reply = await browser.send(`/api/sign-in/${change}`, {}, headers);
      assert.equal(reply.status, 403, change);
    }
  }
  // A key beside the cookie is the caller, and MCP knows no cookie.
  const key = { authorization: `Bearer ${globex.keys.owner}` };
  const keyed = await browser.send(path, {}, { ...organization, ...key });
  const result = keyed.body["result"] as { organization: { name: string } };
  assert.equal(result.organization.name, "Globex");
  const wrong = await browser.send(path, {}, { ...organization, authorization: "Bearer hwk_x" });
  assert.equal(wrong.status, 401);
  assert.equal((await browser.send("/api/mcp", {}, organization)).status, 401);
  // The cookie's text is no key.
  const token = browser.cookies.get("__Host-hawser_session")!;
  const bearer = await openTestBrowser(node.baseUrl).send(
    path,
    {},
    { ...organization, authorization: `Bearer ${token}` },
  );
  assert.equal(bearer.status, 401);
});

test("the cookie changes with each sign-in, and with a changed role (N26)", async () => {
  const email = newEmail();
  const browser = await joinAs(email);
  const first = browser.cookies.get("__Host-hawser_session")!;
  assert.equal((await signIn(browser, email)).status, 200);
  const second = browser.cookies.get("__Host-hawser_session")!;
  assert.notEqual(second, first);
  const former = openTestBrowser(node.baseUrl, new Map([["__Host-hawser_session", first]]));
  const status = (await former.call(acme.organizationId, "whoami")).status;
  assert.equal(status, 401);

  await keys(acme).update_member({ userId: browser.userId, role: "owner" });
  assert.equal((await browser.call(acme.organizationId, "whoami")).status, 401);
  assert.equal((await signIn(browser, email)).status, 200);
  const me = (await browser.call(acme.organizationId, "whoami")).body["result"] as {
    permissions: string[];
  };
  assert.ok(me.permissions.includes("access:edit"));
});

test("a role whose permissions change ends the sign-ins of its members", async () => {
  await keys(acme).create_role({ name: "widened", permissions: ["sessions:view"] });
  const browser = await joinAs(newEmail(), "widened");
  const status = async () => (await browser.call(acme.organizationId, "whoami")).status;
  await keys(acme).update_role({ name: "widened", permissions: ["sessions:view"] });
  assert.equal(await status(), 200);
  await keys(acme).update_role({ name: "widened", permissions: ["sessions:view", "access:view"] });
  assert.equal(await status(), 401);
});

test("what gives lasting access needs a sign-in of the last five minutes (N27)", async () => {
  const owner = await joinAs(newEmail(), "owner");
  const organizationId = acme.organizationId;
  await ownerSql(
    service.url,
    "UPDATE sign_in.sign_ins SET authenticated_at = now() - interval '6 minutes'",
  );
  const trigger = { prompt: "x", instanceIds: ["ins_x"], source: "json", directory: "/x" };
  const needs: [string, object][] = [
    ["create_api_key", { name: "x", scope: "user", permissions: ["sessions:view"] }],
    ["rotate_api_key", { apiKeyId: "key_x" }],
    ["create_exposure", { instanceId: "ins_x", ttlMinutes: 5 }],
    ["create_preview", { sessionId: "ses_x", port: 80 }],
    ["create_webhook", { url: "https://example.com" }],
    ["update_webhook", { webhookId: "whk_x" }],
    ["create_trigger", trigger],
    ["update_trigger", { triggerId: "trg_x", name: "x" }],
    ["remove_connected_identity", { userId: "usr_x", issuer: "x", subject: "x" }],
    ["update_sign_in_settings", {}],
    ["create_device_sign_in", {}],
    ["confirm_device_sign_in", { digits: "0000" }],
    ["create_invitation", { email: newEmail(), role: "viewer" }],
    ["update_member", { userId: "usr_x", role: "viewer" }],
    ["update_role", { name: "x", permissions: ["sessions:view"] }],
    ["remove_member", { userId: "usr_x" }],
  ];
  await until("the node looks the sign-in up again", async () => {
    const reply = await owner.call(organizationId, needs[0]![0], needs[0]![1]);
    return codeOf(reply) === "sign_in_again";
  });
  for (const [action, input] of needs) {
    const reply = await owner.call(organizationId, action, input);
    assert.deepEqual([reply.status, codeOf(reply)], [403, "sign_in_again"], action);
  }
  assert.equal((await owner.call(organizationId, "list_instances")).status, 200);
  assert.equal((await owner.send("/api/sign-in/confirm", { password })).status, 200);
  const [action, input] = needs[0]!;
  assert.equal((await owner.call(organizationId, action, input)).status, 200);
});

test("ended sign-ins, removed members and changed passwords stop working on every node within 5 s", async () => {
  const ends: [string, (browser: TestBrowser & { userId: string }) => Promise<unknown>][] = [
    ["signed out", (browser) => browser.send("/api/sign-in/out", {})],
    ["removed", ({ userId }) => keys(acme).remove_member({ userId })],
    [
      "revoked",
      async (browser) => {
        const listed = await browser.call(acme.organizationId, "list_sign_ins");
        const { signIns } = listed.body["result"] as {
          signIns: { signInId: string; isCurrent: boolean; way: string; device: string }[];
        };
        assert.deepEqual(
          signIns.map(({ isCurrent, way, device }) => [isCurrent, way, device]),
          [[true, "invitation", "TestBrowser/1"]],
        );
        const { signInId } = signIns[0]!;
        await browser.call(acme.organizationId, "revoke_sign_in", { signInId });
      },
    ],
  ];
  for (const [name, end] of ends) {
    const browser = await joinAs(newEmail());
    const cookies = new Map(browser.cookies);
    const here = openTestBrowser(node.baseUrl, new Map(cookies));
    const there = openTestBrowser(other.baseUrl, cookies);
    const status = async (on: TestBrowser) => (await on.call(acme.organizationId, "whoami")).status;
    assert.deepEqual([await status(here), await status(there)], [200, 200], name);
    await end(browser);
    assert.equal(await status(here), 401, name);
    const startedAt = performance.now();
    await until(`${name} on the other node`, async () => (await status(there)) === 401);
    assert.ok(performance.now() - startedAt < 5_500, name);
  }
});

test("an ended sign-in gives no lasting access on any node", async () => {
  const owner = await joinAs(newEmail(), "owner");
  const there = openTestBrowser(other.baseUrl, new Map(owner.cookies));
  assert.equal((await there.call(acme.organizationId, "whoami")).status, 200);
  await owner.send("/api/sign-in/out", {});
  const made = { name: "late", scope: "user", permissions: ["sessions:view"] };
  const late = await there.call(acme.organizationId, "create_api_key", made);
  assert.equal(late.status, 401);
});

test("a role that changes in one organization ends the sign-in there, and nowhere else", async () => {
  const email = newEmail();
  const browser = await joinAs(email);
  const invitation = await invite(email, "viewer", globex);
  await browser.send("/api/sign-in/invitations/accept", { invitation });
  const status = async ({ organizationId }: TestOrganization) =>
    (await browser.call(organizationId, "whoami")).status;
  assert.deepEqual([await status(acme), await status(globex)], [200, 200]);
  await keys(globex).update_member({ userId: browser.userId, role: "member" });
  assert.deepEqual([await status(acme), await status(globex)], [200, 401]);
  await signIn(browser, email);
  assert.deepEqual([await status(acme), await status(globex)], [200, 200]);
});

test("a person with more than a hundred browsers is signed out of the oldest", async () => {
  const email = newEmail();
  const browser = await joinAs(email);
  await ownerSql(
    service.url,
    `INSERT INTO sign_in.sign_ins (token_hash, user_id, way, device, expires_at)
     SELECT sha256(n::text::bytea), a.user_id, 'password', 'another', now() + interval '1 day'
       FROM generate_series(1, 98) AS n, sign_in.accounts a JOIN users USING (user_id) WHERE email = '${email}'`,
  );
  const last = openTestBrowser(node.baseUrl);
  assert.equal((await signIn(last, email)).status, 200);
  assert.equal((await browser.send("/api/sign-in")).status, 200);
  assert.equal((await signIn(openTestBrowser(node.baseUrl), email)).status, 200);
  assert.equal((await browser.send("/api/sign-in")).status, 401);
  assert.equal((await last.send("/api/sign-in")).status, 200);
});

test("a changed password ends every other sign-in", async () => {
  const email = newEmail();
  const browser = await joinAs(email);
  const second = openTestBrowser(node.baseUrl);
  assert.equal((await signIn(second, email)).status, 200);
  const wrong = await browser.send("/api/sign-in/change-password", {
    password: "not this one at all",
    newPassword: "a new and longer one",
  });
  assert.equal(wrong.status, 401);
  const short = await browser.send("/api/sign-in/change-password", {
    password,
    newPassword: "short",
  });
  assert.equal(short.status, 400);
  const changed = await browser.send("/api/sign-in/change-password", {
    password,
    newPassword: "a new and longer one",
  });
  assert.deepEqual([changed.status, changed.body["passkeys"]], [200, 0]);
  assert.equal((await browser.call(acme.organizationId, "whoami")).status, 200);
  assert.equal((await second.call(acme.organizationId, "whoami")).status, 401);
  assert.equal((await signIn(openTestBrowser(node.baseUrl), email)).status, 401);
  const again = await signIn(openTestBrowser(node.baseUrl), email, "a new and longer one");
  assert.equal(again.status, 200);
});

test("a changed password keeps the passkeys, unless the person removes them with it", async () => {
  const email = newEmail();
  const browser = await joinAs(email);
  await ownerSql(
    service.url,
    `INSERT INTO sign_in.passkeys (credential_id, user_id, public_key, counter, transports, device)
     SELECT 'kept ' || n, user_id, '\\x00', 0, '{}', 'phone' FROM users, generate_series(1, 2) n WHERE email = '${email}'`,
  );
  const change = async (more: object) =>
    (
      await browser.send("/api/sign-in/change-password", {
        password,
        newPassword: password,
        ...more,
      })
    ).body["passkeys"];
  assert.equal(await change({}), 2);
  assert.equal(await change({ removePasskeys: true }), 0);
  const left = await ownerSql(
    service.url,
    "SELECT FROM sign_in.passkeys WHERE credential_id LIKE 'kept%'",
  );
  assert.equal(left.length, 0);
});

test("wrong passwords lock out neither the person's own browser nor show which accounts exist", async () => {
  const email = newEmail();
  const browser = await joinAs(email);
  const tries = async (address: string) => {
    const statuses = [];
    for (let i = 0; i < 12; i++) {
      const guess = `guess number ${i} of many`;
      statuses.push((await signIn(openTestBrowser(node.baseUrl), address, guess)).status);
    }
    return statuses;
  };
  const guessed = await tries(email);
  assert.deepEqual(guessed, [...Array(10).fill(401), 429, 429]);
  const missing = newEmail();
  assert.deepEqual(await tries(missing), guessed);
  // Another node answers both in the same way.
  for (const address of [email, missing]) {
    const there = await signIn(openTestBrowser(other.baseUrl), address, "one more guess of many");
    assert.equal(there.status, 429, address);
  }
  // Not even the right password helps an unknown browser now; the person's own browser is not concerned.
  assert.equal((await signIn(openTestBrowser(node.baseUrl), email)).status, 429);
  assert.equal((await signIn(browser, email)).status, 200);
  const guessedAtOnce = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      signIn(openTestBrowser(node.baseUrl), "nobody@else.example", `guess number ${i} at once`),
    ),
  );
  assert.equal(guessedAtOnce.filter(({ status }) => status === 401).length, 10);
});

test("a right password that found no place is not counted as wrong", async () => {
  const email = newEmail();
  await joinAs(email);
  const attempt = (address: string) => signIn(openTestBrowser(node.baseUrl), address);
  const refused = [];
  for (let round = 0; round < 4; round++) {
    const flood = Array.from({ length: 60 }, (_, each) =>
      attempt(`${round}.${each}@flood.example`),
    );
    const own = Array.from({ length: 8 }, () => attempt(email));
    refused.push(...(await Promise.all(own)).filter(({ status }) => status === 429));
    await Promise.all(flood);
  }
  assert.ok(refused.length >= 10, `${refused.length} of 32 found no place`);
  assert.equal((await attempt(email)).status, 200);
});

test("strangers with made-up invitations cause no work with passwords", async () => {
  const accept = () => {
    const invitation = makeSecretText("hwi");
    const body = { invitation, password };
    return openTestBrowser(node.baseUrl).send("/api/sign-in/invitations/accept", body);
  };
  const replies = await Promise.all(Array.from({ length: 80 }, accept));
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [404]);
});

test("a dump of the database has no password, cookie or invitation that can be used", async () => {
  const browser = await joinAs(newEmail());
  const secret = await invite(newEmail());
  const token = browser.cookies.get("__Host-hawser_session")!;
  const tables = await ownerSql<{ name: string }>(
    service.url,
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
      WHERE table_type = 'BASE TABLE' AND table_schema IN ('public', 'sign_in')`,
  );
  assert.ok(tables.some(({ name }) => name === "sign_in.sign_ins"));
  for (const { name } of tables) {
    const rows = await ownerSql<{ text: string }>(
      service.url,
      `SELECT coalesce(string_agg(t::text, ' '), '') AS text FROM ${name} t`,
    );
    for (const each of [password, token, secret]) {
      assert.ok(!rows[0]!.text.includes(each), name);
      const hex = Buffer.from(each).toString("hex");
      assert.ok(!rows[0]!.text.includes(hex), name);
    }
  }
});

test("neither callers nor the system's own statements can read accounts and sign-ins", async () => {
  for (const role of ["hawser_app", "hawser_system"]) {
    for (const table of ["accounts", "sign_ins"]) {
      await assert.rejects(
        ownerSql(service.url, `SET ROLE ${role}; SELECT * FROM sign_in.${table}`),
        /permission denied/,
      );
    }
  }
});
