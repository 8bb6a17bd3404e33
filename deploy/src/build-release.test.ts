import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { DaemonManifest, readManifest } from "@hawser/host-protocol";
import { buildRelease } from "./build-release.ts";
import {
  makeReleaseKeys,
  nextReleaseKeys,
  readReleaseKeys,
  writeReleaseKeys,
} from "./release-keys.ts";
import { ReleaseRefused } from "./release-refused.ts";

test("a release is one signed manifest, and the daemon in it runs, knows its version and trusts its publisher", async (t) => {
  const out = mkdtempSync(join(tmpdir(), "hawser-release-"));
  t.after(() => rmSync(out, { recursive: true, force: true }));
  const keys = makeReleaseKeys();
  const published = await buildRelease({ out, keys, version: "7.8.9" });
  const read = (file: string) => readFileSync(join(out, file));
  const trusted = keys.keys.map(({ publicKey }) => publicKey);
  const manifest = readManifest(
    DaemonManifest,
    read("daemon.json"),
    read("daemon.json.sig"),
    trusted,
    Date.now(),
  );
  assert.deepEqual(manifest, published);
  const { daemon, node } = manifest.platforms["linux-x64"]!;
  assert.equal(statSync(join(out, node.file)).size, node.size);
  const ran = spawnSync(process.execPath, [join(out, daemon.file), "--version"], {
    encoding: "utf8",
  });
  assert.deepEqual([ran.stdout, ran.stderr], ["7.8.9\n", ""]);
  const bundle = read(daemon.file).toString();
  const installer = read("install.sh").toString();
  for (const key of trusted) assert.ok(bundle.includes(key) && installer.includes(`'${key}'`));
  const secret = keys.keys[0].privateKey;
  assert.ok(!bundle.includes(secret) && !installer.includes(secret));
  assert.ok(!bundle.includes(process.cwd()), "nothing of the machine it was built on");
});

test("keys are made once: an existing file is not replaced", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "hawser-keys-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, "keys.json");
  const keys = makeReleaseKeys();
  writeReleaseKeys(file, keys);
  assert.deepEqual(readReleaseKeys(file), keys);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const nowhere = join(directory, "nowhere/keys.json");
  const other = join(directory, "other.json");
  writeFileSync(other, "no keys");
  const refused: [work: () => unknown, message: RegExp][] = [
    [() => writeReleaseKeys(file, keys), /exists already and is not replaced: .* Name another/],
    [() => writeReleaseKeys(nowhere, keys), /^The keys cannot be written to .* ENOENT.* Name a/],
    [() => readReleaseKeys(nowhere), /^The keys in .* cannot be read: ENOENT.* Name the file/],
    [() => readReleaseKeys(other), /does not contain two pairs of keys\. Name the file/],
  ];
  for (const [work, message] of refused) {
    assert.throws(work, (error) => error instanceof ReleaseRefused && message.test(error.message));
  }
});

test("A14: either release key can be replaced, and the key that signs next is trusted before and after", () => {
  const former = makeReleaseKeys();
  const [first, second] = former.keys;
  const planned = nextReleaseKeys(former, "first");
  assert.deepEqual(planned.keys[0], second);
  assert.ok(![first, second].some(({ publicKey }) => publicKey === planned.keys[1].publicKey));
  assert.deepEqual(nextReleaseKeys(former, "second").keys[0], first);
  const offline = { keys: [first, { publicKey: second.publicKey }] } satisfies typeof former;
  assert.throws(() => nextReleaseKeys(offline, "first"), /Add it from where it is kept/);
  assert.deepEqual(nextReleaseKeys(offline, "second").keys[0], first);
});
