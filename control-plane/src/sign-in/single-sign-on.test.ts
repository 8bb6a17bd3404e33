// Single sign-on at real nodes with real OpenID Connect providers: settings, who signs in as whom, and what attackers
// try (T21, N23).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import type { OidcPerson, OidcProvider } from "@hawser/testkit/oidc-provider.ts";
import { makeKey } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { startScriptedIssuer, type ScriptedIssuer } from "@hawser/testkit/scripted-issuer.ts";
import {
  openTestBrowser,
  type Reply,
  type TestBrowser,
} from "@hawser/testkit/signed-in-browser.ts";
import {
  bedPassword,
  startSingleSignOnBed,
  type SingleSignOnBed,
} from "@hawser/testkit/single-sign-on-bed.ts";
import { createCaller } from "@hawser/testkit/caller.ts";
import { until } from "@hawser/testkit/until.ts";
import { makeSignInLink } from "./links.ts";

let bed: SingleSignOnBed;
let idp: OidcProvider;
let evil: OidcProvider;

before(async () => {
  bed = await startSingleSignOnBed();
  idp = await bed.startProvider();
  evil = await bed.startProvider();
  // An owner who can sign in without the provider: only then the provider of others can be changed (decision 0090).
  await bed.join("break-glass@globex.example", "owner", bed.globex);
});
after(() => bed[Symbol.asyncDispose]());

const groupsOf = (...names: [group: string, role: string][]) => ({
  groupsClaim: "groups",
  groupRoles: names.map(([group, role]) => ({ group, role })),
});

let people = 0;
/** Somebody whom the provider knows. */
function person({ groups = ["engineers"], ...claims }: Record<string, unknown> = {}): OidcPerson {
  const subject = `person-${++people}`;
  const email = `${subject}@people.example`;
  return { subject, claims: { email, email_verified: true, name: "Pat", groups, ...claims } };
}
const emailOf = ({ claims }: OidcPerson) => claims["email"] as string;

const codeOf = ({ body }: Reply) => (body["error"] as { code?: string } | undefined)?.code;
const fieldsOf = ({ body }: Reply) =>
  (body["error"] as { fields?: { field: string }[] }).fields?.map(({ field }) => field);

async function whoami(browser: TestBrowser, organization = bed.acme) {
  const reply = await browser.call(organization.organizationId, "whoami");
  if (reply.status !== 200) return reply.status;
  const { user, permissions } = reply.body["result"] as {
    user: { userId: string };
    permissions: string[];
  };
  return { userId: user.userId, permissions };
}

async function mustReach(browser: TestBrowser) {
  const me = await whoami(browser);
  if (typeof me === "number") assert.fail(`answered ${me}`);
  return me;
}

const codeOfTry = ({ body }: { body: unknown }) =>
  (body as { error?: { code: string } }).error?.code;

/** Gives the account these passkeys instead of its password. */
const usePasskeysOnly = (email: string, ids: string[]) =>
  ownerSql(
    bed.service.url,
    `UPDATE sign_in.accounts a SET password_hash = NULL FROM users u
      WHERE u.user_id = a.user_id AND u.email = '${email}';
     INSERT INTO sign_in.passkeys (credential_id, user_id, public_key, counter, transports, device)
     SELECT unnest('{${ids.join(",")}}'::text[]), user_id, '\\x00', 0, '{}', 'phone' FROM users WHERE email = '${email}'`,
  );

const audited = async (action: string) =>
  (await bed.keys().list_audit_entries({ limit: 50 })).entries.find(
    (each) => each.action === action,
  );

test("an organization has no provider until an owner sets one", async () => {
  const { organizationId } = bed.acme;
  const path = `/api/sign-in/ways?organization=${organizationId}`;
  const before = await bed.keys().get_sign_in_settings({});
  assert.deepEqual([before.issuer, before.required, before.testedAt], [null, false, null]);
  assert.match(before.redirectUri, new RegExp(`/api/sign-in/provider/callback/${organizationId}$`));
  const ways = async () => (await bed.browser().send(path)).body;
  assert.deepEqual(await ways(), { provider: false, required: false });
  const begun = await bed.browser().send("/api/sign-in/provider/begin", { organizationId });
  assert.deepEqual([begun.status, codeOf(begun)], [404, "not_found"]);

  await bed.configure(idp, groupsOf(["engineers", "member"], ["guests", "viewer"]));
  const settings = await bed.keys().get_sign_in_settings({});
  assert.deepEqual([settings.issuer, settings.clientId], [idp.issuer, idp.clientId]);
  assert.doesNotMatch(JSON.stringify(settings), new RegExp(idp.clientSecret));
  assert.deepEqual(await ways(), { provider: true, required: false });
  const unknown = await bed.browser().send("/api/sign-in/ways?organization=org_x");
  assert.deepEqual(unknown.body, { provider: false, required: false });
});

