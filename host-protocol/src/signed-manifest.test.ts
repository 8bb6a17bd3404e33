// What may be installed is what a trusted key has signed, and while it is good.
import assert from "node:assert/strict";
import { test } from "node:test";
import { asNewer } from "@hawser/testkit/other-versions.ts";
import { makeSigningKey } from "./nkey.ts";
import {
  AgentManifest,
  DaemonManifest,
  ManifestRefused,
  isNewer,
  readManifest,
  signManifest,
} from "./signed-manifest.ts";

const [current, next, foreign] = [makeSigningKey(), makeSigningKey(), makeSigningKey()];
const trusted = [current.publicKey, next.publicKey];
const now = Date.parse("2026-11-15T00:00:00Z");
const file = { file: "hawserd-1.2.3.mjs", sha256: "a".repeat(64), size: 7 };
const manifest: DaemonManifest = {
  type: "hawser daemon",
  version: "1.2.3",
  publishedAt: "2026-11-01T00:00:00Z",
  expiresAt: "2026-12-01T00:00:00Z",
  platforms: { "linux-x64": { daemon: file, node: { ...file, version: "24.21.0" } } },
};

const read = (value: object, { by = current, changed = (text: string) => text, at = now } = {}) => {
  const text = JSON.stringify(value);
  const bytes = Buffer.from(changed(text));
  return readManifest(DaemonManifest, bytes, signManifest(by.privateKey, text), trusted, at);
};
const refusedAs = (code: string) => (error: unknown) =>
  error instanceof ManifestRefused && error.code === code;

test("either of the two trusted keys is good", () => {
  assert.deepEqual(read(manifest), manifest);
  assert.deepEqual(read(manifest, { by: next }), manifest);
});

test("another key, a changed byte and no signature are not", () => {
  assert.throws(() => read(manifest, { by: foreign }), refusedAs("not_signed"));
  const flip = (text: string) => text.replace("1.2.3", "1.2.4");
  assert.throws(() => read(manifest, { changed: flip }), refusedAs("not_signed"));
  const bytes = Buffer.from(JSON.stringify(manifest));
  for (const signature of [Buffer.alloc(0), Buffer.alloc(64)]) {
    assert.throws(
      () => readManifest(DaemonManifest, bytes, signature, trusted, now),
      refusedAs("not_signed"),
    );
  }
});

test("a manifest is valid until it expires, by the clock of its reader", () => {
  const end = Date.parse(manifest.expiresAt);
  assert.deepEqual(read(manifest, { at: end - 1 }), manifest);
  assert.throws(() => read(manifest, { at: end }), refusedAs("expired"));
});

test("an older daemon reads a later manifest, without the platforms, agents and fields it does not know", () => {
  const { platforms } = manifest;
  const later = { ...manifest, platforms: { ...platforms, "darwin-arm64": { bundle: "x" } } };
  const got = read(asNewer(later));
  assert.deepEqual(got.platforms["linux-x64"], platforms["linux-x64"]);
  assert.equal(got.version, manifest.version);
  const agent = {
    kind: "opencode",
    version: "1.18.33",
    platform: "linux-x64",
    packages: [{ path: "x/-/x.tgz", sha512: `${"A".repeat(86)}==`, size: 7, into: "." }],
    program: "bin/opencode",
  };
  const { publishedAt, expiresAt } = manifest;
  const agents = [{ ...agent, kind: "later_agent" }, { ...agent, platform: "later-os" }, agent];
  const list = { type: "hawser agents", serial: 1, publishedAt, expiresAt, agents };
  const text = JSON.stringify(asNewer(list));
  const signature = signManifest(current.privateKey, text);
  assert.deepEqual(readManifest(AgentManifest, Buffer.from(text), signature, trusted, now), {
    ...list,
    agents: [agent],
  });
});

test("a manifest does not stand for another, and names no file outside its directory", () => {
  const agents: AgentManifest = {
    type: "hawser agents",
    serial: 1,
    publishedAt: manifest.publishedAt,
    expiresAt: manifest.expiresAt,
    agents: [],
  };
  assert.throws(() => read(agents), refusedAs("unreadable"));
  for (const name of ["../hawserd", "/etc/passwd", "a/b", ".hidden", ""]) {
    const daemon = { ...file, file: name };
    const platforms = { "linux-x64": { daemon, node: { ...file, version: "24.21.0" } } };
    assert.throws(() => read({ ...manifest, platforms }), refusedAs("unreadable"), name);
  }
});

test("an agent's packages are unpacked within its directory only", () => {
  const packaged = {
    path: "opencode-ai/-/opencode-ai-1.18.33.tgz",
    sha512: `${"A".repeat(86)}==`,
    size: 7,
  };
  const fits = (change: object) => {
    const agent = {
      kind: "opencode",
      version: "1.18.33",
      platform: "linux-x64",
      packages: [{ ...packaged, into: ".", ...change }],
      program: "bin/opencode",
    };
    const { publishedAt, expiresAt } = manifest;
    const agents = [agent];
    const told = { type: "hawser agents", serial: 1, publishedAt, expiresAt, agents };
    return AgentManifest.safeParse(told).success;
  };
  assert.ok(fits({}));
  assert.ok(fits({ into: "node_modules/@scope/name" }));
  for (const into of ["..", "a/../../b", "/etc", "", "a//b", "./a"])
    assert.ok(!fits({ into }), into);
  for (const path of ["../x/-/x.tgz", "x/-/../x.tgz", "//host/x/-/x.tgz", "x.tgz"])
    assert.ok(!fits({ path }), path);
});

test("versions are compared by their numbers", () => {
  assert.ok(isNewer("1.10.0", "1.9.9"));
  assert.ok(isNewer("2.0.0", "1.99.99"));
  assert.ok(!isNewer("1.2.3", "1.2.3"));
  assert.ok(!isNewer("1.2.3", "1.2.4"));
});
