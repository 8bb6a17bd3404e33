// What those are told whom a session refuses because of its account.
import assert from "node:assert/strict";
import { test } from "node:test";
import { refusalOfStranger } from "./strangers.ts";

const bo = "usr_bo.2000";
const messageFor = (guests: string[] | null | undefined, who: string | null) =>
  refusalOfStranger(guests === undefined ? {} : { guests }, who).message;

test("a person with whom a session is not shared reads how it can be shared", () => {
  for (const guests of [undefined, [], ["usr_cy.3000"]]) {
    assert.match(messageFor(guests, bo), /can let you prompt it with share_session/);
  }
});

test("a person who may prompt already reads what stays with the owner, and not how to share", () => {
  for (const guests of [[bo], null]) {
    const message = messageFor(guests, bo);
    assert.match(message, /^This session is shared with you.*Only the owner/);
    assert.doesNotMatch(message, /share_session/);
  }
});

test("a key without a person reads that sharing does not help it", () => {
  for (const guests of [undefined, [bo], null]) {
    const message = messageFor(guests, null);
    assert.match(message, /keys of organizations and agents cannot/);
    assert.doesNotMatch(message, /share_session/);
  }
});