test("settings are refused with the field that is wrong", async () => {
  const browser = await bed.join("settings@people.example", "owner");
  const update = (input: object) =>
    browser.call(bed.acme.organizationId, "update_sign_in_settings", input);
  const { clientId, clientSecret } = idp;
  const provider = { clientId, clientSecret };
  const cases: [object, string, string][] = [
    [{ issuer: "no address", ...provider }, "provider_failed", "issuer"],
    [{ issuer: "http://10.0.0.1", ...provider }, "provider_failed", "issuer"],
    [{ issuer: `${idp.issuer}/other`, ...provider }, "provider_failed", "issuer"],
    [{ issuer: evil.issuer }, "invalid_input", "clientSecret"],
    [{ clientId: "another" }, "invalid_input", "clientSecret"],
    [{ groupRoles: [{ group: "x", role: "missing" }] }, "invalid_input", "groupRoles[0].role"],
    [{ required: true }, "provider_untested", "required"],
    [{ issuer: null, required: false }, "invalid_input", "required"],
  ];
  for (const [input, code, field] of cases) {
    const reply = await update(input);
    assert.deepEqual([codeOf(reply), fieldsOf(reply)], [code, [field]], JSON.stringify(input));
  }
  for (const id of [bed.globex.userId, "usr_x"]) {
    const stranger = await update({ exceptUserIds: [id] });
    assert.deepEqual([stranger.status, codeOf(stranger)], [404, "not_found"]);
  }
  // None of these has changed anything.
  assert.equal((await bed.keys().get_sign_in_settings({})).issuer, idp.issuer);
});

test("settings need every permission, and a fresh sign-in (N27)", async () => {
  const key = await makeKey(bed.service.database, bed.acme.organizationId, [
    "access:edit",
    "access:view",
  ]);
  const narrow = createCaller(bed.nodes[0].baseUrl, key);
  const refused = await narrow.try("update_sign_in_settings", { groupRoles: [] });
  assert.equal(refused.status, 403);

  const owner = await bed.join("stale@people.example", "owner");
  await ownerSql(
    bed.service.url,
    "UPDATE sign_in.sign_ins SET authenticated_at = now() - interval '6 minutes'",
  );
  const stale = await owner.call(bed.acme.organizationId, "update_sign_in_settings", {});
  assert.deepEqual([stale.status, codeOf(stale)], [403, "sign_in_again"]);
});

test("a person with a mapped group becomes a member, and signs in again as the same one", async () => {
  const pat = person();
  const browser = bed.browser();
  assert.equal(await bed.signIn(browser, idp, pat), "/");
  const me = await mustReach(browser);
  assert.ok(me.permissions.includes("sessions:edit") && !me.permissions.includes("access:view"));
  assert.equal((await audited("join_by_group"))?.actor.id, me.userId);
  const cookie = browser.cookies.get("__Host-hawser_session");
  assert.match(cookie!, /^hwo_/);
  assert.equal(browser.cookies.has("__Host-hawser_state"), false);
  assert.equal(browser.cookies.has("__Host-hawser_known"), false);
  assert.notEqual((await bed.keys().get_sign_in_settings({})).testedAt, null);

  const again = bed.browser();
  assert.equal(await bed.signIn(again, idp, pat), "/");
  assert.equal((await mustReach(again)).userId, me.userId);
  // A changed address is still the same person.
  const renamed = { ...pat, claims: { ...pat.claims, email: "renamed@people.example" } };
  assert.equal(await bed.signIn(again, idp, renamed), "/");
  assert.equal((await mustReach(again)).userId, me.userId);
});

test("N23: whoever has no group, no verified address or a member's address is not invited", async () => {
  const victim = await bed.join("victim@people.example");
  const cases: OidcPerson[] = [
    person({ groups: [] }),
    person({ groups: ["strangers"] }),
    person({ email_verified: false }),
    person({ email: undefined }),
    person({ email: "no address" }),
    person({ email: "victim@people.example" }),
    person({ email: "VICTIM@people.example" }),
    person({ email: "ada@acme.example" }),
  ];
  for (const each of cases) {
    const browser = bed.browser();
    const led = await bed.signIn(browser, idp, each);
    assert.equal(led, "/sign-in?error=not_invited", JSON.stringify(each.claims));
    assert.equal(browser.cookies.has("__Host-hawser_session"), false);
  }
  await mustReach(victim);
});

test("N23: a second provider that asserts known subjects and addresses signs in as none of them", async () => {
  const pat = person();
  const browser = bed.browser();
  await bed.signIn(browser, idp, pat);
  const { userId } = await mustReach(browser);
  await bed.configure(evil, {}, bed.globex);
  const more = { organizationId: bed.globex.organizationId };
  const elsewhere = bed.browser();
  assert.equal(await bed.signIn(elsewhere, evil, pat, more), "/sign-in?error=not_invited");
  await bed.configure(evil, groupsOf(["engineers", "owner"]), bed.globex);
  assert.equal(await bed.signIn(elsewhere, evil, pat, more), "/");
  // An owner of Globex who asserts the address gets a member of Globex, and nothing at Acme.
  const me = await whoami(elsewhere, bed.globex);
  assert.ok(typeof me === "object");
  assert.equal(me.userId, userId);
  assert.equal(await whoami(elsewhere), 401);
  const shown = (await elsewhere.send("/api/sign-in")).body;
  assert.deepEqual(
    (shown["organizations"] as { name: string }[]).map(({ name }) => name),
    ["Globex"],
  );
});

