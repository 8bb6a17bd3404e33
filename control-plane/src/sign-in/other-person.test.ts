// Two people in one browser: the page of one of them, and the cookie of the other.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createCaller } from "@hawser/testkit/caller.ts";
import type { TestOrganization } from "@hawser/testkit/organization.ts";
import { openTestBrowser, type TestBrowser } from "@hawser/testkit/signed-in-browser.ts";
import { until } from "@hawser/testkit/until.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";

const password = "correct horse battery";
let world: World;
let acme: TestOrganization;
let globex: TestOrganization;
let node: World["nodes"][number];

before(async () => {
  world = await startWorld({ nodes: 2, nats: 1 });
  [acme, globex] = world.organizations;
  node = world.nodes[0]!;
});
after(() => world?.[Symbol.asyncDispose]());

const keys = () => createCaller(node.baseUrl, acme.keys.owner);

let people = 0;

/** Makes a person who has accepted an invitation of an organization. */
async function join(organization = acme): Promise<{ email: string; userId: string }> {
  const email = `person${++people}@people.example`;
  const by = createCaller(node.baseUrl, organization.keys.owner);
  const { url } = await by.create_invitation({ email, role: "owner" });
  const invitation = new URL(url).hash.slice(1);
  const accept = { invitation, password };
  const browser = openTestBrowser(node.baseUrl);
  const { body } = await browser.send("/api/sign-in/invitations/accept", accept);
  return { email, userId: body["userId"] as string };
}

const signIn = async (browser: TestBrowser, { email }: { email: string }) => {
  const { status } = await browser.send("/api/sign-in/password", { email, password });
  assert.equal(status, 200);
};

/** Mira's page is open, and Kim has signed in since then. */
async function openShared(kimsOrganization = acme) {
  const mira = await join();
  const kim = await join(kimsOrganization);
  const browser = openTestBrowser(node.baseUrl);
  await signIn(browser, mira);
  await signIn(browser, kim);
  return { mira, kim, browser };
}

const pageOf = ({ userId }: { userId: string }) => ({
  "x-hawser-organization": acme.organizationId,
  "x-hawser-person": userId,
});

const answerOf = ({ status, body }: { status: number; body: Record<string, unknown> }) => [
  status,
  (body["error"] as { code?: string } | undefined)?.code,
];
const refused = [409, "other_person"];

test("a page's call is not made in the name of somebody else, on any node", async () => {
  const { mira, kim, browser } = await openShared();
  const path = "/api/rest/actions/create_instance";
  for (const { baseUrl } of world.nodes) {
    const there = openTestBrowser(baseUrl, browser.cookies);
    const { status, body } = await there.send(path, { name: "Mira's" }, pageOf(mira));
    const error = body["error"] as Record<string, string>;
    assert.deepEqual([status, error["code"], error["retry"]], [409, "other_person", "changed"]);
    assert.match(error["message"]!, /nothing was done/);
  }
  const { instances } = await keys().list_instances({});
  assert.deepEqual(instances, []);
  const { entries } = await keys().list_audit_entries({ limit: 50 });
  assert.ok(entries.every(({ action }) => action !== "create_instance"));
  const own = await browser.send(path, { name: "Kim's" }, pageOf(kim));
  assert.equal(own.status, 200);
});

test("what is no id of the person is refused; without the header the cookie counts as before", async () => {
  const { kim, browser } = await openShared();
  const whoami = "/api/rest/actions/whoami";
  for (const userId of ["", "usr_", "kim", `${kim.userId} `.toUpperCase(), acme.organizationId]) {
    const reply = await browser.send(whoami, {}, pageOf({ userId }));
    assert.deepEqual(answerOf(reply), refused, userId);
  }
  const old = await browser.send(whoami, {}, { "x-hawser-organization": acme.organizationId });
  assert.equal(old.status, 200);
});

