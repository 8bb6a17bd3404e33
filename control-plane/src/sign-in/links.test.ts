// Links with which an owner signs in, made by an operator's command and opened at real nodes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createCaller } from "@hawser/testkit/caller.ts";
import type { ControlPlaneNode } from "@hawser/testkit/control-plane-node.ts";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { joinPerson } from "@hawser/testkit/joined-person.ts";
import { createTestOrganization, type TestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import type { ServiceDatabase } from "@hawser/testkit/service-database.ts";
import {
  openTestBrowser,
  type Reply,
  type TestBrowser,
} from "@hawser/testkit/signed-in-browser.ts";
import { startTwoNodes, type TwoNodes } from "@hawser/testkit/two-nodes.ts";
import { until } from "@hawser/testkit/until.ts";
import { ConfigError } from "../config.ts";
import { makeSignInLink } from "./links.ts";

const password = "correct horse battery";
let two: TwoNodes;
let service: ServiceDatabase;
let node: ControlPlaneNode;
let other: ControlPlaneNode;

before(async () => {
  two = await startTwoNodes();
  ({
    service,
    nodes: [node, other],
  } = two);
});
after(() => two?.[Symbol.asyncDispose]());

const codeOf = ({ body }: Reply) => (body["error"] as { code?: string } | undefined)?.code;

let organizations = 0;
async function newOrganization(): Promise<TestOrganization & { email: string }> {
  const email = `owner${++organizations}@acme.example`;
  const made = await createTestOrganization(service.database, `Acme ${organizations}`, email);
  return { ...made, email };
}

/** The secret of a new link. */
async function linkFor(email?: string): Promise<string> {
  const accounts = service.database.connectionsFor("accounts");
  const { url } = await makeSignInLink(accounts, { email, baseUrl: node.baseUrl });
  const { origin, pathname, hash } = new URL(url);
  assert.deepEqual([origin, pathname], [node.baseUrl, "/first"]);
  return hash.slice(1);
}

const refused = (email: string | undefined, message: RegExp) =>
  assert.rejects(
    linkFor(email),
    (error) => error instanceof ConfigError && message.test(error.message),
  );

const open = (browser: TestBrowser, link: string, more = {}) =>
  browser.send("/api/sign-in/first", { link, ...more });

test("a first owner signs in with a link, and sets a password", async () => {
  const { email, organizationId, userId, keys } = await newOrganization();
  const link = await linkFor(email.toUpperCase());
  const browser = openTestBrowser(node.baseUrl);
  const read = await browser.send("/api/sign-in/first/read", { link });
  assert.deepEqual([read.body["organization"], read.body["email"]], ["Acme 1", email]);
  const opened = await open(browser, link, { password });
  assert.deepEqual([opened.status, opened.body], [200, { userId }]);
  assert.equal(opened.headers.get("referrer-policy"), "no-referrer");

  const listed = await browser.call(organizationId, "list_sign_ins");
  const [signIn] = (listed.body["result"] as { signIns: Record<string, unknown>[] }).signIns;
  assert.equal(signIn!["way"], "link");
  // The sign-in is fresh, and has every permission of an owner.
  const invitation = { email: "kim@acme.example", role: "owner" };
  assert.equal((await browser.call(organizationId, "create_invitation", invitation)).status, 200);
  const { entries } = await createCaller(node.baseUrl, keys.owner).list_audit_entries({ limit: 2 });
  assert.deepEqual(
    entries.map(({ action, actor }) => [action, actor.type]),
    [
      ["create_invitation", "user"],
      ["use_sign_in_link", "user"],
    ],
  );

  const next = openTestBrowser(node.baseUrl);
  const typed = { email, password };
  assert.equal((await next.send("/api/sign-in/password", typed)).status, 200);
  await refused(email, /has a password or a passkey/);
});

test("a link is good once, for 15 minutes, until the next one is made", async () => {
  const { email } = await newOrganization();
  const link = await linkFor(email);
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_each, n) =>
      open(openTestBrowser((n % 2 ? node : other).baseUrl), link),
    ),
  );
  const statuses = replies.map(({ status }) => status).toSorted((one, next) => one - next);
  assert.deepEqual(statuses, [200, ...Array<number>(19).fill(404)]);

  // Without a password, the owner needs a link again.
  const [former, latest] = [await linkFor(email), await linkFor(email)];
  assert.equal(codeOf(await open(openTestBrowser(node.baseUrl), former)), "not_found");
  await ownerSql(
    service.url,
    "UPDATE sign_in.links SET expires_at = expires_at - interval '14 minutes 59 seconds'",
  );
  const browser = openTestBrowser(node.baseUrl);
  assert.equal((await browser.send("/api/sign-in/first/read", { link: latest })).status, 200);
  await ownerSql(service.url, "UPDATE sign_in.links SET expires_at = now()");
  assert.equal(codeOf(await open(browser, latest)), "not_found");
});

