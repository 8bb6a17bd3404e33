// Programs that get a key of a person who approves it in a browser, at real nodes.
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

const keys = (organization = acme) => createCaller(node.baseUrl, organization.keys.owner);
let people = 0;
const joinAs = (role?: string, organization = acme) =>
  joinPerson(keys(organization), {
    baseUrl: node.baseUrl,
    email: `person${++people}@people.example`,
    ...(role !== undefined && { role }),
  });

const codeOf = ({ body }: Reply) => (body["error"] as { code?: string } | undefined)?.code;

/** A request as a program sends it: no header says that a page has made it. */
async function program(path: string, body: object, on = node): Promise<Reply> {
  const response = await fetch(`${on.baseUrl}/api/sign-in/device/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const { status, headers } = response;
  return { status, headers, body: (await response.json()) as Record<string, unknown> };
}

interface Begun {
  deviceCode: string;
  userCode: string;
  verificationUrl: string;
}

async function begin(name = "hawser on laptop"): Promise<Begun> {
  const { status, body } = await program("begin", { name });
  assert.equal(status, 200, JSON.stringify(body));
  return body as unknown as Begun;
}

const poll = (deviceCode: string, on = node) => program("poll", { deviceCode }, on);
const answer = (browser: TestBrowser, how: string, code: string, organization = acme) =>
  browser.send(`/api/sign-in/device/${how}`, {
    code,
    ...(how === "approve" && { organizationId: organization.organizationId }),
  });

test("a program gets a key of the person who approves its code", async () => {
  const person = await joinAs("viewer");
  const begun = await begin("hawser on laptop");
  assert.match(begun.userCode, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  assert.equal(begun.verificationUrl, `${node.baseUrl}/device?code=${begun.userCode}`);
  assert.deepEqual((await poll(begun.deviceCode)).body, { state: "pending" });
  await ownerSql(service.url, "UPDATE sign_in.device_logins SET asked_at = now() + interval '1 h'");
  assert.deepEqual((await poll(begun.deviceCode)).body, { state: "slow_down" });

  const read = await answer(person, "read", begun.userCode);
  assert.equal(read.body["name"], "hawser on laptop");
  // As people type it.
  const typed = ` ${begun.userCode.toLowerCase().replace("-", "")}`;
  assert.equal((await answer(person, "approve", typed)).status, 200);

  // Another node serves the next poll.
  const { body } = await poll(begun.deviceCode, other);
  assert.equal(body["state"], "approved");
  const me = await createCaller(node.baseUrl, body["key"] as string).whoami({});
  assert.deepEqual(
    [me.scope, me.user!.userId, me.apiKeyId, me.organization.organizationId],
    ["user", person.userId, body["apiKeyId"], acme.organizationId],
  );
  assert.deepEqual(me.permissions.toSorted(), ["instances:view", "sessions:view"]);
  const { apiKeys } = await keys().list_api_keys({});
  const made = apiKeys.find(({ apiKeyId }) => apiKeyId === body["apiKeyId"])!;
  assert.deepEqual([made.name, made.createdBy!.id], ["hawser on laptop", person.userId]);

  const { entries } = await keys().list_audit_entries({ limit: 2 });
  const list = (await person.call(acme.organizationId, "list_sign_ins")).body["result"];
  const [{ signInId }] = (list as { signIns: [{ signInId: string }] }).signIns;
  assert.deepEqual(
    entries.map(({ action, outcome, signInId: by }) => [action, outcome, by]),
    [
      ["create_api_key", "done", signInId],
      ["approve_device_login", "done", signInId],
    ],
  );
});

test("the key is fetched once, by one of many who ask at once, on two nodes", async () => {
  const person = await joinAs();
  const begun = await begin();
  await answer(person, "approve", begun.userCode);
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_each, n) => poll(begun.deviceCode, n % 2 ? node : other)),
  );
  const states = replies.map(({ body }) => body["state"]);
  assert.deepEqual(
    [states.filter((each) => each === "approved").length, new Set(states).size],
    [1, 2],
  );
  assert.deepEqual((await poll(begun.deviceCode)).body, { state: "expired" });
  const { apiKeys } = await keys().list_api_keys({});
  assert.equal(apiKeys.filter(({ user }) => user?.userId === person.userId).length, 1);
});

test("a refused, an old and an unknown code give no key", async () => {
  const person = await joinAs();
  const refused = await begin();
  assert.equal((await answer(person, "refuse", refused.userCode)).status, 200);
  assert.deepEqual((await poll(refused.deviceCode)).body, { state: "refused" });
  assert.equal(codeOf(await answer(person, "approve", refused.userCode)), "not_found");

  const old = await begin();
  await ownerSql(
    service.url,
    "UPDATE sign_in.device_logins SET expires_at = now() WHERE approved_by IS NULL AND refused_at IS NULL",
  );
  assert.deepEqual((await poll(old.deviceCode)).body, { state: "expired" });
  for (const how of ["read", "approve", "refuse"]) {
    assert.equal(codeOf(await answer(person, how, old.userCode)), "not_found", how);
  }
  // Approved in time, and fetched too late.
  const late = await begin();
  await answer(person, "approve", late.userCode);
  await ownerSql(service.url, "UPDATE sign_in.device_logins SET expires_at = now()");
  assert.deepEqual((await poll(late.deviceCode)).body, { state: "expired" });

  const answered = await begin();
  await answer(person, "approve", answered.userCode);
  assert.equal(codeOf(await answer(person, "approve", answered.userCode)), "not_found");
  assert.equal(codeOf(await answer(person, "refuse", answered.userCode)), "not_found");
  assert.deepEqual((await poll(answered.userCode)).body, { state: "expired" });
});

test("the key needs the approving person's sign-in and rights at the moment it is made", async () => {
  const approved = async (person: JoinedPerson) => {
    const begun = await begin();
    assert.equal((await answer(person, "approve", begun.userCode)).status, 200);
    return begun;
  };
  const changes: [string, (person: JoinedPerson) => Promise<unknown>][] = [
    ["signed out", (person) => person.send("/api/sign-in/out", {})],
    ["got another role", ({ userId }) => keys().update_member({ userId, role: "owner" })],
    ["removed", ({ userId }) => keys().remove_member({ userId })],
  ];
  for (const [name, change] of changes) {
    const person = await joinAs();
    const begun = await approved(person);
    await change(person);
    assert.deepEqual((await poll(begun.deviceCode, other)).body, { state: "refused" }, name);
    const { apiKeys } = await keys().list_api_keys({});
    assert.ok(!apiKeys.some(({ user }) => user?.userId === person.userId), name);
  }
});

test("only a fresh sign-in approves, from a page of the service, for an organization it reaches (N24, N25, N27)", async () => {
  const person = await joinAs();
  const { userCode, deviceCode } = await begin();
  const path = "/api/sign-in/device/approve";
  const body = { code: userCode, organizationId: acme.organizationId };
  assert.equal(
    codeOf(await answer(openTestBrowser(node.baseUrl), "approve", userCode)),
    "unauthenticated",
  );
  for (const headers of [
    { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
    { origin: undefined, "sec-fetch-site": undefined },
    { "content-type": "text/plain" },
  ]) {
    assert.equal(
      codeOf(await person.send(path, body, headers)),
      "forbidden",
      JSON.stringify(headers),
    );
  }
  assert.equal(codeOf(await answer(person, "approve", userCode, globex)), "not_found");
  const asKey = await fetch(node.baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${acme.keys.owner}` },
    body: JSON.stringify(body),
  });
  assert.equal(asKey.status, 403);

  await ownerSql(
    service.url,
    "UPDATE sign_in.sign_ins SET authenticated_at = now() - interval '5 minutes 1 second'",
  );
  for (const how of ["read", "approve", "refuse"]) {
    assert.equal(codeOf(await answer(person, how, userCode)), "sign_in_again", how);
  }
  assert.deepEqual((await poll(deviceCode)).body, { state: "pending" });
});