test("a provider's sign-in does nothing with the account", async () => {
  const email = "both@people.example";
  const account = await bed.join(email);
  const pat = person({ email });
  assert.equal(await bed.signIn(account, idp, pat, { connect: true }), "/");
  const browser = bed.browser();
  assert.equal(await bed.signIn(browser, idp, pat), "/");
  assert.equal((await mustReach(browser)).userId, account.userId);
  const shown = (await browser.send("/api/sign-in")).body;
  assert.deepEqual(
    [shown["isOfProvider"], shown["hasPassword"], shown["passkeys"]],
    [true, false, []],
  );
  const requests: [string, object][] = [
    ["confirm", { password: bedPassword }],
    ["change-password", { password: bedPassword, newPassword: "another long password" }],
    ["passkeys/begin", {}],
    ["passkeys/add", { response: {} }],
    ["passkeys/remove", { passkeyId: "x" }],
    ["provider/begin", { organizationId: bed.acme.organizationId, connect: true }],
  ];
  for (const [path, body] of requests) {
    const reply = await browser.send(`/api/sign-in/${path}`, body);
    assert.deepEqual([reply.status, codeOf(reply)], [403, "forbidden"], path);
  }
  const { organizationId } = bed.acme;
  for (const [action, input] of [
    ["list_sign_ins", {}],
    ["revoke_sign_in", { signInId: "sgn_x" }],
    ["create_device_sign_in", {}],
    ["confirm_device_sign_in", { digits: "1234" }],
  ] as const) {
    assert.equal((await browser.call(organizationId, action, input)).status, 403, action);
  }
  // Nor does a key that was made with it.
  const made = await browser.call(organizationId, "create_api_key", {
    name: "mine",
    scope: "user",
    permissions: (await mustReach(browser)).permissions,
  });
  const { key } = made.body["result"] as { key: string };
  const caller = createCaller(bed.nodes[0].baseUrl, key);
  assert.equal((await caller.try("list_sign_ins", {})).status, 403);
  // The account sees the sign-in, and ends it.
  const listed = await account.call(organizationId, "list_sign_ins");
  const { signIns } = listed.body["result"] as { signIns: { way: string; signInId: string }[] };
  const { signInId } = signIns.find(({ way }) => way === "provider")!;
  assert.equal((await account.call(organizationId, "revoke_sign_in", { signInId })).status, 200);
  assert.equal(await whoami(browser), 401);
});

test("an invitation is accepted with the provider if both name the same address", async () => {
  const invited = person({ groups: [] });
  const { url } = await bed.keys().create_invitation({ email: emailOf(invited), role: "viewer" });
  const invitation = new URL(url).hash.slice(1);
  const shown = await bed.browser().send("/api/sign-in/invitations/read", { invitation });
  assert.equal(shown.body["organizationId"], bed.acme.organizationId);
  const others = [
    person({ groups: [] }),
    person({ email: emailOf(invited), email_verified: false }),
  ];
  for (const other of others) {
    const led = await bed.signIn(bed.browser(), idp, other, { invitation });
    assert.equal(led, "/sign-in?error=other_address");
  }
  const browser = bed.browser();
  assert.equal(await bed.signIn(browser, idp, invited, { invitation }), "/");
  const me = await mustReach(browser);
  assert.deepEqual(me.permissions, ["instances:view", "sessions:view"]);
  assert.equal((await audited("accept_invitation"))?.actor.id, me.userId);
  const used = await bed.browser().send("/api/sign-in/invitations/read", { invitation });
  assert.equal(used.status, 404);
  // Whoever invites the member cannot get an account for them.
  const next = await bed.keys().create_invitation({ email: emailOf(invited), role: "viewer" });
  const body = { invitation: new URL(next.url).hash.slice(1), password: bedPassword };
  const taken = await bed.browser().send("/api/sign-in/invitations/accept", body);
  assert.deepEqual([taken.status, fieldsOf(taken)], [403, ["key"]]);
});

test("N23: an invitation lets nobody sign in as a member who could act before", async () => {
  const member = person({ groups: [] });
  const account = await bed.join(emailOf(member));
  const { url } = await bed.keys().create_invitation({ email: emailOf(member), role: "member" });
  const more = { invitation: new URL(url).hash.slice(1) };
  const led = await bed.signIn(bed.browser(), idp, member, more);
  assert.equal(led, "/sign-in?error=connect_first");
  const connected = await bed.signIn(account, idp, member, { connect: true });
  assert.equal(connected, "/");
  assert.equal((await audited("connect_provider"))?.actor.id, account.userId);
  // The browser is still signed in with the account.
  assert.equal((await account.send("/api/sign-in")).body["isOfProvider"], false);
  const other = await bed.join("connects-too@people.example");
  const taken = await bed.signIn(other, idp, member, { connect: true });
  assert.equal(taken, "/sign-in?error=connected_already");
});

test("T21: connecting needs the same fresh account before and after", async () => {
  const pat = person();
  const account = await bed.join("connects@people.example");
  const other = await bed.join("elsewhere@people.example");
  const callback = await bed.leave(account, idp, pat, { connect: true });
  const mixed = openTestBrowser(
    bed.nodes[0].baseUrl,
    new Map([
      ...other.cookies,
      ["__Host-hawser_state", account.cookies.get("__Host-hawser_state")!],
    ]),
  );
  const reply = await bed.comeBack(mixed, callback);
  assert.equal(reply.headers.get("location"), "/sign-in?error=other_account");
  const begin = (browser: TestBrowser) =>
    browser.send("/api/sign-in/provider/begin", {
      organizationId: bed.acme.organizationId,
      connect: true,
    });
  assert.equal((await begin(bed.browser())).status, 401);
  await ownerSql(
    bed.service.url,
    "UPDATE sign_in.sign_ins SET authenticated_at = now() - interval '6 minutes'",
  );
  assert.equal(codeOf(await begin(account)), "sign_in_again");
});

test("a sign-in that a changed role has ended connects no provider (N26)", async () => {
  const account = await bed.join("promoted@people.example", "viewer");
  const begun = await bed.leave(account, idp, person(), { connect: true });
  await bed.keys().update_member({ userId: account.userId, role: "owner" });
  const reply = await bed.comeBack(account, begun);
  assert.equal(reply.headers.get("location"), "/sign-in?error=expired");
  const body = { organizationId: bed.acme.organizationId, connect: true };
  const begin = () => account.send("/api/sign-in/provider/begin", body);
  assert.equal(codeOf(await begin()), "sign_in_again");
  await account.send("/api/sign-in/confirm", { password: bedPassword });
  assert.equal((await begin()).status, 200);
});

