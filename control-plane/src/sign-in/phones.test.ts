// Phones that a signed-in person lets in with a link and four digits, at real nodes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createCaller } from "@hawser/testkit/caller.ts";
import type { ControlPlaneNode } from "@hawser/testkit/control-plane-node.ts";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { joinPerson, type JoinedPerson } from "@hawser/testkit/joined-person.ts";
import { createTestOrganization, type TestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import type { ServiceDatabase } from "@hawser/testkit/service-database.ts";
import {
  openTestBrowser,
  type Reply,
  type TestBrowser,
} from "@hawser/testkit/signed-in-browser.ts";
import { startTwoNodes, type TwoNodes } from "@hawser/testkit/two-nodes.ts";

let two: TwoNodes;
let service: ServiceDatabase;
let acme: TestOrganization;
let node: ControlPlaneNode;
let other: ControlPlaneNode;

before(async () => {
  two = await startTwoNodes();
  ({
    service,
    nodes: [node, other],
  } = two);
  acme = await createTestOrganization(service.database, "Acme", "ada@acme.example");
});
after(() => two?.[Symbol.asyncDispose]());

const codeOf = ({ body }: Reply) => (body["error"] as { code?: string } | undefined)?.code;
const resultOf = ({ body }: Reply) => body["result"] as Record<string, unknown>;

let people = 0;
const newPerson = () =>
  joinPerson(createCaller(node.baseUrl, acme.keys.owner), {
    baseUrl: node.baseUrl,
    email: `person${++people}@people.example`,
  });

/** The secret of a new link. */
async function linkOf(person: TestBrowser): Promise<string> {
  const { url } = resultOf(await person.call(acme.organizationId, "create_device_sign_in"));
  const { origin, pathname, hash } = new URL(url as string);
  assert.deepEqual([origin, pathname], [node.baseUrl, "/phone"]);
  return hash.slice(1);
}

const open = (phone: TestBrowser, link: string) => phone.send("/api/sign-in/phone/open", { link });
const digitsOf = ({ body }: Reply) => body["digits"] as string;
const enter = (phone: TestBrowser) => phone.send("/api/sign-in/phone/enter", {});
const stateOf = async (phone: TestBrowser) => (await enter(phone)).body["state"];
const type = async (person: TestBrowser, digits: string) =>
  resultOf(await person.call(acme.organizationId, "confirm_device_sign_in", { digits }));
const notThese = (digits: string) => String((Number(digits) + 1) % 10_000).padStart(4, "0");

interface ListedSignIn {
  way: string;
  device: string;
  isCurrent: boolean;
  expiresAt: string;
}
const signInsOf = async (browser: TestBrowser) =>
  resultOf(await browser.call(acme.organizationId, "list_sign_ins"))["signIns"] as ListedSignIn[];

test("a person lets a phone in, and both list it", async () => {
  const person = await newPerson();
  const phone = openTestBrowser(other.baseUrl);
  const link = await linkOf(person);
  assert.deepEqual(await type(person, "0000"), { state: "not_opened", triesLeft: 3, device: null });
  assert.equal(await stateOf(phone), "over");

  const opened = await phone.send("/api/sign-in/phone/open", { link }, { "user-agent": "Phone/7" });
  assert.match(digitsOf(opened), /^\d{4}$/);
  assert.equal(await stateOf(phone), "waiting");
  assert.equal((await phone.send("/api/sign-in")).status, 401);
  const confirmed = await type(person, digitsOf(opened));
  assert.deepEqual(confirmed, { state: "confirmed", triesLeft: 3, device: "Phone/7" });

  const entered = await phone.send("/api/sign-in/phone/enter", {}, { "user-agent": "Phone/7" });
  assert.deepEqual(entered.body, { state: "signed_in", userId: person.userId });
  assert.deepEqual([...phone.cookies.keys()].toSorted(), [
    "__Host-hawser_known",
    "__Host-hawser_session",
  ]);
  const listed = await signInsOf(phone);
  assert.deepEqual(
    listed.map(({ way, device, isCurrent }) => [way, device, isCurrent]),
    [
      ["device", "Phone/7", true],
      ["invitation", "TestBrowser/1", false],
    ],
  );
  // The phone's sign-in ends when the browser's does at the latest.
  assert.equal(listed[0]!.expiresAt, listed[1]!.expiresAt);
  assert.equal(await stateOf(phone), "over");
  assert.equal((await type(person, digitsOf(opened)))["state"], "over");
});

test("of many who open a link at once, one gets digits, and only that one enters", async () => {
  const person = await newPerson();
  const link = await linkOf(person);
  const phones = Array.from({ length: 10 }, (_each, n) =>
    openTestBrowser((n % 2 ? node : other).baseUrl),
  );
  const replies = await Promise.all(phones.map((phone) => open(phone, link)));
  const first = replies.findIndex(({ status }) => status === 200);
  assert.deepEqual(
    replies.map((reply) => codeOf(reply)).filter((code) => code !== undefined),
    Array<string>(9).fill("not_found"),
  );
  await type(person, digitsOf(replies[first]!));
  const states = await Promise.all(phones.map(stateOf));
  assert.deepEqual(
    states.map((state, n) => state === (n === first ? "signed_in" : "over")),
    Array<boolean>(10).fill(true),
  );
});

test("three wrong digits end the link, also on two nodes at once", async () => {
  const person = await newPerson();
  const onOther = openTestBrowser(other.baseUrl, person.cookies);
  const phone = openTestBrowser(node.baseUrl);
  const digits = digitsOf(await open(phone, await linkOf(person)));
  const guesses = await Promise.all(
    Array.from({ length: 8 }, (_each, n) => type(n % 2 ? person : onOther, notThese(digits))),
  );
  const left = guesses
    .filter(({ state }) => state === "wrong")
    .map(({ triesLeft }) => Number(triesLeft));
  assert.deepEqual(
    left.toSorted((one, next) => one - next),
    [0, 1, 2],
  );
  assert.equal((await type(person, digits))["state"], "over");
  assert.equal(await stateOf(phone), "over");
  // The next link is good, and counts anew.
  const again = digitsOf(await open(phone, await linkOf(person)));
  assert.equal((await type(person, notThese(again)))["triesLeft"], 2);
  assert.equal((await type(person, again))["state"], "confirmed");
  const { entries } = await createCaller(node.baseUrl, acme.keys.owner).list_audit_entries({
    limit: 2,
  });
  const inTrail = ["confirm_device_sign_in", "done", {}];
  assert.deepEqual(
    entries.map(({ action, outcome, input }) => [action, outcome, input]),
    [inTrail, inTrail],
  );
});

test("a link is good for two minutes, and until the next one", async () => {
  const person = await newPerson();
  const phone = openTestBrowser(node.baseUrl);
  const former = await linkOf(person);
  const late = await linkOf(person);
  assert.equal(codeOf(await open(phone, former)), "not_found");
  const age = (seconds: number) =>
    ownerSql(
      service.url,
      `UPDATE sign_in.device_sign_ins SET expires_at = expires_at - interval '${seconds} seconds'`,
    );
  await age(121);
  assert.equal(codeOf(await open(phone, late)), "not_found");
  const digits = digitsOf(await open(phone, await linkOf(person)));
  await age(121);
  assert.deepEqual([(await type(person, digits))["state"], await stateOf(phone)], ["over", "over"]);
  const confirmed = digitsOf(await open(phone, await linkOf(person)));
  await type(person, confirmed);
  await age(61);
  assert.equal(await stateOf(phone), "over");
});

test("the digits count only in the browser that made the link", async () => {
  const [person, another] = [await newPerson(), await newPerson()];
  const phone = openTestBrowser(node.baseUrl);
  const digits = digitsOf(await open(phone, await linkOf(person)));
  await linkOf(another);
  assert.equal((await type(another, digits))["state"], "not_opened");
  assert.equal(await stateOf(phone), "waiting");
  assert.equal((await type(person, digits))["state"], "confirmed");
});

test("a phone gets no more than the browser's sign-in has, and nothing after it has ended (N26, N27)", async () => {
  const person = await newPerson();
  await ownerSql(
    service.url,
    "UPDATE sign_in.sign_ins SET authenticated_at = now() - interval '4 minutes', expires_at = now() + interval '1 hour'",
  );
  const phone = await letIn(person);
  const [row] = await ownerSql(
    service.url,
    `SELECT extract(epoch FROM now() - authenticated_at) > 239 AS is_as_old, expires_at < now() + interval '61 minutes' AS ends_too
       FROM sign_in.sign_ins WHERE way = 'device' ORDER BY sign_in_id DESC LIMIT 1`,
  );
  assert.deepEqual(row, { is_as_old: true, ends_too: true });
  assert.equal((await phone.call(acme.organizationId, "whoami")).status, 200);

  const leaving = await newPerson();
  const link = await linkOf(leaving);
  const waiting = openTestBrowser(node.baseUrl);
  await type(leaving, digitsOf(await open(waiting, link)));
  await leaving.send("/api/sign-in/out", {});
  assert.equal(await stateOf(waiting), "over");

  const gone = await newPerson();
  const unopened = await linkOf(gone);
  await gone.send("/api/sign-in/out", {});
  assert.equal(codeOf(await open(openTestBrowser(node.baseUrl), unopened)), "not_found");
});

test("a phone does not get around a changed role, which ends the browser's sign-in there (N26)", async () => {
  const globex = await createTestOrganization(service.database, "Globex", "grace@globex.example");
  const person = await newPerson();
  const keys = createCaller(node.baseUrl, globex.keys.owner);
  const { url } = await keys.create_invitation({ email: person.email, role: "viewer" });
  const invitation = new URL(url).hash.slice(1);
  await person.send("/api/sign-in/invitations/accept", { invitation });

  const waiting = openTestBrowser(node.baseUrl);
  await type(person, digitsOf(await open(waiting, await linkOf(person))));
  const promotion = { userId: person.userId, role: "owner" };
  await createCaller(node.baseUrl, acme.keys.owner).update_member(promotion);
  assert.equal(await stateOf(waiting), "signed_in");
  // The browser still reaches the other organization, and can let another phone in from there.
  const made = await person.call(globex.organizationId, "create_device_sign_in");
  const next = openTestBrowser(node.baseUrl);
  const opened = await open(next, new URL(resultOf(made)["url"] as string).hash.slice(1));
  const typed = { digits: digitsOf(opened) };
  await person.call(globex.organizationId, "confirm_device_sign_in", typed);
  assert.equal(await stateOf(next), "signed_in");

  for (const browser of [person, waiting, next]) {
    assert.equal((await browser.call(globex.organizationId, "whoami")).status, 200);
    assert.equal((await browser.call(acme.organizationId, "whoami")).status, 401);
  }
});

async function letIn(person: JoinedPerson): Promise<TestBrowser> {
  const phone = openTestBrowser(node.baseUrl);
  await type(person, digitsOf(await open(phone, await linkOf(person))));
  assert.equal(await stateOf(phone), "signed_in");
  return phone;
}

test("links are made by a browser with a fresh sign-in, and opened by pages of the service (N24, N25, N27)", async () => {
  const person = await newPerson();
  const link = await linkOf(person);
  const phone = openTestBrowser(node.baseUrl);
  for (const headers of [
    { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
    { origin: undefined, "sec-fetch-site": undefined },
    { "content-type": "text/plain" },
  ]) {
    for (const [step, body] of [
      ["open", { link }],
      ["enter", {}],
    ] as const) {
      const reply = await phone.send(`/api/sign-in/phone/${step}`, body, headers);
      assert.equal(codeOf(reply), "forbidden", JSON.stringify(headers));
    }
  }
  const made = await person.call(acme.organizationId, "create_api_key", {
    name: "k",
    scope: "user",
    permissions: ["sessions:view"],
  });
  const byKey = createCaller(node.baseUrl, resultOf(made)["key"] as string);
  for (const [action, input] of [
    ["create_device_sign_in", {}],
    ["confirm_device_sign_in", { digits: "0000" }],
  ] as const) {
    const { status, body } = await byKey.try(action, input);
    assert.deepEqual([status, body.error.code], [409, "sign_in_first"], action);
  }
  await ownerSql(
    service.url,
    "UPDATE sign_in.sign_ins SET authenticated_at = now() - interval '6 minutes'",
  );
  for (const [action, input] of [
    ["create_device_sign_in", {}],
    ["confirm_device_sign_in", { digits: "0000" }],
  ] as const) {
    assert.equal(codeOf(await person.call(acme.organizationId, action, input)), "sign_in_again");
  }
});

test("the phone's cookie is out of reach of scripts and other sites, and the database has no secret (T29)", async () => {
  const person = await newPerson();
  const link = await linkOf(person);
  const phone = openTestBrowser(node.baseUrl);
  const opened = await open(phone, link);
  const [cookie] = opened.headers.getSetCookie();
  assert.match(
    cookie!,
    /^__Host-hawser_phone=hwv_[a-z0-9]+; Path=\/; Max-Age=240; HttpOnly; Secure; SameSite=Lax$/,
  );
  assert.equal(opened.headers.get("referrer-policy"), "no-referrer");
  const dump = await dumpDatabase(service.url);
  const log = [...node.log, ...other.log].map((line) => JSON.stringify(line)).join("\n");
  const token = phone.cookies.get("__Host-hawser_phone")!;
  for (const secret of [link, token]) {
    assert.ok(!dump.includes(secret) && !log.includes(secret));
    assert.ok(!dump.includes(Buffer.from(secret).toString("hex")));
  }
  assert.ok(!JSON.stringify(opened.body).includes(token));
});
