// Data of one major version of PostgreSQL: what is refused, and how it is moved to a later one. The second
// version is the one of scripts/fetch-postgres.sh, or of the directory in HAWSER_SECOND_POSTGRES.
import assert from "node:assert/strict";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { makeServiceData } from "@hawser/testkit/service-data.ts";
import { checkDataVersion, finishedMark } from "./data-version.ts";
import { unknownMigrations } from "./schema-version.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-version-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const dataOf = (name: string, major: number) => {
  const data = join(directory, name);
  mkdirSync(join(data, "postgres"), { recursive: true });
  writeFileSync(join(data, "postgres/PG_VERSION"), `${major}\n`);
  return data;
};

test("data of a major version that is not here is refused with what to do", () => {
  const data = dataOf("versions", 16);
  assert.equal(checkDataVersion(data, { majors: [15, 16, 18] }), 16);
  assert.throws(
    () => checkDataVersion(data, { majors: [15, 18] }),
    /is of PostgreSQL 16, and this machine has 15, 18\. Install PostgreSQL 16.*hawser up --upgrade-database.*not changed/,
  );
  assert.throws(
    () => checkDataVersion(data, { majors: [15] }),
    /is of PostgreSQL 16, and this machine has 15, which cannot open newer data\. Install PostgreSQL 16/,
  );
  assert.equal(checkDataVersion(join(directory, "missing"), { majors: [15] }), undefined);
});

test("a schema of a newer version is recognized", () => {
  const repository = fileURLToPath(new URL("../../../control-plane", import.meta.url));
  const known = readdirSync(join(repository, "migrations"));
  assert.deepEqual(unknownMigrations(known, repository), []);
  assert.deepEqual(unknownMigrations([...known, "9999-later.sql"], repository), ["9999-later.sql"]);
});

test("an upgrade that was killed between its renames is finished, and an interrupted restore is named", () => {
  const data = dataOf("renamed", 18);
  const kept = join(data, "postgres.15-2026-11-18");
  cpSync(join(data, "postgres"), kept, { recursive: true });
  cpSync(join(data, "postgres"), join(data, "postgres.next"), { recursive: true });
  rmSync(join(data, "postgres"), { recursive: true });
  // Unfinished: it stays for the upgrade to remove.
  assert.equal(checkDataVersion(data, { majors: [18] }), undefined);
  writeFileSync(join(data, "postgres.next", finishedMark), "");
  assert.equal(checkDataVersion(data, { majors: [18] }), 18);

  const target = join(directory, "restored");
  mkdirSync(join(`${target}.restoring`, "postgres"), { recursive: true });
  writeFileSync(join(`${target}.restoring`, "postgres/PG_VERSION"), "18\n");
  assert.throws(
    () => checkDataVersion(target, { majors: [18] }),
    /restore into .* was interrupted/,
  );
});

const named = process.env["HAWSER_SECOND_POSTGRES"];
const fetched = fileURLToPath(new URL("../../../.tools/postgres-17", import.meta.url));
const isHere = existsSync(join(named ?? join(fetched, "bin"), "pg_restore"));
test("data moves to a later major version, by an upgrade and by a restore", async (t) => {
  assert.ok(isHere, 'There is no second PostgreSQL. Run "npm run setup".');
  await using made = await makeServiceData(5_000);
  const { data, user } = made;
  await made.start();
  const contents = await made.contents();
  await made.stop();
  // Copied, because the user may not be able to read the repository.
  const copy = join(user.home, "../later");
  if (!named) cpSync(fetched, copy, { recursive: true, verbatimSymlinks: true });
  const bin = named ?? join(copy, "bin");
  // A PostgreSQL in PATH counts as installed.
  const both = { PATH: `${bin}:/usr/local/bin:/usr/bin:/bin` };
  const archive = join(user.home, "old.hawser-backup");
  const backup = await made.hawser(`backup --data ${data} --out ${archive}`, both);
  assert.equal(backup.code, 0, backup.output);

  const module = await made.placeModule("@hawser/cli/backup/upgrade-database.ts");
  const options = `{ dataDirectory: "${data}", packageDirectory: "${join(user.home, "../package")}", onProgress: console.log }`;
  const script = `import("${module}").then((m) => m.upgradeToNewest(${options}))`;
  const node = made.command.split(" ")[0];
  const startedAt = performance.now();
  const { code, output } = await user.run(`${node} -e '${script}'`, both);
  assert.equal(code, 0, output);
  t.diagnostic(`the upgrade took ${Math.round(performance.now() - startedAt)} ms`);
  const kept = readdirSync(data).find((name) => name.startsWith("postgres.15-"));
  assert.ok(kept && existsSync(join(data, kept, "PG_VERSION")), output);
  assert.match(output, /is kept in .*14 days/);
  assert.ok(!existsSync(join(data, "postgres.next")));

  const target = join(user.home, "restored");
  const restore = await made.hawser(`restore ${archive} --data ${target}`, both);
  assert.equal(restore.code, 0, restore.output);
  for (const place of [data, target]) {
    await made.start(place, bin);
    try {
      const [{ version } = { version: 0 }] = await ownerSql<{ version: number }>(
        made.url(place),
        "SELECT current_setting('server_version_num')::int / 10000 AS version",
      );
      assert.ok(version > 15, `${version}`);
      assert.deepEqual(sessionLog(await made.contents(place, bin)), sessionLog(contents));
      const [{ n } = { n: 0 }] = await ownerSql<{ n: number }>(
        made.url(place, "hawser_node"),
        "SET ROLE hawser_system; SELECT count(*)::int AS n FROM session_log",
      );
      assert.equal(n, 5_000);
      const [{ key } = { key: "" }] = await ownerSql<{ key: string }>(
        made.url(place),
        "SELECT name_key AS key FROM instances",
      );
      assert.equal(key, "größe");
    } finally {
      await made.stop(place, bin);
    }
  }
});

const sessionLog = (text: string) =>
  text.split("\n").filter((line) => line.startsWith("INSERT INTO public.session_log"));