test("T21: a callback counts once, and only in the browser that began", async () => {
  const browser = bed.browser();
  const callback = await bed.leave(browser, idp, person());
  const state = new Map(browser.cookies);
  const expired = "/sign-in?error=expired";
  const led = async (at: TestBrowser, to = callback) =>
    (await bed.comeBack(at, to)).headers.get("location");
  const asked = idp.paths.filter((path) => path === "/token").length;
  const changed = (change: (url: URL) => void) => {
    const url = new URL(callback);
    change(url);
    return url;
  };
  const withState = () => openTestBrowser(bed.nodes[0].baseUrl, new Map(state));
  assert.equal(await led(bed.browser()), expired, "without the cookie");
  const another = changed((url) => url.searchParams.set("state", "x".repeat(43)));
  assert.equal(await led(withState(), another), expired, "with another state");
  const ofGlobex = changed((url) => {
    url.pathname = url.pathname.replace(bed.acme.organizationId, bed.globex.organizationId);
  });
  assert.equal(await led(withState(), ofGlobex), expired, "at another organization's address");
  const sealed = state.get("__Host-hawser_state")!;
  const other = sealed.startsWith("A") ? "B" : "A";
  const forged = new Map([["__Host-hawser_state", other + sealed.slice(1)]]);
  assert.equal(await led(openTestBrowser(bed.nodes[0].baseUrl, forged)), expired, "forged");
  assert.equal(idp.paths.filter((path) => path === "/token").length, asked, "no code was sent");

  assert.equal(await led(browser), "/");
  await mustReach(browser);
  for (const { baseUrl } of bed.nodes) {
    const replayed = openTestBrowser(baseUrl, new Map(state));
    assert.equal(await led(replayed), expired, "a second time");
    assert.equal(replayed.cookies.has("__Host-hawser_session"), false);
  }
});

test("a new person who signs in with two browsers at once becomes one member", async () => {
  const pat = person();
  const browsers = [bed.browser(), bed.browser(), bed.browser()];
  const callbacks = await Promise.all(browsers.map((browser) => bed.leave(browser, idp, pat)));
  const led = await Promise.all(
    browsers.map((browser, at) => bed.comeBack(browser, callbacks[at]!)),
  );
  assert.deepEqual(
    led.map(({ headers }) => headers.get("location")),
    ["/", "/", "/"],
  );
  const ids = await Promise.all(browsers.map(async (browser) => (await mustReach(browser)).userId));
  assert.equal(new Set(ids).size, 1);
});

test("T21: of ten browsers with one state, one is signed in", async () => {
  const browser = bed.browser();
  const callback = await bed.leave(browser, idp, person());
  const led = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const copy = openTestBrowser(bed.nodes[0].baseUrl, new Map(browser.cookies));
      return (await bed.comeBack(copy, callback)).headers.get("location");
    }),
  );
  assert.equal(led.filter((each) => each === "/").length, 1);
  assert.equal(led.filter((each) => each === "/sign-in?error=expired").length, 9);
});

test("T21: a code or issuer of another provider is refused", async () => {
  const pat = person();
  const browser = bed.browser();
  const ours = await bed.leave(browser, idp, pat);
  ours.searchParams.set("iss", evil.issuer);
  const reply = await bed.comeBack(browser, ours);
  assert.equal(reply.headers.get("location"), "/sign-in?error=answer_unverified");

  const mixed = bed.browser();
  const callback = await bed.leave(mixed, idp, pat);
  const other = bed.browser();
  const theirs = await bed.leave(other, evil, pat, { organizationId: bed.globex.organizationId });
  callback.searchParams.set("code", theirs.searchParams.get("code")!);
  const refused = await bed.comeBack(mixed, callback);
  assert.equal(refused.headers.get("location"), "/sign-in?error=grant_refused");
});

/** The answer of a lying provider to a browser that is sent to it. */
async function signInWithClaims(
  issuer: ScriptedIssuer,
  change: (claims: Record<string, unknown>) => object,
  more: object = {},
) {
  const browser = bed.browser();
  const body = { organizationId: bed.globex.organizationId, ...more };
  const begun = await browser.send("/api/sign-in/provider/begin", body);
  const { searchParams } = new URL(begun.body["url"] as string);
  const now = Math.floor(Date.now() / 1000);
  const { subject, claims } = person();
  const right = {
    ...claims,
    iss: issuer.issuer,
    aud: "hawser",
    sub: subject,
    nonce: searchParams.get("nonce"),
    iat: now,
    exp: now + 60,
  };
  issuer.answers.token = () => ({
    access_token: "access",
    token_type: "bearer",
    id_token: issuer.signToken(change(right)),
  });
  const callback = new URL(searchParams.get("redirect_uri")!);
  callback.searchParams.set("code", "code");
  callback.searchParams.set("state", searchParams.get("state")!);
  const reply = await bed.comeBack(browser, callback);
  return { browser, led: reply.headers.get("location") };
}