test("a key ignores the header, and a browser without a sign-in is unauthenticated", async () => {
  const mira = await join();
  const whoami = "/api/rest/actions/whoami";
  const nobody = openTestBrowser(node.baseUrl);
  const authorization = `Bearer ${acme.keys.owner}`;
  const keyed = await nobody.send(whoami, {}, { ...pageOf(mira), authorization });
  assert.equal(keyed.status, 200);
  const reply = await nobody.send(whoami, {}, pageOf(mira));
  assert.deepEqual(answerOf(reply), [401, "unauthenticated"]);
});

test("somebody who does not reach the page's organization is somebody else too", async () => {
  const { mira, kim, browser } = await openShared(globex);
  const whoami = "/api/rest/actions/whoami";
  assert.deepEqual(answerOf(await browser.send(whoami, {}, pageOf(mira))), refused);
  const own = await browser.send(whoami, {}, pageOf(kim));
  assert.deepEqual(answerOf(own), [401, "unauthenticated"]);
});

test("streams, files and the list of actions are refused like calls", async () => {
  const { mira, browser } = await openShared();
  const page = pageOf(mira);
  for (const path of [
    "/api/events",
    "/api/sessions/ses_1/events",
    "/api/files/fil_1",
    "/api/rest/actions",
  ]) {
    assert.deepEqual(answerOf(await browser.send(path, undefined, page)), refused, path);
  }
  const upload = await browser.send("/api/files?filename=a", { text: "a" }, page);
  assert.deepEqual(answerOf(upload), refused);
});

test("an open stream of a page ends when somebody else signs in", async () => {
  const [mira, kim] = [await join(), await join()];
  const browser = openTestBrowser(node.baseUrl);
  await signIn(browser, mira);
  const headers = { ...browser.headersFor(acme.organizationId), ...pageOf(mira) };
  const response = await fetch(`${node.baseUrl}/api/events`, { headers });
  assert.equal(response.status, 200);
  let hasEnded = false;
  void response.text().then(() => (hasEnded = true));
  await signIn(browser, kim);
  await until("the stream has ended", () => hasEnded, 30_000);
});

test("what a page does around signing in is not done for somebody else", async () => {
  const { mira, kim, browser } = await openShared();
  const page = { "x-hawser-person": mira.userId };
  const newPassword = "another horse battery";
  for (const [path, body] of [
    ["confirm", { password }],
    ["change-password", { password, newPassword }],
    ["passkeys/begin", {}],
    ["passkeys/remove", { passkeyId: "x" }],
    ["device/read", { code: "BCDF-GHJK" }],
    ["device/approve", { code: "BCDF-GHJK", organizationId: acme.organizationId }],
    ["device/refuse", { code: "BCDF-GHJK" }],
    ["out", {}],
  ] as const) {
    const reply = await browser.send(`/api/sign-in/${path}`, body, page);
    assert.deepEqual(answerOf(reply), refused, path);
  }
  // Who is signed in now can be asked, and the person of the page can sign in again.
  const now = await browser.send("/api/sign-in");
  assert.equal((now.body["user"] as { userId: string }).userId, kim.userId);
  const { email } = mira;
  const again = await browser.send("/api/sign-in/password", { email, password }, page);
  assert.equal(again.status, 200);
  assert.equal((await browser.send("/api/rest/actions/whoami", {}, pageOf(mira))).status, 200);
  assert.equal((await browser.send("/api/sign-in/out", {}, page)).status, 200);
});

test("an invitation is not accepted for somebody else", async () => {
  const { mira, kim, browser } = await openShared();
  const by = createCaller(node.baseUrl, globex.keys.owner);
  const { url } = await by.create_invitation({ email: kim.email, role: "member" });
  const accept = { invitation: new URL(url).hash.slice(1), password: "another horse battery" };
  const path = "/api/sign-in/invitations/accept";
  const named = (userId: string) => ({ "x-hawser-person": userId });
  assert.deepEqual(answerOf(await browser.send(path, accept, named(mira.userId))), refused);
  assert.equal((await browser.send(path, accept, named(kim.userId))).status, 200);
});