test("a link is no way around what the owner has set up since, and ends with the role", async () => {
  const { email, organizationId, userId, keys } = await newOrganization();
  const browser = openTestBrowser(node.baseUrl);
  await open(browser, await linkFor(email));
  const link = await linkFor(email);
  const openLink = async () =>
    codeOf(await open(openTestBrowser(node.baseUrl), link, { password }));

  await ownerSql(
    service.url,
    `INSERT INTO sign_in.passkeys (credential_id, user_id, public_key, counter, transports, device)
     SELECT 'one', user_id, '\\x00', 0, '{}', 'phone' FROM users WHERE email = '${email}'`,
  );
  assert.equal(await openLink(), "not_found");
  await refused(email, /has a password or a passkey/);
  await ownerSql(service.url, "DELETE FROM sign_in.passkeys");

  const caller = createCaller(node.baseUrl, keys.owner);
  await joinPerson(caller, { baseUrl: node.baseUrl, email: "second@acme.example", role: "owner" });
  await caller.update_member({ userId, role: "viewer" });
  assert.equal(await openLink(), "not_found");
  await refused(email, /No owner has the e-mail address/);
  await caller.update_member({ userId, role: "owner" });

  // The account reaches an organization of others now: this one's operator has no say there.
  const theirs = await newOrganization();
  const there = createCaller(node.baseUrl, theirs.keys.owner);
  const { url } = await there.create_invitation({ email, role: "viewer" });
  const again = openTestBrowser(node.baseUrl);
  assert.equal((await open(again, link)).status, 200);
  const pending = await linkFor(email);
  const invitation = new URL(url).hash.slice(1);
  const accepted = await again.send("/api/sign-in/invitations/accept", { invitation });
  assert.equal(accepted.status, 200, JSON.stringify(accepted.body));
  assert.equal(codeOf(await open(openTestBrowser(node.baseUrl), pending)), "not_found");
  await refused(email, /reaches other organizations too/);
  assert.equal((await again.call(organizationId, "whoami")).status, 200);
});

test("a link lets an owner into an organization whose required provider fails", async () => {
  const { email, organizationId, userId, keys } = await newOrganization();
  const browser = openTestBrowser(node.baseUrl);
  await open(browser, await linkFor(email), { password });
  await ownerSql(
    service.url,
    `INSERT INTO sign_in_settings (organization_id, settings_id, issuer, client_id, client_secret, required)
     SELECT organization_id, hawser_new_id(), 'https://login.acme.example', 'hawser', '\\x00', true
       FROM memberships WHERE email = '${email}'`,
  );
  await until("the password reaches nothing", async () => {
    const reply = await browser.call(organizationId, "whoami");
    return reply.status === 401;
  });
  const link = await linkFor(email);
  const read = await browser.send("/api/sign-in/first/read", { link });
  assert.equal(read.body["hasPassword"], true);
  assert.equal(codeOf(await open(browser, link, { password })), "invalid_input");
  assert.equal((await open(browser, link)).status, 200);
  assert.equal((await browser.call(organizationId, "whoami")).status, 200);
  const caller = createCaller(node.baseUrl, keys.owner);
  assert.deepEqual((await caller.get_sign_in_settings({})).exceptUserIds, [userId]);
  const [entry] = (await caller.list_audit_entries({ limit: 1 })).entries;
  assert.deepEqual([entry!.action, entry!.input], ["use_sign_in_link", { excepted: true }]);
  // From now on the owner signs in with the password.
  await refused(email, /has a password or a passkey/);
});

test("links are for owners only, and for one that is named if there are several", async () => {
  const { keys } = await newOrganization();
  const caller = createCaller(node.baseUrl, keys.owner);
  const email = "member@acme.example";
  await caller.add_member({ email, role: "member" });
  await refused(email, /No owner has the e-mail address/);
  await refused("nobody@acme.example", /No owner has the e-mail address/);
  await refused(undefined, /There are several owners/);
});

test("only pages of the service open links, and the database has no secret of them (N24, N25)", async () => {
  const { email } = await newOrganization();
  const link = await linkFor(email);
  const browser = openTestBrowser(node.baseUrl);
  for (const headers of [
    { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
    { origin: undefined, "sec-fetch-site": undefined },
    { "content-type": "text/plain" },
  ]) {
    const reply = await browser.send("/api/sign-in/first", { link }, headers);
    assert.equal(codeOf(reply), "forbidden", JSON.stringify(headers));
  }
  const made = { link: "hwe_0000000000000000000000000000000000000000000000000000000000" };
  assert.equal(codeOf(await browser.send("/api/sign-in/first/read", made)), "not_found");
  assert.ok(!(await dumpDatabase(service.url)).includes(link));
  assert.equal((await open(browser, link)).status, 200);
  const log = [...node.log, ...other.log].map((line) => JSON.stringify(line)).join("\n");
  assert.ok(!log.includes(link));
});
