// The policy file: read as its owner wrote it. A file that cannot be parsed allows nothing.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { allowAll, createPolicy, parsePolicy, policyText } from "./policy.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-policy-"));
after(() => rmSync(directory, { recursive: true, force: true }));

test("the file that the installer writes allows everything below its roots", () => {
  const roots = ["/srv/code", "/srv/a project"];
  assert.deepEqual(parsePolicy(policyText(roots)), { ...allowAll, roots });
});

test("each setting is obeyed", () => {
  const policy = parsePolicy(
    "root = /srv//code/ # the team's\nroot=/srv/code\nagents = codex\ninstalls = no\nshell = no\n" +
      "exposures = no\nown-logins = no\ntarballs = https://files.example/agents/\n" +
      "parked-gib = 3\nhighest-mode = auto\nunattended-commands = yes\n",
  );
  assert.deepEqual(policy, {
    roots: ["/srv/code"],
    agents: new Set(["codex"]),
    installs: false,
    shell: false,
    highestMode: "auto",
    unattendedCommands: true,
    exposures: false,
    ownLogins: false,
    tarballs: "https://files.example/agents",
    parkedLimitBytes: 3 * 2 ** 30,
    problems: [],
  });
});

for (const [text, why] of [
  ["roots = /srv", 'line 1: there is no setting "roots".'],
  ["\nroot = srv", 'line 2: "srv" is no absolute path.'],
  ["shell", "line 1: is not name = value."],
  ["shell = maybe", 'line 1: "shell" is yes or no.'],
  ["shell = no\nshell = yes", 'line 2: "shell" stands here twice.'],
  ["agents = aider", 'line 1: "aider" is no agent; there are opencode, claude_code, codex.'],
  ["__proto__ = yes", 'line 1: there is no setting "__proto__".'],
  ["parked-gib = much", 'line 1: "much" is no number of GiB.'],
  ["highest-mode = all", 'line 1: "all" is no mode; there are ask, auto, unattended.'],
  ["tarballs = ftp://x", 'line 1: "ftp://x" is no address.'],
] as const) {
  test(`${JSON.stringify(text)} is not understood`, () => {
    assert.throws(() => parsePolicy(text), { message: why });
  });
}

test("a file that is not understood allows nothing and says why, until it is put right", () => {
  const path = join(directory, "policy");
  const { read } = createPolicy(path);
  assert.deepEqual(read(), allowAll);
  writeFileSync(path, "shell = maybe\n");
  const { shell, installs, agents, parkedLimitBytes, problems } = read();
  assert.deepEqual([shell, installs, agents.size], [false, false, 0]);
  assert.equal(parkedLimitBytes, Infinity, "no reason to drop what was put aside");
  assert.equal(problems[0]?.code, "policy_unreadable");
  assert.match(problems[0]?.message ?? "", /line 1: "shell" is yes or no\./);
  writeFileSync(path, "shell = no\nroot = /srv\n");
  assert.deepEqual(read(), { ...allowAll, shell: false, roots: ["/srv"] });
});
