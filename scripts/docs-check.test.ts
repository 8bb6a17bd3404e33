import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bannedWords,
  findBannedWords,
  findBrokenLinks,
  findStaleClaims,
  findUnknownActions,
  findUnlistedFolders,
} from "./docs-check.ts";

const actions = ["list_hosts", "start_job"];

test("a source folder that its workspace's README does not name is a complaint", () => {
  const readme = () => "| `src/link/` | the link |";
  assert.deepEqual(findUnlistedFolders(["daemon/src/link"], readme), []);
  const [found] = findUnlistedFolders(["daemon/src/link", "daemon/src/journal"], readme);
  assert.match(found!, /^daemon\/README\.md:1 does not name src\/journal\//);
});

const names: [text: string, complaints: number][] = [
  ["`start_job` starts one", 0],
  ["`start_jobs` starts one", 1],
  ["`start_unknown` is a reason and `other_word` anything", 0],
  ["a call of an action", 0],
  ["```sh\nhawser call list_hosts '{}'\n```", 0],
  ["```sh\nhawser call list_host '{}'\n```", 1],
  ["```sh\ncurl /api/rest/actions/list_host\n```", 1],
];
for (const [text, complaints] of names) {
  test(`${complaints === 0 ? "accepts" : "finds the unknown action in"}: ${text}`, () => {
    assert.equal(findUnknownActions("a.md", text, actions).length, complaints);
  });
}

const claims: [text: string, complaints: number][] = [
  ["`start_job` is not built.", 1],
  ["| Jobs | `start_job` answers 501 |", 1],
  ["It runs no agents yet.", 1],
  ["As nothing can be started, no key can be made yet either.", 1],
  ["**root** _(later)_: a directory", 1],
  ["Nothing removes it. `start_job` starts one.", 0],
];
for (const [text, complaints] of claims) {
  test(`${complaints === 0 ? "accepts" : "finds the stale claim in"}: ${text}`, () => {
    assert.equal(findStaleClaims("a.md", text).length, complaints);
  });
}

test("a word that the glossary bans is a complaint in prose, and none in code", () => {
  const glossary =
    "## Words that documents never use\n\n| Never | Write |\n| --- | --- |\n| chat, told | a session |\n\n## Other\n\n| fine | x |\n";
  const banned = bannedWords(glossary);
  assert.deepEqual([...banned.keys()], ["chat", "told"]);
  assert.equal(findBannedWords("a.md", "The Chat was told.", banned).length, 2);
  const code = "`chat` in [text](chat.md), chatter\n```sh\nchat\n```";
  assert.deepEqual(findBannedWords("a.md", code, banned), []);
  assert.equal(findBannedWords("a.md", "text", new Map()).length, 1);
});

test("a link to a file or a heading that does not exist is a complaint", () => {
  const files: Record<string, string> = { "docs/b.md": "# A `name`, and more\n" };
  const check = (text: string) => findBrokenLinks("docs/a.md", text, (path) => files[path]);
  assert.deepEqual(check("[b](b.md#a-name-and-more), [x](https://x.example/#y)"), []);
  assert.deepEqual(check("## Here\n[here](#here)"), []);
  assert.equal(check("[b](c.md) and [b](b.md#other)").length, 2);
});
