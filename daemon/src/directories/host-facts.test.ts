// What the host's facts say of roots and git, and that an unchanged host costs no process.
import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createGit } from "../git/git.ts";
import { createPolicy } from "../policy/policy.ts";
import { createDirectories } from "./directories.ts";
import { createDirectoryFacts } from "./host-facts.ts";

const place = realpathSync(mkdtempSync(join(tmpdir(), "hawser-facts-")));
after(() => rmSync(place, { recursive: true, force: true }));
const file = join(place, "policy");
const started = join(place, "started");

/** A host whose git says that it is this version. */
function createReader(version: string | undefined) {
  const bin = join(place, `git-${version}`);
  mkdirSync(bin);
  if (version !== undefined) {
    const text = `#!/bin/sh\necho x >> ${started}\necho git version ${version}\n`;
    writeFileSync(join(bin, "git"), text);
    chmodSync(join(bin, "git"), 0o755);
  }
  const policy = createPolicy(file).read;
  return createDirectoryFacts(
    policy,
    createDirectories(policy),
    createGit({ PATH: `${bin}:/bin` }),
  );
}

test("a good host has its roots and no warning, and looking again starts nothing", async () => {
  writeFileSync(file, `root = ${place}\n`);
  const readFacts = createReader("2.43.7");
  const facts = { path: place, type: "folder", isGitRepository: false, branch: null, remote: null };
  const expected = { roots: [facts], warnings: [] };
  for (let i = 0; i < 3; i++) assert.deepEqual(await readFacts(), expected);
  assert.equal(readFileSync(started, "utf8"), "x\n");
});

for (const [version, codes] of [
  ["2.43.6", ["git_outdated"]],
  ["2.39.5", ["git_outdated"]],
  ["2.44.0", []],
  ["3.0", []],
] as const) {
  test(`git ${version} is ${codes.length > 0 ? "outdated" : "good"}`, async () => {
    writeFileSync(file, "");
    const { warnings } = await createReader(version)();
    assert.deepEqual(
      warnings!.map(({ code }) => code),
      codes,
    );
  });
}

test("a policy file that is no use, a root that is gone and a git that is missing are warnings", async () => {
  writeFileSync(file, "root = /nowhere/at/all\n");
  const policy = createPolicy(file).read;
  const git = createGit({ PATH: join(place, "nothing") });
  const readFacts = createDirectoryFacts(policy, createDirectories(policy), git);
  const codesNow = async () => (await readFacts()).warnings!.map(({ code }) => code);
  assert.deepEqual(await codesNow(), ["root_missing", "git_missing"]);
  writeFileSync(file, "rots = /\n");
  assert.deepEqual(await codesNow(), ["policy_unreadable", "git_missing"]);
});
