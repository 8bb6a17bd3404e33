// Who works where: sessions and people keep their Unix users.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { openPlaces } from "./places.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-places-"));
after(() => rmSync(directory, { recursive: true, force: true }));
let path: string;
beforeEach(() => void (path = join(mkdtempSync(join(directory, "of-")), "places.sqlite")));

const open = (instanceId = "ins_1") => {
  const places = openPlaces(path, instanceId);
  return { ...places, [Symbol.dispose]: () => places.close() };
};

test("a session keeps the first user that it is bound to, also after a restart", () => {
  {
    using places = open();
    assert.equal(places.userOfSession("ses_1"), undefined);
    assert.equal(places.bindSession("ses_1", "one"), "one");
    assert.equal(places.bindSession("ses_1", "two"), "one");
    assert.equal(places.bindSession("ses_2", "two"), "two");
  }
  using again = open();
  assert.equal(again.bindSession("ses_1", "two"), "one");
  assert.deepEqual([again.userOfSession("ses_1"), again.userOfSession("ses_2")], ["one", "two"]);
});

test("a user serves one person, and a person has one user", () => {
  using places = open();
  places.bindOwner("usr_a.1", "one");
  assert.throws(() => places.bindOwner("usr_b.1", "one"), "the user is taken");
  assert.throws(() => places.bindOwner("usr_a.1", "two"), "the person has one");
  places.bindOwner("usr_b.1", "two");
  assert.equal(places.userOfOwner("usr_a.1"), "one");
  assert.equal(places.userOfOwner("usr_a.2"), undefined, "somebody who joined again is another");
  assert.deepEqual(places.users().sort(), ["one", "two"]);
  assert.deepEqual(
    places.owners().sort((a, b) => a.user.localeCompare(b.user)),
    [
      { ownerId: "usr_a.1", user: "one" },
      { ownerId: "usr_b.1", user: "two" },
    ],
  );
});

test("a user serves its person for ever, also when the host is paired as another instance", () => {
  {
    using places = open();
    places.bindOwner("usr_a.1", "one");
  }
  using other = open("ins_2");
  assert.equal(other.userOfOwner("usr_a.1"), undefined, "of the other instance");
  assert.deepEqual(other.owners(), []);
  assert.deepEqual(other.users(), ["one"], "it is taken");
  assert.throws(() => other.bindOwner("usr_a.1", "one"));
  assert.throws(() => other.bindOwner("usr_b.1", "one"));
  other.bindOwner("usr_a.1", "two");
  assert.equal(other.userOfOwner("usr_a.1"), "two");
});

test("only the daemon's user can read the files", () => {
  using places = open();
  places.bindSession("ses_1", "one");
  const files = readdirSync(join(path, ".."));
  assert.ok(files.length > 1, "with its log");
  for (const name of files)
    assert.equal(statSync(join(path, "..", name)).mode & 0o777, 0o600, name);
});

test("the kinds of a person are counted until they are dropped", () => {
  using places = open();
  assert.equal(places.dropKind("usr_a.1", "codex"), 0, "none was noted");
  for (const kind of ["codex", "claude_code", "codex"]) places.noteKind("usr_a.1", kind);
  places.noteKind("usr_b.1", "codex");
  assert.equal(places.dropKind("usr_a.1", "opencode"), 2);
  assert.equal(places.dropKind("usr_a.1", "codex"), 1);
  assert.equal(places.dropKind("usr_a.1", null), 0);
  assert.equal(places.dropKind("usr_b.1", "claude_code"), 1, "those of others stay");
});