test("T21: a wrong issuer, audience, nonce or time of an id token signs nobody in", async () => {
  await using liar = await startScriptedIssuer();
  const provider = { issuer: liar.issuer, clientId: "hawser", clientSecret: "secret" };
  await bed.keys(bed.globex).update_sign_in_settings({
    ...provider,
    ...groupsOf(["engineers", "owner"]),
  });
  const unverified = "/sign-in?error=answer_unverified";
  const wrong: Record<string, unknown>[] = [
    { iss: idp.issuer },
    { aud: idp.clientId === "hawser" ? "another" : idp.clientId },
    { nonce: "another" },
    { nonce: undefined },
    { exp: Math.floor(Date.now() / 1000) - 600 },
    { sub: undefined },
  ];
  for (const change of wrong) {
    const { browser, led } = await signInWithClaims(liar, (right) => ({ ...right, ...change }));
    assert.equal(led, unverified, JSON.stringify(change));
    assert.equal(browser.cookies.has("__Host-hawser_session"), false);
  }
  // A sign-in at the provider that was long ago is a sign-in here, and no fresh one (N27).
  const at = { auth_time: Math.floor(Date.now() / 1000) - 3_600 };
  const { browser, led } = await signInWithClaims(liar, (right) => ({ ...right, ...at }));
  assert.equal(led, "/");
  const { organizationId } = bed.globex;
  assert.equal((await browser.call(organizationId, "list_members")).status, 200);
  const stale = await browser.call(organizationId, "update_sign_in_settings", {});
  assert.equal(codeOf(stale), "sign_in_again");
});

test("N23: what the database or another alphabet would make equal is not equal", async () => {
  await using liar = await startScriptedIssuer();
  const provider = { issuer: liar.issuer, clientId: "hawser", clientSecret: "secret" };
  const keys = bed.keys(bed.globex);
  await keys.update_sign_in_settings({ ...provider, ...groupsOf(["engineers", "member"]) });
  // PostgreSQL would store both as U+FFFD.
  for (const sub of ["\ud800", "\udfff"]) {
    const { led } = await signInWithClaims(liar, (right) => ({ ...right, sub }));
    assert.equal(led, "/sign-in?error=answer_unverified");
  }
  // JavaScript makes a "k" of the Kelvin sign.
  const email = "kim@people.example";
  const { url } = await keys.create_invitation({ email, role: "owner" });
  const invitation = new URL(url).hash.slice(1);
  const asKelvin = (right: object) => ({ ...right, groups: [], email: "\u212aim@people.example" });
  const lied = await signInWithClaims(liar, asKelvin, { invitation });
  assert.equal(lied.led, "/sign-in?error=other_address");
  const right = await signInWithClaims(
    liar,
    (claims) => ({ ...claims, email: "Kim@people.example" }),
    {
      invitation,
    },
  );
  assert.equal(right.led, "/");
  // No time of a database: as if the provider did not say when.
  const late = await signInWithClaims(liar, (claims) => ({ ...claims, auth_time: 1e15 }));
  assert.equal(late.led, "/");
});

test("a person who refuses at the provider is led back with a code", async () => {
  assert.equal(await bed.signIn(bed.browser(), idp, null), "/sign-in?error=sign_in_denied");
});

test("groups decide the role at each sign-in, and a lost group ends it", async () => {
  const pat = person();
  const browser = bed.browser();
  await bed.signIn(browser, idp, pat);
  const { userId } = await mustReach(browser);
  const withGroups = (...groups: string[]) => ({ ...pat, claims: { ...pat.claims, groups } });
  const former = openTestBrowser(bed.nodes[1].baseUrl, new Map(browser.cookies));
  assert.equal(await bed.signIn(bed.browser(), idp, withGroups("guests", "others")), "/");
  const roleOf = async () =>
    (await bed.keys().list_members({ limit: 200 })).members.find((each) => each.userId === userId)!
      .role;
  assert.equal(await roleOf(), "viewer");
  assert.equal((await audited("change_role_by_group"))?.records["userId"], userId);
  // As after every change of a role, the other browsers sign in again.
  assert.equal(await whoami(former), 401);
  assert.equal(await bed.signIn(browser, idp, withGroups("others")), "/sign-in?error=no_group");
  assert.equal(await roleOf(), "viewer");
  assert.equal(await bed.signIn(browser, idp, withGroups("guests", "engineers")), "/");
  assert.equal(await roleOf(), "member");
});

test("groups never demote the only owner, nor an excepted one", async () => {
  const { globex } = bed;
  const more = { organizationId: globex.organizationId };
  const keys = bed.keys(globex);
  const owner = person();
  const made = await keys.create_invitation({ email: emailOf(owner), role: "owner" });
  const invitation = new URL(made.url).hash.slice(1);
  await bed.configure(evil, groupsOf(["nobodies", "viewer"]), globex);
  const browser = bed.browser();
  assert.equal(await bed.signIn(browser, evil, owner, { ...more, invitation }), "/");
  const me = await whoami(browser, globex);
  assert.ok(typeof me === "object");
  await keys.update_sign_in_settings({
    ...groupsOf(["engineers", "viewer"]),
    exceptUserIds: [me.userId],
  });
  assert.equal(await bed.signIn(browser, evil, owner, more), "/");
  const rolesOf = async () =>
    (await keys.list_members({})).members
      .filter(({ role }) => role === "owner")
      .map((each) => each.userId);
  assert.ok((await rolesOf()).includes(me.userId));
  await keys.update_sign_in_settings({ exceptUserIds: [] });
  for (const userId of await rolesOf()) {
    if (userId !== me.userId) await keys.update_member({ userId, role: "viewer" });
  }
  assert.equal(await bed.signIn(browser, evil, owner, more), "/");
  assert.deepEqual(await rolesOf(), [me.userId]);
});

