// Keys and edge files that a newer version has written, as an older version finds them after nodes were rolled
// back (decision 0047).
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { masterKeysOf } from "@hawser/testkit/master-keys.ts";
import { asNewer } from "@hawser/testkit/other-versions.ts";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import { keepSecret, readSecret } from "../secrets/secrets.ts";
import { stepCommandKey } from "./command-key-rotation.ts";
import { makeEdgeIdentity, readEdgeFile } from "./edge-identity.ts";
import { changeFabricKeys, makeFabricKeys, readFabricKeys } from "./fabric-keys.ts";

const now = new Date("2026-01-01T00:00:00Z");

test("stored keys of a newer version are read, and a rotation keeps the fields it does not know", async () => {
  await using service = await openServiceDatabase();
  const { system } = service.database;
  const masterKeys = masterKeysOf(randomBytes(32));
  const keys = stepCommandKey(makeFabricKeys().keys, "begin", now);
  const stored = { ...asNewer(keys), laterKey: "a seed of a later version" };
  await keepSecret(system, masterKeys, "fabric", Buffer.from(JSON.stringify(stored)));
  assert.deepEqual(await readFabricKeys(system, masterKeys), keys);

  await changeFabricKeys(service.database, masterKeys, (found) =>
    stepCommandKey(found, "switch", now),
  );
  const changed = stepCommandKey(keys, "switch", now);
  assert.deepEqual(await readFabricKeys(system, masterKeys), changed);
  const secret = (await readSecret(system, masterKeys, "fabric"))!.toString();
  assert.equal((JSON.parse(secret) as typeof stored).laterKey, stored.laterKey);
});

test("stored keys that lack a field are refused", async () => {
  await using service = await openServiceDatabase();
  const masterKeys = masterKeysOf(randomBytes(32));
  const { commandKey: _missing, ...rest } = makeFabricKeys().keys;
  const { system } = service.database;
  await keepSecret(system, masterKeys, "fabric", Buffer.from(JSON.stringify(rest)));
  await assert.rejects(readFabricKeys(system, masterKeys), /commandKey/);
});

test("an edge file of a newer version is read", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hawser-edge-file-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "edge.json");
  const identity = makeEdgeIdentity(makeFabricKeys().keys);
  writeFileSync(file, JSON.stringify(asNewer(identity)));
  assert.deepEqual(await readEdgeFile(file), identity);
});
