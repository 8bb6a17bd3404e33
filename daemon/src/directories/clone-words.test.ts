// Progress and failures of a clone. These are tables, because both functions only parse text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { explainCloneFailure } from "./clone-failure.ts";
import { followProgress } from "./clone-progress.ts";

test("progress is reported once per change, whatever pieces it arrives in", () => {
  const said =
    "Cloning into 'x'...\nremote: Receiving objects: 99% (99/100)\rremote: Counting objects: 5%\n" +
    "Receiving objects:   0% (1/200)\rReceiving objects:   0% (1/200)\rReceiving objects:  50% (100/200), 1.00 MiB | 2 KiB/s\r" +
    "Receiving objects: 100% (200/200), done.\nResolving deltas: 100% (3/3), done.\nUpdating files:  20% (1/5)\r" +
    "Receiving trouble: 10%\n";
  const expected = [
    ["receiving objects", 0],
    ["receiving objects", 40],
    ["receiving objects", 80],
    ["resolving deltas", 95],
    ["updating files", 96],
  ];
  for (const size of [1, 7, said.length]) {
    const told: [string, number][] = [];
    const follow = followProgress((step, percent) => told.push([step, percent]));
    for (let at = 0; at < said.length; at += size) follow(said.slice(at, at + size));
    assert.deepEqual(told, expected, `pieces of ${size}`);
  }
});

test("a failure is reported by its kind, and a server's own words do not count", () => {
  const cases: [said: string, told: RegExp][] = [
    ["fatal: could not read Username for 'https://h': terminal prompts disabled", /not let/],
    [
      "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.",
      /not let/,
    ],
    ["Host key verification failed.\nfatal: Could not read from remote", /ssh key/],
    ["fatal: unable to access 'https://a:b@h/': Could not resolve host: h", /cannot be reached/],
    [
      "fatal: unable to access 'https://h/': server certificate verification failed.",
      /certificate/,
    ],
    ["remote: Permission denied\nfatal: repository 'https://h/x/' not found", /no such repository/],
    ["fatal: write error: No space left on device", /disk is full/],
    ["error: RPC failed; curl 18\nfatal: early EOF", /broke off/],
    ["remote: certificate\nfatal: something new", /by hand/],
    ["", /by hand/],
  ];
  for (const [said, told] of cases) assert.match(explainCloneFailure(said), told, said);
});
