// Sealed secrets: what a caller seals, the host opens for the same user and kind only, and refuses everything else
// in the same words.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { seal, type LinkWay, type SealingKey } from "@hawser/contract";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { openSealing, readFingerprint, type Sealing } from "./sealing.ts";

const contents = {
  userId: "usr_ada",
  kind: "codex" as const,
  way: "api_key" as LinkWay,
  secret: "sk-canary-0123456789",
};
const wanted = {
  ownerId: "usr_ada.1000",
  kind: "codex" as const,
  way: "api_key" as LinkWay,
  baseUrl: null,
  region: null,
  projectId: null,
};

let folder: string;
let file: string;
let sealing: Sealing;
let key: SealingKey;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "hawser-sealing-"));
  file = join(folder, "sealing-key.json");
  sealing = openSealing(file);
  assert.equal(readFingerprint(file), undefined);
  // Both make the same key.
  const [one, other] = await Promise.all([sealing.publicKey(), sealing.publicKey()]);
  assert.deepEqual(one, other);
  key = one;
});
after(() => removeDirectory(folder));

const open = (sealedSecret: string, more: object = {}) =>
  sealing.open({ ...wanted, sealedSecret, ...more });

test("the host opens what was sealed for its key, also after a restart", async () => {
  const sealed = await seal(key, contents);
  assert.match(sealed, /^[\w-]+(\.[\w-]+){4}$/);
  assert.equal(await open(sealed), contents.secret);
  const again = openSealing(file);
  assert.deepEqual(await again.publicKey(), key);
  assert.equal(await again.open({ ...wanted, sealedSecret: sealed }), contents.secret);
  assert.equal(await open(await seal(key, { ...contents, secret: " sk-1\n" })), "sk-1");
});

test("only its owner reads the key's file, and its fingerprint is that of the public key", () => {
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const { e, kty, n } = key;
  const input = `{"e":"${e}","kty":"${kty}","n":"${n}"}`;
  assert.equal(readFingerprint(file), createHash("sha256").update(input).digest("base64url"));
  assert.deepEqual(Object.keys(key).sort(), ["alg", "e", "kty", "n", "use"]);
  assert.ok(Buffer.from(n, "base64url").length >= 384);
  assert.ok(readFileSync(file, "utf8").includes(n));
});

