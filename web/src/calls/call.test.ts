import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import type { RefusalBody } from "@hawser/client";
import { call, pauseBefore } from "./call.ts";
import { organization } from "./organization.ts";
import { pageHeaders, pagePerson } from "./page-person.ts";
import { Refused, Unanswered } from "./refused.ts";
import { answerSignIn } from "./sign-in-again.ts";

const server = createServer((request, response) => answer(request, response));
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let seen: IncomingMessage[] = [];
const sent =
  (status: number, body: object) => (request: IncomingMessage, response: ServerResponse) => {
    seen.push(request);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
const refusal = (code: string, more: Partial<RefusalBody> = {}) => ({
  error: { code, message: "No.", retry: "never", ...more },
});

before(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  // What a page has and Node does not: addresses without an origin, and storage of the tab.
  const fetchThere = globalThis.fetch;
  globalThis.fetch = (path, init) =>
    fetchThere(
      new URL(path instanceof Request ? path.url : path, `http://127.0.0.1:${port}`),
      init,
    );
  const storage = () => {
    const kept = new Map<string, string>();
    return {
      getItem: (name: string) => kept.get(name) ?? null,
      setItem: (name: string, value: string) => void kept.set(name, value),
      removeItem: (name: string) => void kept.delete(name),
    };
  };
  Object.assign(globalThis, { sessionStorage: storage(), localStorage: storage() });
  organization.use("org_1");
});
after(() => server.close());
beforeEach(() => (seen = []));

const rename = (idempotencyKey = "press-1") =>
  call("update_instance", { instanceId: "ins_1", name: "a" }, { idempotencyKey });

/** Answers each request with the next of these, and further ones with the last. */
function answerInTurn(...answers: (typeof answer)[]): void {
  let next = 0;
  answer = (request, response) => answers[Math.min(next++, answers.length - 1)]!(request, response);
}

test("a call names its organization, and a change its key", async () => {
  answerInTurn(sent(200, { result: { name: "a" } }));
  assert.deepEqual(await rename(), { name: "a" });
  const [request] = seen;
  assert.equal(request!.url, "/api/rest/actions/update_instance");
  assert.equal(request!.headers["x-hawser-organization"], "org_1");
  assert.equal(request!.headers["idempotency-key"], "press-1");
});

test("what a page sends names its person, and a refusal for somebody else is known to the whole page", async () => {
  answerInTurn(sent(200, { result: {} }));
  await rename();
  assert.equal(seen[0]!.headers["x-hawser-person"], undefined, "nobody is known");
  pagePerson.noteSignedIn("usr_1");
  await rename();
  assert.equal(seen[1]!.headers["x-hawser-person"], "usr_1");
  const both = { "x-hawser-organization": "org_1", "x-hawser-person": "usr_1" };
  assert.deepEqual(pageHeaders(), both);

  let changes = 0;
  const stop = pagePerson.subscribe(() => (changes += 1));
  answerInTurn(sent(409, refusal("other_person", { retry: "changed" })));
  await assert.rejects(rename(), { code: "other_person" });
  assert.deepEqual([seen.length, pagePerson.isOther(), changes], [3, true, 1]);
  // The page stays the first person's, whoever is signed in.
  pagePerson.noteSignedIn("usr_2");
  assert.deepEqual([pagePerson.isOther(), pageHeaders()], [true, both]);
  pagePerson.noteSignedIn("usr_1");
  assert.deepEqual([pagePerson.isOther(), changes], [false, 2]);
  stop();
  pagePerson.forget();
});

test("5 In progress: all retries of a press have its key: later, no answer, and not known yet", async () => {
  answerInTurn(
    sent(429, refusal("rate_limited", { retry: "later", retryAfterMs: 5 })),
    (request) => void (seen.push(request), request.socket.destroy()),
    sent(409, refusal("in_progress", { retry: "later", retryAfterMs: 5 })),
    sent(200, { result: {} }),
  );
  await rename("press-2");
  assert.deepEqual(
    seen.map(({ headers }) => headers["idempotency-key"]),
    Array.from({ length: 4 }, () => "press-2"),
  );
});

test("what must not be repeated is not", async () => {
  for (const [status, code, retry] of [
    [404, "not_found", "never"],
    [409, "last_owner", "changed"],
    [500, "internal", "later"],
  ] as const) {
    seen = [];
    answerInTurn(sent(status, refusal(code, { retry })));
    await assert.rejects(rename(), (error) => error instanceof Refused && error.code === code);
    assert.equal(seen.length, 1, code);
  }
});

test("5 Signed out elsewhere: without a sign-in the person is asked once for all calls, which then go on with their keys", async () => {
  let asked = 0;
  let isSignedIn = false;
  const held: (() => void)[] = [];
  const stop = answerSignIn(async () => {
    asked += 1;
    isSignedIn = true;
  });
  answer = (request, response) => {
    if (isSignedIn) return sent(200, { result: {} })(request, response);
    // The last refusal arrives when the person has signed in already.
    const refuse = () => sent(401, refusal("unauthenticated"))(request, response);
    if (held.push(refuse) === 3) held.slice(0, 2).forEach((each) => each());
  };
  const calls = Promise.all([rename("a"), rename("b").then(() => held[2]!()), call("whoami", {})]);
  await calls;
  stop();
  assert.equal(asked, 1);
  const keys = seen.map(({ headers }) => headers["idempotency-key"]);
  for (const key of ["a", "b", undefined]) {
    assert.equal(keys.filter((each) => each === key).length, 2, key);
  }
});

test("who does not sign in gets the refusal", async () => {
  const stop = answerSignIn((reason) => Promise.reject(reason));
  answerInTurn(sent(401, refusal("unauthenticated")));
  await assert.rejects(rename(), { code: "unauthenticated" });
  stop();
});

test("a change without a key is never repeated without an answer, because it could happen twice", () => {
  const lost = new Unanswered("nothing");
  assert.equal(pauseBefore(lost, 0, false), undefined);
  assert.equal(pauseBefore(lost, 0, true), 500);
  assert.equal(pauseBefore(lost, 3, true), 4_000);
  assert.equal(pauseBefore(lost, 5, true), undefined);
});