test("what could lock out owners who sign in with the provider only is refused", async () => {
  const { globex, service, nodes } = bed;
  const keys = bed.keys(globex);
  const { identities } = await keys.list_connected_identities({});
  const { members } = await keys.list_members({});
  const owner = members.find(({ role }) => role === "owner")!;
  const connected = identities.find(({ userId }) => userId === owner.userId)!;
  assert.equal(connected.issuer, evil.issuer);
  const { userId, issuer, subject } = connected;
  const codes = async () => [
    codeOfTry(await keys.try("update_sign_in_settings", { clientSecret: evil.clientSecret })),
    codeOfTry(await keys.try("update_sign_in_settings", { groupRoles: [] })),
    codeOfTry(await keys.try("update_sign_in_settings", { issuer: null })),
    codeOfTry(await keys.try("remove_connected_identity", { userId, issuer, subject })),
  ];
  assert.deepEqual(await codes(), Array(4).fill("last_owner"));
  // A group that is lost at the provider ends the access all the same (T19), and an operator's link is the way back.
  await ownerSql(service.url, "UPDATE sign_in.identities SET group_role = 'owner'");
  await ownerSql(service.url, "UPDATE sign_in_settings SET tested_at = hawser_now()");
  const lost = { subject, claims: { email: owner.email, email_verified: true, groups: [] } };
  const more = { organizationId: globex.organizationId };
  assert.equal(await bed.signIn(bed.browser(), evil, lost, more), "/sign-in?error=no_group");
  const accounts = service.database.connectionsFor("accounts");
  const { baseUrl } = nodes[0];
  const { url } = await makeSignInLink(accounts, { email: owner.email, baseUrl });
  const browser = bed.browser();
  const link = new URL(url).hash.slice(1);
  const opened = await browser.send("/api/sign-in/first", { link, password: bedPassword });
  assert.equal(opened.status, 200, JSON.stringify(opened.body));
  assert.ok(typeof (await whoami(browser, globex)) === "object");
  assert.deepEqual(await codes(), Array(4).fill(undefined));
});

test("connected identities are listed, and a removed one signs nobody in on any node", async () => {
  const pat = person();
  const browser = bed.browser();
  await bed.signIn(browser, idp, pat);
  const { userId } = await mustReach(browser);
  const keys = bed.keys();
  const { subject } = pat;
  const list = async (input: object) => (await keys.list_connected_identities(input)).identities;
  const [mine] = await list({ userId });
  assert.deepEqual(
    { ...mine, connectedAt: "" },
    { userId, issuer: idp.issuer, subject, groupRole: "member", connectedAt: "" },
  );
  const all = await list({ limit: 200 });
  const [first, second] = [
    await list({ limit: 1 }),
    await keys.list_connected_identities({ limit: 1 }),
  ];
  const next = await list({ limit: 1, cursor: second.nextCursor });
  assert.deepEqual([...first, ...next], all.slice(0, 2));
  assert.ok(!(await bed.keys(bed.globex).list_connected_identities({ limit: 200 })).identities.some((each) => each.userId === userId)); // oxfmt-ignore
  assert.equal(codeOfTry(await bed.keys(bed.globex).try("list_connected_identities", { userId })), "not_found"); // oxfmt-ignore

  const there = openTestBrowser(bed.nodes[1].baseUrl, new Map(browser.cookies));
  await mustReach(there);
  const removal = { userId, issuer: idp.issuer, subject };
  const other = { ...removal, issuer: evil.issuer };
  assert.equal(codeOfTry(await keys.try("remove_connected_identity", other)), "not_found");
  const narrow = createCaller(
    bed.nodes[0].baseUrl,
    await makeKey(bed.service.database, bed.acme.organizationId, ["access:edit"]),
  );
  assert.equal(codeOfTry(await narrow.try("remove_connected_identity", removal)), "forbidden");
  await keys.remove_connected_identity(removal);
  assert.equal(await whoami(browser), 401);
  await until("the sign-in has ended", async () => (await whoami(there)) === 401);
  assert.equal(await bed.signIn(browser, idp, pat), "/sign-in?error=not_invited");
  assert.deepEqual(await list({ userId }), []);
  assert.equal(codeOfTry(await keys.try("remove_connected_identity", removal)), "not_found");
});

test("only owners are excepted from groups: not one who was demoted, nor one who was removed", async () => {
  const boss = person({ groups: ["owners"] });
  const browser = bed.browser();
  const keys = bed.keys();
  await keys.update_sign_in_settings(
    groupsOf(["owners", "owner"], ["engineers", "member"], ["guests", "viewer"]),
  );
  assert.equal(await bed.signIn(browser, idp, boss), "/");
  const { userId } = await mustReach(browser);
  await keys.update_sign_in_settings({ exceptUserIds: [userId] });
  const withGroups = (...groups: string[]) => ({ ...boss, claims: { ...boss.claims, groups } });
  assert.equal(await bed.signIn(browser, idp, withGroups()), "/");
  await keys.update_member({ userId, role: "member" });
  assert.equal(await bed.signIn(browser, idp, withGroups()), "/sign-in?error=no_group");
  assert.equal(await bed.signIn(browser, idp, withGroups("guests")), "/");
  const { permissions } = await mustReach(browser);
  assert.deepEqual(permissions.toSorted(), ["instances:view", "sessions:view"]);

  await keys.remove_member({ userId });
  const { exceptUserIds } = await keys.get_sign_in_settings({});
  assert.deepEqual(exceptUserIds, []);
});

