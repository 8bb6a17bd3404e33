// The first organization and its key, also if `bootstrap` is killed.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { killInCommit } from "@hawser/testkit/kill-in-commit.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createAuthenticator } from "./authenticate.ts";
import { bootstrap } from "./bootstrap.ts";

const acme = { name: "Acme", email: "ada@acme.example" };

for (const outcome of ["rolled back", "committed"] as const) {
  test(`a bootstrap that is killed in its commit, which is ${outcome}, is finished by the next one`, async (t) => {
    await using service = await openService(t);
    const { keyFile } = service;
    await killInCommit({
      databaseUrl: service.url,
      table: "organizations",
      args: ["bootstrap", "--organization", "Acme", "--email", acme.email, "--key-file", keyFile],
      outcome,
    });
    assert.equal(existsSync(keyFile), false);
    const prepared = readFileSync(`${keyFile}.next`, "utf8");
    assert.equal(await service.isValid(prepared), outcome === "committed");

    const next = await bootstrap(service.database, { ...acme, keyFile });
    assert.equal(next.created, outcome === "rolled back");
    const key = readFileSync(keyFile, "utf8");
    assert.equal(key, `${next.key}\n`);
    assert.equal(key === prepared, outcome === "committed");
    assert.equal(await service.isValid(key), true);
    assert.equal(statSync(keyFile).mode & 0o777, 0o600);
    assert.equal(existsSync(`${keyFile}.next`), false);

    const again = await bootstrap(service.database, { ...acme, keyFile });
    assert.deepEqual(again, { ...next, created: false });
    assert.deepEqual(await ownerSql(service.url, "SELECT name FROM organizations"), [
      { name: "Acme" },
    ]);
  });
}

test("a key file that is cut off in the middle is replaced", async (t) => {
  await using service = await openService(t);
  const { keyFile } = service;
  writeFileSync(`${keyFile}.next`, "hwk_0");
  await bootstrap(service.database, { ...acme, keyFile });
  assert.equal(await service.isValid(readFileSync(keyFile, "utf8")), true);
  assert.equal(existsSync(`${keyFile}.next`), false);
});

test("if several run at once, one creates the organization, and all of them find its key", async (t) => {
  await using service = await openService(t);
  const runs = await Promise.all(
    Array.from({ length: 4 }, () =>
      bootstrap(service.database, { ...acme, keyFile: service.keyFile }),
    ),
  );
  assert.equal(runs.filter(({ created }) => created).length, 1);
  assert.equal(new Set(runs.map(({ key }) => key)).size, 1);
  assert.equal(readFileSync(service.keyFile, "utf8"), `${runs[0]!.key}\n`);
});

test("bootstrap replaces no file of another origin, and creates nothing without a file", async (t) => {
  await using service = await openService(t);
  const { keyFile, database } = service;
  writeFileSync(keyFile, "the operator's own");
  await assert.rejects(bootstrap(database, { ...acme, keyFile }), /is there already/);
  const nowhere = join(keyFile, "no", "directory");
  await assert.rejects(bootstrap(database, { ...acme, keyFile: nowhere }), /cannot be written/);
  assert.deepEqual(await ownerSql(service.url, "SELECT name FROM organizations"), []);

  const { key } = await bootstrap(database, acme);
  await assert.rejects(
    bootstrap(database, { ...acme, keyFile }),
    /set up already, for the organization "Acme"\. Nothing was changed\. .* contains no valid key/,
  );
  assert.equal(readFileSync(keyFile, "utf8"), "the operator's own");
  await assert.rejects(bootstrap(database, acme), /set up already/);
  // The operator has put the printed key into the file.
  writeFileSync(keyFile, key);
  assert.equal((await bootstrap(database, { ...acme, keyFile })).created, false);
  await ownerSql(service.url, "UPDATE api_keys SET revoked_at = now()");
  await assert.rejects(bootstrap(database, { ...acme, keyFile }), /contains no valid key/);
});

async function openService(t: TestContext) {
  const service = await openServiceDatabase({ patienceMs: 60_000 });
  const folder = mkdtempSync(join(tmpdir(), "hawser-bootstrap-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return {
    ...service,
    keyFile: join(folder, "key"),
    async isValid(key: string): Promise<boolean> {
      const { authenticate } = createAuthenticator(service.database.system);
      return (await authenticate(`Bearer ${key.trim()}`)) !== undefined;
    },
  };
}
