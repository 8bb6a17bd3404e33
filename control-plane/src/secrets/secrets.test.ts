import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { masterKeysOf } from "@hawser/testkit/master-keys.ts";
import { ConfigError } from "../config.ts";
import { readMasterKeys } from "./master-key.ts";
import { keepSecret, randomSecret, readSecret, rewrapSecrets } from "./secrets.ts";

const newMasterKeys = () => masterKeysOf(randomBytes(32));

test("a secret is made once, is the same for every node, and lies wrapped", async () => {
  await using service = await openServiceDatabase();
  const { database } = service;
  const masterKeys = newMasterKeys();
  const nodes = await Promise.all(
    Array.from({ length: 5 }, () => randomSecret(database.system, masterKeys, "a")),
  );
  assert.equal(new Set(nodes.map((secret) => secret.toString("hex"))).size, 1);
  assert.notDeepEqual(await randomSecret(database.system, masterKeys, "b"), nodes[0]);
  const rows = await ownerSql<{ wrapped: Buffer }>(service.url, "SELECT wrapped FROM secrets");
  assert.ok(rows.every(({ wrapped }) => !wrapped.includes(nodes[0]!)));
  await assert.rejects(randomSecret(database.system, newMasterKeys(), "a"), ConfigError);
  // A secret that is moved to another name cannot be decrypted there.
  await ownerSql(
    service.url,
    "UPDATE secrets SET wrapped = (SELECT wrapped FROM secrets WHERE name = 'a') WHERE name = 'b'",
  );
  await assert.rejects(randomSecret(database.system, masterKeys, "b"), ConfigError);
});

test("a secret is stored under a free name only, and a missing secret is distinguished from a wrong key", async () => {
  await using service = await openServiceDatabase();
  const { system } = service.database;
  const masterKeys = newMasterKeys();
  assert.equal(await readSecret(system, masterKeys, "fabric"), undefined);
  const kept = await Promise.all(
    ["one", "two"].map((text) => keepSecret(system, masterKeys, "fabric", Buffer.from(text))),
  );
  assert.equal(kept.filter(Boolean).length, 1);
  const secret = await readSecret(system, masterKeys, "fabric");
  assert.equal(secret?.toString(), kept[0] ? "one" : "two");
  await assert.rejects(readSecret(system, newMasterKeys(), "fabric"), ConfigError);
});

test("A14: the master key is replaced while a node runs, and the old one then decrypts nothing", async (t) => {
  await using service = await openServiceDatabase();
  const { database } = service;
  const { system } = database;
  const folder = mkdtempSync(join(tmpdir(), "hawser-master-key-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const masterKeyFile = join(folder, "master-key");
  const [former, next] = [randomBytes(32), randomBytes(32)];
  const write = (...keys: Buffer[]) =>
    writeFileSync(masterKeyFile, keys.map((key) => `${key.toString("hex")}\n`).join(""));
  write(former);
  const running = await readMasterKeys({ masterKeyFile, masterKeyCommand: undefined });
  await keepSecret(system, running, "a", Buffer.from("one"));
  await keepSecret(system, running, "b", Buffer.from("two"));
  // As stored before the id of the master key was.
  await ownerSql(service.url, "UPDATE secrets SET master_key_id = NULL WHERE name = 'b'");

  write(former, next);
  const operator = await readMasterKeys({ masterKeyFile, masterKeyCommand: undefined });
  assert.equal(await rewrapSecrets(database, operator), 2);
  write(next);
  for (const keys of [running, masterKeysOf(next), masterKeysOf(former, next)]) {
    assert.equal((await readSecret(system, keys, "a"))?.toString(), "one");
    assert.equal((await readSecret(system, keys, "b"))?.toString(), "two");
  }
  await assert.rejects(readSecret(system, masterKeysOf(former), "a"), /which has the id/);

  write(former, next, randomBytes(32));
  await assert.rejects(
    readMasterKeys({ masterKeyFile, masterKeyCommand: undefined }),
    /64 hexadecimal digits, or two such lines/,
  );
});