test("a removed member's sign-in stays ended when the person becomes a member again", async () => {
  const keys = bed.keys();
  const pat = person();
  const stolen = bed.browser();
  assert.equal(await bed.signIn(stolen, idp, pat), "/");
  const { userId } = await mustReach(stolen);
  await keys.remove_member({ userId });
  const { url } = await keys.create_invitation({ email: emailOf(pat), role: "owner" });
  const again = { subject: `${pat.subject}-again`, claims: { ...pat.claims, groups: [] } };
  const browser = bed.browser();
  const more = { invitation: new URL(url).hash.slice(1) };
  assert.equal(await bed.signIn(browser, idp, again, more), "/");
  assert.equal((await mustReach(browser)).userId, userId);
  const elsewhere = openTestBrowser(bed.nodes[1].baseUrl, stolen.cookies);
  assert.deepEqual([await whoami(stolen), await whoami(elsewhere)], [401, 401]);
});

test("T19: a changed secret or client ends the sign-ins, and other changes do not", async () => {
  const browser = bed.browser();
  const pat = person();
  await bed.signIn(browser, idp, pat);
  await mustReach(browser);
  const begun = bed.browser();
  const begunCallback = await bed.leave(begun, idp, pat);
  await bed.keys().update_sign_in_settings({ groupsClaim: "groups" });
  await mustReach(browser);
  await bed.keys().update_sign_in_settings({ clientSecret: idp.clientSecret });
  assert.equal(await whoami(browser), 401);
  assert.equal((await browser.send("/api/sign-in")).status, 401);
  assert.equal((await bed.keys().get_sign_in_settings({})).testedAt, null);
  const late = await bed.comeBack(begun, begunCallback);
  assert.equal(late.headers.get("location"), "/sign-in?error=settings_changed");
  assert.equal(await bed.signIn(browser, idp, pat), "/");
});

test("the provider is asked for a proof again, and only that makes a sign-in fresh (N27)", async () => {
  const pat = person({ groups: ["owners"] });
  const browser = bed.browser();
  await bed
    .keys()
    .update_sign_in_settings(
      groupsOf(["owners", "owner"], ["engineers", "member"], ["guests", "viewer"]),
    );
  const body = { organizationId: bed.acme.organizationId, again: true };
  const begun = await browser.send("/api/sign-in/provider/begin", body);
  const { searchParams } = new URL(begun.body["url"] as string);
  assert.deepEqual([searchParams.get("prompt"), searchParams.get("max_age")], ["login", "0"]);
  assert.equal(await bed.signIn(browser, idp, pat, { again: true }), "/");
  const update = () => browser.call(bed.acme.organizationId, "update_sign_in_settings", {});
  assert.equal((await update()).status, 200);
});

test("a sign-in is renewed in a window beside the page, by its person only", async () => {
  const pat = person();
  const browser = bed.browser();
  await bed.signIn(browser, idp, pat);
  const { userId } = await mustReach(browser);
  const former = browser.cookies.get("__Host-hawser_session");
  // The provider does not know this browser, so it has to ask, in the same window.
  const first = await bed.leave(browser, idp, pat, { renews: userId, silent: true });
  assert.equal(first.searchParams.get("error"), "login_required");
  const onward = await bed.comeBack(browser, first);
  const asked = new URL(onward.headers.get("location")!);
  assert.deepEqual([asked.origin, asked.searchParams.get("prompt")], [idp.issuer, null]);
  const back = await bed.comeBack(browser, await idp.logIn(asked.href));
  assert.equal(back.headers.get("location"), "/signed-in");
  assert.notEqual(browser.cookies.get("__Host-hawser_session"), former);
  assert.equal((await mustReach(browser)).userId, userId);
  // What came back once does not go on to the provider a second time.
  const replayed = await bed.comeBack(browser, first);
  assert.equal(replayed.headers.get("location"), "/sign-in?error=expired");
  const another = await bed.signIn(browser, idp, person(), { renews: userId });
  assert.equal(another, "/signed-in?error=other_account");
  assert.equal(
    await bed.signIn(browser, idp, null, { renews: userId }),
    "/signed-in?error=sign_in_denied",
  );
  assert.equal((await mustReach(browser)).userId, userId);
});

test("a provider that asks nothing makes no sign-in fresh (N27)", async () => {
  await using liar = await startScriptedIssuer();
  const keys = bed.keys(bed.globex);
  const provider = { issuer: liar.issuer, clientId: "hawser", clientSecret: "secret" };
  await keys.update_sign_in_settings({ ...provider, ...groupsOf(["engineers", "member"]) });
  const first = await signInWithClaims(liar, (claims) => ({ ...claims, sub: "silent" }));
  const me = await whoami(first.browser, bed.globex);
  assert.ok(typeof me === "object");
  const more = { renews: me.userId, silent: true };
  const { browser, led } = await signInWithClaims(liar, (claims) => ({ ...claims, sub: "silent" }), more); // oxfmt-ignore
  assert.equal(led, "/signed-in");
  const fresh = async (by: TestBrowser) =>
    codeOf(await by.send("/api/sign-in/device/read", { code: "BCDF-GHJK" }));
  assert.deepEqual(
    [await fresh(first.browser), await fresh(browser)],
    ["not_found", "sign_in_again"],
  );
});

