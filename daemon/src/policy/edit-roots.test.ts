import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { addRoot, removeRoot } from "./edit-roots.ts";
import { parsePolicy, policyText } from "./policy.ts";

function policyFile(t: TestContext, text?: string) {
  const directory = mkdtempSync(join(tmpdir(), "hawser-policy-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "policy");
  if (text !== undefined) writeFileSync(path, text);
  return { path, read: () => readFileSync(path, "utf8") };
}

test("a root is added after the last one, and nothing else in the file moves", (t) => {
  const before = "# mine\nroot = /srv/a # old\n\nshell = no\n# end\n";
  const { path, read } = policyFile(t, before);
  addRoot(path, "/srv/with space");
  assert.equal(
    read(),
    "# mine\nroot = /srv/a # old\nroot = /srv/with space\n\nshell = no\n# end\n",
  );
  addRoot(path, "/srv/a");
  assert.equal(read().match(/srv\/a/g)?.length, 1);
  assert.ok(removeRoot(path, "/srv/with space"));
  assert.equal(read(), before);
  assert.ok(!removeRoot(path, "/srv/elsewhere"));
});

test("the first root goes where the installer's file speaks of roots, or makes that file", (t) => {
  const { path, read } = policyFile(t);
  addRoot(path, "/srv/a");
  assert.equal(read(), policyText(["/srv/a"]));
  assert.equal(statSync(path).mode & 0o777, 0o600);
  removeRoot(path, "/srv/a");
  addRoot(path, "/srv/b");
  assert.deepEqual(parsePolicy(read()).roots, ["/srv/b"]);
  const none = policyFile(t, "");
  addRoot(none.path, "/srv/c");
  assert.deepEqual(parsePolicy(none.read()).roots, ["/srv/c"]);
});

test("a path that the file would read as another is refused", (t) => {
  const { path } = policyFile(t);
  for (const directory of ["/srv/a #b", "/srv/a\nshell = yes", "/srv/a ", "srv"]) {
    assert.throws(() => addRoot(path, directory), directory);
  }
});

test("a file that its owner keeps elsewhere stays a link to it", (t) => {
  const kept = policyFile(t, "root = /srv/a\n");
  const link = policyFile(t);
  symlinkSync(kept.path, link.path);
  addRoot(link.path, "/srv/b");
  assert.equal(kept.read(), "root = /srv/a\nroot = /srv/b\n");
});
