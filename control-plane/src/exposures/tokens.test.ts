// Tickets of hosts and tokens of nodes: what is accepted, for how long, and how often (N20).
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createTunnelTokens } from "./tokens.ts";

const secret = randomBytes(32);
let time = 1_700_000_000_000;
const tokens = () => createTunnelTokens(secret, () => time);
const ticketOf = { exposureId: "exp_1", instanceId: "ins_1" };
const request = { exposureId: "exp_1", method: "GET", path: "/session?a=b" };

/** Every text that differs from the given one in one character. */
function* changed(text: string): Generator<string> {
  for (let i = 0; i < text.length; i++) {
    yield `${text.slice(0, i)}${text[i] === "x" ? "y" : "x"}${text.slice(i + 1)}`;
  }
}

test("a ticket names its exposure and host for a minute, at every node", () => {
  const ticket = tokens().makeTicket(ticketOf);
  assert.deepEqual(tokens().useTicket(ticket), ticketOf);
  time += 60_000;
  assert.deepEqual(tokens().useTicket(ticket), ticketOf);
  time += 1;
  assert.equal(tokens().useTicket(ticket), undefined);
});

test("a ticket is used once at a node", () => {
  const one = tokens();
  const [first, second] = [one.makeTicket(ticketOf), one.makeTicket(ticketOf)];
  assert.deepEqual(one.useTicket(first), ticketOf);
  assert.equal(one.useTicket(first), undefined);
  assert.deepEqual(one.useTicket(second), ticketOf);
});

test("a ticket from the future, of another key, or with any character changed is refused", () => {
  const ticket = tokens().makeTicket(ticketOf);
  const others = createTunnelTokens(randomBytes(32), () => time);
  assert.equal(others.useTicket(ticket), undefined);
  const earlier = createTunnelTokens(secret, () => time - 6_000);
  assert.equal(earlier.useTicket(ticket), undefined);
  for (const text of changed(ticket)) {
    // The last letter of base64 has two unused bits, so another one may mean the same bytes.
    if (text.slice(0, -1) === ticket.slice(0, -1)) continue;
    assert.equal(tokens().useTicket(text), undefined, text);
  }
  for (const text of ["", "hwt_", `${ticket}\n`, ` ${ticket}`, `${ticket}${ticket}`]) {
    assert.equal(tokens().useTicket(text), undefined, text);
  }
});

test("N20: a node's token is good for one request, once, for a minute", () => {
  const one = tokens();
  const cases = [
    { what: "another exposure", request: { ...request, exposureId: "exp_2" } },
    { what: "another method", request: { ...request, method: "POST" } },
    { what: "another path", request: { ...request, path: "/session?a=c" } },
    { what: "a shifted border", request: { ...request, exposureId: "exp_1\nGET", method: "" } },
  ];
  const token = one.makeNodeToken(request);
  for (const wrong of cases) {
    assert.equal(one.acceptNodeToken(token, wrong.request), false, wrong.what);
  }
  assert.equal(one.acceptNodeToken(one.makeTicket(ticketOf), request), false, "a ticket");
  assert.equal(one.acceptNodeToken(token, request), true);
  assert.equal(one.acceptNodeToken(token, request), false, "replayed");
  time += 59_000;
  assert.equal(one.acceptNodeToken(token, request), false, "replayed later");
  const late = one.makeNodeToken(request);
  time += 60_001;
  assert.equal(one.acceptNodeToken(late, request), false, "too late");
});

test("N20: used tokens are remembered for as long as they are valid", () => {
  const one = tokens();
  const made: string[] = [];
  for (let second = 0; second < 200; second += 5) {
    const token = one.makeNodeToken(request);
    assert.equal(one.acceptNodeToken(token, request), true);
    made.push(token);
    for (const old of made) assert.equal(one.acceptNodeToken(old, request), false);
    time += 5_000;
  }
});
