// How many links a host may have at an edge and how fast they may send, by a clock that the test moves.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { createHostLinks, type HostLinkPlace, type HostLinks } from "./host-links.ts";

let at = 0;
let links: HostLinks;
let ended: string[];

beforeEach(() => {
  at = 1_000_000;
  ended = [];
  links = createHostLinks(() => at);
});

function open(publicKey: string, name = publicKey): HostLinkPlace {
  const place = links.open(publicKey);
  assert.ok("linked" in place, `${name} got no place`);
  place.linked(() => ended.push(name));
  return place;
}

function waitOf(publicKey: string): number | undefined {
  const place = links.open(publicKey);
  return "retryAfterMs" in place ? place.retryAfterMs : undefined;
}

test("A6: a fifth link of a host is refused while all four are alive, and others are not", () => {
  const places = [1, 2, 3, 4].map((number) => open("UA", `link ${number}`));
  at += 8_000;
  for (const place of places) place.received(6, 1);
  assert.equal(waitOf("UA"), 10_000);
  open("UB");
  places[0]!.close();
  open("UA", "link 5");
  assert.deepEqual(ended, []);
});

test("A6: a fifth link takes the place of the link that was silent longest", () => {
  const places = [1, 2, 3, 4].map((number) => open("UA", `link ${number}`));
  at += 9_000;
  for (const index of [0, 2, 3]) places[index]!.received(6, 1);
  assert.equal(waitOf("UA"), 1_000);
  at += 1_000;
  open("UA", "link 5");
  assert.deepEqual(ended, ["link 2"]);
  // The socket of an ended link closes later, and frees no second place.
  places[1]!.close();
  assert.ok(waitOf("UA"));
});

test("A6: a link that is still being opened counts, and is not ended for another", () => {
  for (let number = 1; number <= 4; number++) assert.ok("linked" in links.open("UA"));
  at += 60_000;
  assert.equal(waitOf("UA"), 1_000);
});

test("A6: a host that opens links all the time is slowed to one a second", () => {
  for (let number = 1; number <= 30; number++) open("UA").close();
  assert.equal(waitOf("UA"), 1_000);
  at += 1_000;
  open("UA").close();
});

test("A6: the links of a host share one speed, also after it connects again", () => {
  const [first, second] = [open("UA"), open("UA")];
  assert.equal(first.received(2 * 1024 * 1024, 0), 0);
  assert.equal(second.received(1024, 0), 1);
  first.close();
  second.close();
  at += 1;
  const third = open("UA");
  assert.equal(third.received(64 * 1024, 0), 64);
  at += 3_000;
  assert.equal(third.received(2 * 1024 * 1024, 0), 0);
});

test("A6: a message counts as a kilobyte, however small it is", () => {
  const link = open("UA");
  assert.equal(link.received(0, 2_048), 0);
  assert.equal(link.received(0, 10), 10);
});

test("a link within a minute after another of the host is a repeated one", () => {
  const isRepeated = (publicKey: string) => {
    const place = links.open(publicKey);
    assert.ok("isRepeated" in place);
    place.close();
    return place.isRepeated;
  };
  assert.equal(isRepeated("UA"), false);
  assert.equal(isRepeated("UA"), false, "no link was opened");
  open("UA").close();
  assert.deepEqual([isRepeated("UA"), isRepeated("UB")], [true, false]);
  at += 59_000;
  assert.equal(isRepeated("UA"), true, "it is remembered after it has left");
  at += 1_000;
  assert.equal(isRepeated("UA"), false);
});
