// The policy file: read as its owner wrote it. A file that is missing or cannot be read allows nothing.
import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  rmSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
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
      "exposures = no\nown-logins = no\nshared-logins = yes\ntarballs = https://files.example/agents/\n" +
      "parked-gib = 3\nhighest-mode = auto\nunattended-commands = yes\n" +
      "insecure-clone-addresses = yes\n",
  );
  assert.deepEqual(policy, {
    roots: ["/srv/code"],
    agents: new Set(["codex"]),
    installs: false,
    shell: false,
    highestMode: "auto",
    unattendedCommands: true,
    exposures: false,
    previews: false,
    ownLogins: false,
    sharedLogins: true,
    insecureCloneAddresses: true,
    tarballs: "https://files.example/agents",
    parkedLimitBytes: 3 * 2 ** 30,
    problems: [],
  });
});

test("previews are allowed as exposures are, unless the file says otherwise", () => {
  const read = (text: string) => {
    const { exposures, previews } = parsePolicy(text);
    return [exposures, previews];
  };
  assert.deepEqual(read(""), [true, true]);
  assert.deepEqual(read("exposures = no"), [false, false]);
  assert.deepEqual(read("exposures = no\npreviews = yes"), [false, true]);
  assert.deepEqual(read("previews = no"), [true, false]);
});

for (const [text, why] of [
  ["roots = /srv", 'line 1: there is no setting "roots".'],
  ["\nroot = srv", 'line 2: "srv" is not an absolute path.'],
  ["shell", 'line 1: "shell" is not of the form name = value.'],
  ["shell = maybe", 'line 1: "shell" must be yes or no.'],
  ["shell = no\nshell = yes", 'line 2: "shell" is set a second time. Keep one of the two lines.'],
  [
    "agents = aider",
    'line 1: "aider" is not an agent. The agents are opencode, claude_code, codex.',
  ],
  ["__proto__ = yes", 'line 1: there is no setting "__proto__".'],
  ["parked-gib = much", 'line 1: "much" is not a whole number of GiB.'],
  ["highest-mode = all", 'line 1: "all" is not a mode. The modes are ask, auto, unattended.'],
  ["tarballs = ftp://x", 'line 1: "ftp://x" is not an https:// address.'],
] as const) {
  test(`${JSON.stringify(text)} is not understood`, () => {
    assert.throws(() => parsePolicy(text), { message: why });
  });
}

test("a file that is missing or not understood allows nothing and says why, until it is put right", () => {
  const path = join(directory, "policy");
  let changes = 0;
  const { read } = createPolicy(path, () => changes++);
  const allowsNothing = (code: string, message: string) => {
    const { highestMode, shell, installs, agents, parkedLimitBytes, problems } = read();
    assert.deepEqual([highestMode, shell, installs, agents.size], ["ask", false, false, 0]);
    assert.equal(parkedLimitBytes, Infinity, "no reason to drop what was put aside");
    assert.deepEqual(problems, [{ code, message: `The policy file ${path} ${message}` }]);
  };
  allowsNothing(
    "policy_missing",
    "is missing, so this host allows nothing. On the host, make the file with: hawserd roots add DIR",
  );
  const unreadable = (why: string) =>
    allowsNothing(
      "policy_unreadable",
      `cannot be read, so this host allows nothing: ${why}. On the host, correct the file; a restart is not needed.`,
    );
  mkdirSync(path);
  unreadable("EISDIR: illegal operation on a directory, read");
  rmdirSync(path);
  symlinkSync(path, path);
  unreadable(`ELOOP: too many symbolic links encountered, open '${path}'`);
  unlinkSync(path);
  writeFileSync(path, "shell = maybe\n");
  unreadable('line 1: "shell" must be yes or no');
  writeFileSync(path, "shell = no\nroot = /srv\n");
  assert.deepEqual(read(), { ...allowAll, shell: false, roots: ["/srv"] });
  assert.equal(changes, 4, "a directory, a link, a wrong line, a right one");
  read();
  assert.equal(changes, 4, "unchanged");
});
