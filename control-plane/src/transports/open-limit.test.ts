import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { Refusal } from "@hawser/contract";
import { createOpenLimit } from "./open-limit.ts";

class Response extends EventEmitter {
  closed = false;
  close() {
    this.closed = true;
    this.emit("close");
  }
}

const caller = (apiKeyId: string, organizationId = "acme") => ({ apiKeyId, organizationId });
const makeLimit = () =>
  createOpenLimit({
    ofKey: 3,
    ofOrganization: 5,
    refuse: (holder) => new Refusal("concurrency_limited", holder),
  });

test("A12: a key is refused above its limit, and served again when a response is over", () => {
  const limit = makeLimit();
  const first = new Response();
  assert.equal(limit.during(first, caller("a"))(2), undefined);
  const second = limit.during(new Response(), caller("a"));
  assert.equal(second(2)?.message, "key");
  assert.equal(second(1), undefined, "a refused amount does not count");
  first.close();
  assert.equal(second(2), undefined);
  assert.equal(second(1)?.message, "key");
});

test("A12: the keys of an organization have a limit together, and others have their own", () => {
  const limit = makeLimit();
  const hold = (key: string, organization?: string) =>
    limit.during(new Response(), caller(key, organization));
  assert.equal(hold("a")(3), undefined);
  assert.equal(hold("b")(3)?.message, "organization");
  assert.equal(hold("b")(2), undefined);
  assert.equal(hold("c", "globex")(3), undefined);
});

test("A12: a response that is over holds nothing", () => {
  const limit = makeLimit();
  const gone = new Response();
  const late = limit.during(gone, caller("a"));
  gone.close();
  assert.equal(late(3), undefined);
  assert.equal(limit.during(new Response(), caller("a"))(3), undefined);
});
