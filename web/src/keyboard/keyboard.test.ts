// Which act a key belongs to, and when none.
import assert from "node:assert/strict";
import { test } from "node:test";
import { actIds, acts } from "./acts.ts";
import { createKeyboard, type Press } from "./keyboard.ts";

const press = (key: string, more: Partial<Press> = {}): Press => ({
  key,
  hasMod: false,
  hasAlt: false,
  hasOther: false,
  isComposing: false,
  isRepeat: false,
  isInField: false,
  isInDialog: false,
  ...more,
});

/** A keyboard with every act but those of the review, where keys mean other things, and what has run. */
function all(hasSingleKeys = true) {
  const keyboard = createKeyboard(() => hasSingleKeys);
  const ran: string[] = [];
  for (const id of actIds) {
    if (acts[id].area !== "review") keyboard.add(id, () => void ran.push(id));
  }
  return { keyboard, ran };
}

for (const id of actIds) {
  for (const key of acts[id].keys) {
    test(`7 Keyboard: ${key} is ${id}`, () => {
      const ran: string[] = [];
      const keyboard = createKeyboard();
      // The letters of a request come before those of the review.
      for (const each of actIds) {
        if (acts[each].area === acts[id].area) keyboard.add(each, () => void ran.push(each));
      }
      const held = { hasMod: key.startsWith("mod+"), hasAlt: key.startsWith("alt+") };
      const parts = key
        .replace(/^(?:mod|alt)\+/, "")
        .replace(/\d-\d/, "3")
        .split(" ");
      for (const [at, part] of parts.entries()) {
        assert.equal(keyboard.press(press(part.toUpperCase(), held), at), true);
      }
      assert.deepEqual(ran, [id]);
    });
  }
}

test("7 Keyboard: no key means two things, but in the review where no list and no request is", () => {
  for (const isReview of [true, false]) {
    const areas = isReview
      ? ["everywhere", "session", "review"]
      : ["everywhere", "session", "list", "request"];
    const keys = actIds.flatMap((id) => (areas.includes(acts[id].area) ? acts[id].keys : []));
    assert.equal(new Set(keys).size, keys.length);
  }
});

test("7 Keyboard: Alt and a digit works also while a person types, and there are four", () => {
  const { keyboard, ran } = all();
  const pressed: string[] = [];
  keyboard.add("panel", (key) => void pressed.push(key));
  for (const key of ["1", "4", "5", "0", "-"]) {
    keyboard.press(press(key, { hasAlt: true, isInField: true }), 0);
  }
  keyboard.press(press("2", { hasAlt: true, hasMod: true }), 0);
  keyboard.press(press("2", { hasAlt: true, isInDialog: true }), 0);
  assert.deepEqual([pressed, ran], [["1", "4"], []]);
});

test("7 Keyboard: single keys do nothing in fields and dialogs, while a word is composed, or with another key", () => {
  const { keyboard, ran } = all();
  for (const more of [
    { isInField: true },
    // The element that had the focus may be gone.
    { isInDialog: true },
    { isComposing: true },
    { hasOther: true },
    { hasAlt: true },
    { isRepeat: true },
  ]) {
    assert.equal(keyboard.press(press("y", more), 0), false);
  }
  assert.equal(keyboard.press(press("k", { hasMod: true, isInDialog: true }), 0), false);
  assert.deepEqual(ran, []);
  assert.equal(keyboard.press(press("k", { hasMod: true, isInField: true }), 0), true);
  assert.deepEqual(ran, ["palette"], "keys with Command work while a person types");
});

test("7 Keyboard: J and K go on while they are held", () => {
  const { keyboard, ran } = all();
  keyboard.press(press("j", { isRepeat: true }), 0);
  assert.deepEqual(ran, ["next"]);
});

test("7 Keyboard (WCAG 2.1.4): single keys can be switched off, also G and then a letter", () => {
  const { keyboard, ran } = all(false);
  for (const key of ["y", "?", "[", "3", "g", "i", "/"]) {
    assert.equal(keyboard.press(press(key), 0), false, key);
  }
  assert.deepEqual(ran, []);
  keyboard.press(press("."), 0);
  keyboard.press(press(".", { hasMod: true }), 0);
  keyboard.press(press("End"), 0);
  assert.deepEqual(ran, ["stop", "follow"]);
});

test("7 Keyboard: the letter after G counts for a moment, and means nothing else meanwhile", () => {
  const { keyboard, ran } = all();
  keyboard.press(press("g"), 0);
  keyboard.press(press("i"), 1_500);
  keyboard.press(press("g"), 10_000);
  keyboard.press(press("i"), 11_501);
  keyboard.press(press("g"), 20_000);
  assert.equal(keyboard.press(press("z"), 20_001), false);
  keyboard.press(press("i"), 20_002);
  assert.deepEqual(ran, ["go_inbox", "compose", "compose"]);
});

test("7 Keyboard: the newest handler is asked first, and may leave the key to the one before it", () => {
  const keyboard = createKeyboard();
  const ran: string[] = [];
  keyboard.add("next", () => void ran.push("page"));
  const remove = keyboard.add("next", () => {
    ran.push("card");
    return false;
  });
  keyboard.press(press("j"), 0);
  remove();
  keyboard.press(press("j"), 1);
  assert.deepEqual(ran, ["card", "page", "page"]);
});

test("7 Keyboard: what no page has registered is not among the acts that the map shows", () => {
  const keyboard = createKeyboard();
  let changes = 0;
  keyboard.subscribe(() => (changes += 1));
  assert.deepEqual(keyboard.active(), []);
  const remove = keyboard.add("stop", () => {});
  keyboard.add("palette", () => {});
  assert.deepEqual(keyboard.active(), ["palette", "stop"]);
  remove();
  assert.deepEqual(keyboard.active(), ["palette"]);
  assert.equal(changes, 3);
});
