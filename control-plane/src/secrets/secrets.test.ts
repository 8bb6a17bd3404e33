import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { ConfigError } from "../config.ts";
import { keepSecret, randomSecret, readSecret } from "./secrets.ts";

test("a secret is made once, is the same for every node, and lies wrapped", async () => {
  await using service = await openServiceDatabase();
  const { database } = service;
  const masterKey = randomBytes(32);
  const nodes = await Promise.all(
    Array.from({ length: 5 }, () => randomSecret(database.system, masterKey, "a")),
  );
  assert.equal(new Set(nodes.map((secret) => secret.toString("hex"))).size, 1);
  assert.notDeepEqual(await randomSecret(database.system, masterKey, "b"), nodes[0]);
  const rows = await ownerSql<{ wrapped: Buffer }>(service.url, "SELECT wrapped FROM secrets");
  assert.ok(rows.every(({ wrapped }) => !wrapped.includes(nodes[0]!)));
  await assert.rejects(randomSecret(database.system, randomBytes(32), "a"), ConfigError);
  // A secret that is moved to another name cannot be decrypted there.
  await ownerSql(
    service.url,
    "UPDATE secrets SET wrapped = (SELECT wrapped FROM secrets WHERE name = 'a') WHERE name = 'b'",
  );
  await assert.rejects(randomSecret(database.system, masterKey, "b"), ConfigError);
});

test("a secret is kept under a free name only, and a name without one is told from a wrong key", async () => {
  await using service = await openServiceDatabase();
  const { system } = service.database;
  const masterKey = randomBytes(32);
  assert.equal(await readSecret(system, masterKey, "fabric"), undefined);
  const kept = await Promise.all(
    ["one", "two"].map((text) => keepSecret(system, masterKey, "fabric", Buffer.from(text))),
  );
  assert.equal(kept.filter(Boolean).length, 1);
  const secret = await readSecret(system, masterKey, "fabric");
  assert.equal(secret?.toString(), kept[0] ? "one" : "two");
  await assert.rejects(readSecret(system, randomBytes(32), "fabric"), ConfigError);
});