test("whoever guesses codes has ten attempts, also if one of them was right before", async () => {
  const person = await joinAs();
  const right = await begin();
  const wrong = "BBBB-BBBB";
  for (let n = 0; n < 9; n++)
    assert.equal(codeOf(await answer(person, "read", wrong)), "not_found");
  assert.equal((await answer(person, "read", right.userCode)).status, 200);
  assert.equal(codeOf(await answer(person, "read", "not a code")), "not_found");
  const limited = await answer(person, "approve", right.userCode);
  assert.deepEqual([limited.status, codeOf(limited)], [429, "rate_limited"]);
  assert.ok(Number(limited.headers.get("retry-after")) > 60);
  // Nobody else is concerned.
  assert.equal((await answer(await joinAs(), "approve", right.userCode)).status, 200);
});

test("a program's name reaches people as plain letters (N30)", async () => {
  const person = await joinAs();
  const { userCode } = await begin("hawser on \u202eexe.laptop\u001b[31m <b>é</b>");
  const { body } = await answer(person, "read", userCode);
  assert.equal(body["name"], "hawser on exe.laptop[31m <b></b>");
  const unnamed = await begin("\u202e");
  assert.equal((await answer(person, "read", unnamed.userCode)).body["name"], "unnamed");
  assert.equal((await program("begin", { name: "" })).status, 400);
});

test("the database has neither the program's secret, nor the code, nor the key", async () => {
  const person = await joinAs();
  const [waiting, fetched] = [await begin(), await begin()];
  await answer(person, "approve", fetched.userCode);
  const key = (await poll(fetched.deviceCode)).body["key"] as string;
  const dump = await dumpDatabase(service.url);
  const code = waiting.userCode;
  for (const secret of [waiting.deviceCode, code, code.replace("-", ""), key]) {
    assert.ok(!dump.includes(secret));
    assert.ok(!dump.includes(Buffer.from(secret).toString("hex")));
  }
  const log = [...node.log, ...other.log].map((line) => JSON.stringify(line)).join("\n");
  for (const secret of [waiting.deviceCode, code, key]) assert.ok(!log.includes(secret));
});

// The last test: it uses up what this address may do.
test("one address begins only some programs at once", async () => {
  const replies = await Promise.all(
    Array.from({ length: 40 }, () => program("begin", { name: "flood" })),
  );
  const statuses = replies.map(({ status }) => status);
  assert.ok(statuses.includes(200) && statuses.includes(429));
  const unknown = () => poll(`hwd_${"0".repeat(58)}`);
  const polls = await Promise.all(Array.from({ length: 130 }, unknown));
  assert.ok(polls.some(({ status }) => status === 429));
  assert.ok(polls.every(({ status, body }) => status === 429 || body["state"] === "expired"));
});