test("a required provider leaves accounts out, except for the named owners", async () => {
  const [owner, member] = [
    {
      ...(await bed.join("break-glass@people.example", "owner")),
      email: "break-glass@people.example",
    },
    await bed.join("locked-out@people.example"),
  ];
  const keys = bed.keys();
  const update = (input: object) => keys.try("update_sign_in_settings", input);
  await mustReach(member);
  assert.equal((await update({ required: true })).status, 400, "a body that excepts no owner");
  const noOwner = await update({ required: true, exceptUserIds: [member.userId] });
  assert.equal(noOwner.status, 400, "a member is excepted");
  const noWay = await update({ required: true, exceptUserIds: [bed.acme.userId] });
  assert.equal(noWay.status, 400, "the owner has neither password nor passkey");

  await keys.update_sign_in_settings({ required: true, exceptUserIds: [owner.userId] });
  const ways = await bed
    .browser()
    .send(`/api/sign-in/ways?organization=${bed.acme.organizationId}`);
  assert.deepEqual(ways.body, { provider: true, required: true });
  assert.equal(await whoami(member), 401);
  await mustReach(owner);
  const reached = async (browser: TestBrowser) =>
    ((await browser.send("/api/sign-in")).body["organizations"] as unknown[]).length;
  assert.deepEqual([await reached(owner), await reached(member)], [1, 0]);
  const browser = bed.browser();
  assert.equal(await bed.signIn(browser, idp, person()), "/");
  await mustReach(browser);
  // An account can still be connected, with the address of the account only.
  const led = await bed.signIn(member, idp, person(), { connect: true });
  assert.equal(led, "/sign-in?error=other_address");
  const right = person({ email: "locked-out@people.example" });
  assert.equal(await bed.signIn(member, idp, right, { connect: true }), "/");
  assert.equal(await bed.signIn(member, idp, right), "/");
  assert.equal((await mustReach(member)).userId, member.userId);
  // Other settings have not been tested.
  const other = await update({ clientSecret: "another" });
  assert.equal((other.body as { error: { code: string } }).error.code, "provider_untested");
  // The last owner who can sign in without the provider stays one, and keeps a way to sign in (decision 0090).
  const { userId } = owner;
  const stays = [
    await keys.try("update_member", { userId, role: "viewer" }),
    await keys.try("remove_member", { userId }),
  ];
  assert.deepEqual(
    stays.map(({ status, body }) => [status, (body as { error: { code: string } }).error.code]),
    [
      [409, "last_owner"],
      [409, "last_owner"],
    ],
  );
  assert.equal((await update({ groupsClaim: "groups", exceptUserIds: [] })).status, 400);
  await usePasskeysOnly(owner.email, ["one", "two"]);
  const removePasskey = async (passkeyId: string) =>
    codeOf(await owner.send("/api/sign-in/passkeys/remove", { passkeyId }));
  assert.equal(await removePasskey("one"), undefined);
  assert.equal(await removePasskey("two"), "last_owner");
  // With another one, all of that is allowed. An owner who is demoted is excepted no more.
  const another = await bed.join("second-glass@people.example", "owner");
  await keys.update_sign_in_settings({ exceptUserIds: [userId, another.userId] });
  assert.equal(await removePasskey("two"), undefined);
  await ownerSql(
    bed.service.url,
    `UPDATE sign_in.accounts SET password_hash = other.password_hash FROM sign_in.accounts other
      WHERE accounts.password_hash IS NULL AND other.password_hash IS NOT NULL`,
  );
  await keys.update_member({ userId: owner.userId, role: "viewer" });
  await owner.send("/api/sign-in/password", {
    email: "break-glass@people.example",
    password: bedPassword,
  });
  assert.equal(await whoami(owner), 401);
  await keys.update_sign_in_settings({ required: false });
  assert.notEqual(await whoami(owner), 401);
});

test("the secrets of providers and sign-ins are readable neither in the database nor in the logs", async () => {
  const browser = bed.browser();
  const refreshTokens = await idp.refreshTokens(() => bed.signIn(browser, idp, person()));
  assert.equal(refreshTokens.length, 1);
  const places = [
    await dumpDatabase(bed.service.url),
    JSON.stringify(bed.nodes.map(({ log }) => log)),
    JSON.stringify((await bed.keys().list_audit_entries({ limit: 200 })).entries),
  ];
  assert.match(places[0]!, /INSERT INTO public\.sign_in_settings/);
  const cookie = browser.cookies.get("__Host-hawser_session")!;
  for (const secret of [idp.clientSecret, evil.clientSecret, refreshTokens[0]!, cookie]) {
    for (const spelling of [secret, Buffer.from(secret).toString("hex")]) {
      assert.ok(!places.some((place) => place.includes(spelling)), secret.slice(0, 6));
    }
  }
});

test("a removed provider ends its sign-ins, and so does a removed membership", async () => {
  const [one, two] = [bed.browser(), bed.browser()];
  await bed.signIn(one, idp, person());
  const pat = person();
  await bed.signIn(two, idp, pat);
  const { userId } = await mustReach(two);
  await bed.keys().remove_member({ userId });
  assert.equal(await whoami(two), 401);
  // The person may join again, as somebody new to the organization.
  assert.equal(await bed.signIn(two, idp, pat), "/");
  await mustReach(two);
  await bed.keys().update_sign_in_settings({ issuer: null });
  assert.deepEqual([await whoami(one), await whoami(two)], [401, 401]);
  assert.equal((await bed.keys().get_sign_in_settings({})).issuer, null);
});

// The last test: it uses up what this address may begin.
test("strangers begin only some sign-ins, and keep nobody from renewing one", async () => {
  const { acme } = bed;
  await bed.configure(idp, groupsOf(["engineers", "member"]));
  const browser = bed.browser();
  assert.equal(await bed.signIn(browser, idp, person()), "/");
  const { organizationId } = acme;
  const begin = (by: TestBrowser) => by.send("/api/sign-in/provider/begin", { organizationId });
  const replies = await Promise.all(Array.from({ length: 200 }, () => begin(bed.browser())));
  const limited = replies.filter(({ body }) => JSON.stringify(body).includes("begin to sign in"));
  assert.ok(limited.length > 0 && limited.every((reply) => codeOf(reply) === "rate_limited"));
  assert.equal((await begin(browser)).status, 200);
});
