// Every word of the policy file must have an effect: a word that the daemon ignores gives the owner of a
// host a protection that does not exist.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { allowAll, policyText } from "./policy.ts";

/** Words of the file, and the fields of Policy that they set. */
const fields: Record<string, keyof typeof allowAll> = {
  root: "roots",
  agents: "agents",
  installs: "installs",
  shell: "shell",
  "highest-mode": "highestMode",
  "unattended-commands": "unattendedCommands",
  exposures: "exposures",
  previews: "previews",
  "own-logins": "ownLogins",
  "shared-logins": "sharedLogins",
  "insecure-clone-addresses": "insecureCloneAddresses",
  tarballs: "tarballs",
  "parked-gib": "parkedLimitBytes",
};

const source = join(import.meta.dirname, "..");
const texts = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
  .filter((path) => path !== "policy/policy.ts")
  .map((path) => readFileSync(join(source, path), "utf8"));

/** Whether code reads this field of a policy: by name, or by taking a policy apart. */
function isRead(field: string): boolean {
  const patterns = [
    new RegExp(String.raw`\b[pP]olicy(?:\(\))?\.${field}\b`),
    new RegExp(String.raw`\{[^{}]*\b${field}\b[^{}]*\}\s*(?::|=)[^;{}]*\b[pP]olicy\b`),
  ];
  return texts.some((text) => patterns.some((pattern) => pattern.test(text)));
}

test("A4: the test knows every word of the policy file", () => {
  const written = [...policyText(["/srv"]).matchAll(/^(?:# )?([\w-]+) = /gm)].map(
    ([, name = ""]) => name,
  );
  assert.deepEqual(written.sort(), Object.keys(fields).sort());
  const others = Object.keys(allowAll).filter((field) => field !== "problems");
  assert.deepEqual(Object.values(fields).sort(), others.sort());
});

for (const [word, field] of Object.entries(fields)) {
  test(`A4: code outside of policy.ts reads "${word}"`, () => {
    assert.ok(isRead(field), `no code reads ${field}, so "${word}" has no effect`);
  });
}