test("everything else is refused, always in the same words", async () => {
  const sealed = await seal(key, contents);
  const [head, wrapped, iv, text, tag] = sealed.split(".") as [
    string,
    string,
    string,
    string,
    string,
  ];
  const other = (await seal(key, contents)).split(".");
  const withHead = (header: object | string) => {
    const json = typeof header === "string" ? header : JSON.stringify(header);
    return [Buffer.from(json).toString("base64url"), wrapped, iv, text, tag].join(".");
  };
  const names = { alg: "RSA-OAEP-256", enc: "A256GCM" };
  const flipped = (part: string) => `${part.startsWith("A") ? "B" : "A"}${part.slice(1)}`;
  const cases: [why: string, sealedSecret: string, more?: object][] = [
    ["another user", sealed, { ownerId: "usr_bo.1000" }],
    ["a user whose id begins alike", sealed, { ownerId: "usr_ada2.1000" }],
    ["another kind", sealed, { kind: "claude_code" }],
    ["a key that is no JSON, for vertex", sealed, { way: "vertex" }],
    ["nothing", ""],
    ["no parts", "abc"],
    ["one part too few", [head, wrapped, iv, text].join(".")],
    ["one part too many", `${sealed}.AAAA`],
    ["cut", sealed.slice(0, -3)],
    ["a tag that is too short", [head, wrapped, iv, text, tag.slice(0, 16)].join(".")],
    ["parts of two texts", [head, other[1], iv, text, tag].join(".")],
    ["swapped parts", [head, iv, wrapped, text, tag].join(".")],
    ["a changed key", [head, flipped(wrapped), iv, text, tag].join(".")],
    ["a changed nonce", [head, wrapped, flipped(iv), text, tag].join(".")],
    ["a changed text", [head, wrapped, iv, flipped(text), tag].join(".")],
    ["a changed tag", [head, wrapped, iv, text, flipped(tag)].join(".")],
    ["padding", `${sealed}=`],
    ["another algorithm", withHead({ ...names, alg: "RSA-OAEP" })],
    ["another encryption", withHead({ ...names, enc: "A128GCM" })],
    ["compression", withHead({ ...names, zip: "DEF" })],
    ["critical extensions", withHead({ ...names, crit: ["x"] })],
    ["a header that was not authenticated", withHead({ ...names, kid: "x" })],
    ["a header that is no object", withHead("null")],
    ["a header that is no JSON", withHead("{")],
    ["too long a secret", await seal(key, { ...contents, secret: "x".repeat(16_385) })],
    ["too long a text", `${sealed}${"A".repeat(32_768)}`],
    ["no secret", await seal(key, { ...contents, secret: undefined as unknown as string })],
    ["another way", await seal(key, { ...contents, way: "gateway" })],
    ["an address", await seal(key, { ...contents, baseUrl: "https://gateway.test" })],
    ["an address that was not sealed", sealed, { baseUrl: "https://gateway.test" }],
    ["a region that was not sealed", sealed, { region: "eu-central-1" }],
    ["a project that was not sealed", sealed, { projectId: "p" }],
    ["an empty secret", await seal(key, { ...contents, secret: "" })],
    ["two lines", await seal(key, { ...contents, secret: "a\nb" })],
    ["a list", await seal(key, [] as unknown as typeof contents)],
    ["no user", await seal(key, { ...contents, userId: undefined as unknown as string })],
  ];
  const messages = new Set<string>();
  for (const [why, sealedSecret, more] of cases) {
    await assert.rejects(
      open(sealedSecret, more),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, "login_failed", why);
        messages.add(error.message);
        return true;
      },
      why,
    );
  }
  assert.equal(messages.size, 1);
  assert.equal(await open(sealed), contents.secret);
});

test("a secret for Google's cloud names no file and no command of the host", async () => {
  const way = "vertex" as const;
  const vertex = async (credential: object) =>
    open(await seal(key, { ...contents, way, secret: JSON.stringify(credential, undefined, 2) }), {
      way,
    });
  for (const type of ["service_account", "authorized_user"]) {
    assert.match(await vertex({ type, project_id: "p" }), /"project_id": "p"/);
  }
  for (const type of ["external_account", "impersonated_service_account", undefined]) {
    await assert.rejects(vertex({ type }), { code: "login_failed" });
  }
});

test("the program in the guide seals what the host opens, and prints the key's fingerprint", async () => {
  const guide = readFileSync(join(import.meta.dirname, "../../../docs/guide/hosts.md"), "utf8");
  const [, program] = /^```js\n([\s\S]*?)^```$/m.exec(guide)!;
  const [script, answer] = [join(folder, "seal.mjs"), join(folder, "identities.json")];
  const fields = JSON.stringify({ kind: "codex", way: "api_key" });
  writeFileSync(script, program!);
  writeFileSync(answer, JSON.stringify({ sealingKey: key }));
  const { stdout, stderr } = spawnSync(process.execPath, [script, answer, "usr_ada", fields], {
    input: `${contents.secret}\n`,
    encoding: "utf8",
    timeout: 20_000,
  });
  assert.equal(await open(stdout.trim()), contents.secret, stderr);
  assert.equal(stderr, `The host's key: ${readFingerprint(file)}\n`);
});

test("another key cannot open it", async () => {
  const sealed = await seal(key, contents);
  const stranger = openSealing(join(folder, "other.json"));
  await assert.rejects(stranger.open({ ...wanted, sealedSecret: sealed }), {
    code: "login_failed",
  });
  stranger.remove();
  assert.equal(readFingerprint(join(folder, "other.json")), undefined);
});
