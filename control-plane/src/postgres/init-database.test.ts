// `init-database` on servers of its own: logins and database roles exist once per server.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { startPostgres } from "@hawser/testkit/postgres.ts";
import { until } from "@hawser/testkit/until.ts";
import pg from "pg";
import { openDatabase } from "./database.ts";
import { initDatabase } from "./init-database.ts";
import { migrate } from "./migrate.ts";
import { systemStatement } from "./statement.ts";

const all = [
  "hawser_owner",
  "hawser_node",
  "hawser_app",
  "hawser_system",
  "hawser_sign_in",
  "hawser",
];

test("init-database makes what migrate and nodes need, and does nothing the second time", async () => {
  await using cluster = await startPostgres();
  const adminUrl = cluster.url;
  // If several run at once, each part is created by one of them.
  const runs = await Promise.all([initDatabase({ adminUrl }), initDatabase({ adminUrl })]);
  assert.deepEqual(runs.flatMap(({ created }) => created).sort(), [...all].sort());
  const { ownerUrl, nodeUrl } = runs[0];
  assert.equal(ownerUrl, `postgres://hawser_owner@127.0.0.1:${cluster.port}/hawser`);
  assert.equal(nodeUrl, `postgres://hawser_node@127.0.0.1:${cluster.port}/hawser`);
  assert.notEqual((await migrate(ownerUrl)).length, 0);
  await serves(nodeUrl);
  await assert.rejects(migrate(nodeUrl), /permission denied/);
  assert.deepEqual(
    await ownerSql(nodeUrl, "SELECT FROM pg_class WHERE relowner = 'hawser_node'::regrole"),
    [],
  );

  assert.deepEqual((await initDatabase({ adminUrl })).created, []);
  await serves(nodeUrl);
});

/** Each leaves undone what comes after it, as a run that was killed does. */
const halfDone = [
  "CREATE ROLE hawser_owner LOGIN CREATEROLE",
  "CREATE ROLE hawser_owner LOGIN CREATEROLE; CREATE ROLE hawser_node LOGIN; CREATE ROLE hawser_app",
  `CREATE ROLE hawser_owner; CREATE ROLE hawser_node; CREATE ROLE hawser_app; CREATE ROLE hawser_system;
   GRANT hawser_app, hawser_system TO hawser_owner; GRANT hawser_app TO hawser_node`,
];

test("init-database completes what is half done, also by an administrator without superuser rights", async () => {
  await using cluster = await startPostgres();
  await ownerSql(cluster.url, "CREATE ROLE administrator LOGIN CREATEROLE CREATEDB");
  const administrator = new URL(cluster.url);
  administrator.username = "administrator";
  for (const adminUrl of [cluster.url, administrator.href]) {
    for (const before of ["SELECT 1", ...halfDone]) {
      await ownerSql(cluster.url, before);
      const { ownerUrl, nodeUrl } = await initDatabase({ adminUrl });
      await serves(nodeUrl);
      if (before === halfDone.at(-1)) await migrate(ownerUrl);
      await ownerSql(cluster.url, "DROP DATABASE hawser");
      const roles = "hawser_owner, hawser_node, hawser_app, hawser_system, hawser_sign_in";
      await ownerSql(cluster.url, `DROP ROLE ${roles}`);
    }
  }
});

test("the SQL of the guide, for administrators, makes all that init-database makes", async () => {
  const guide = readFileSync(new URL("../../../docs/guide/operating.md", import.meta.url), "utf8");
  const [, sql] = /^```sql\n(CREATE ROLE hawser_owner[\s\S]*?)^```$/m.exec(guide)!;
  await using cluster = await startPostgres();
  for (const statement of sql!.split(";\n").filter(Boolean)) await ownerSql(cluster.url, statement);
  const { created, ownerUrl, nodeUrl } = await initDatabase({ adminUrl: cluster.url });
  assert.deepEqual(created, []);
  await migrate(ownerUrl);
  await serves(nodeUrl);
});

test("init-database sets the passwords that it is given, and shows none", async () => {
  await using cluster = await startPostgres();
  const adminUrl = cluster.url;
  const [ownerPassword, nodePassword] = ["owner'$\\pass", "node%40/pass?"];
  const made = await initDatabase({ adminUrl, ownerPassword, nodePassword });
  assert.doesNotMatch(JSON.stringify(made), /pass/);
  // Every other connection of this server is trusted.
  const [file] = await ownerSql<{ hba: string }>(
    adminUrl,
    "SELECT current_setting('hba_file') AS hba",
  );
  await ownerSql(
    adminUrl,
    `COPY (SELECT 'host all hawser_owner,hawser_node all scram-sha-256' UNION ALL SELECT 'host all all all trust')
       TO '${file!.hba}'; SELECT pg_reload_conf()`,
  );
  const login = async (url: string, password: string) => {
    const withPassword = url.replace("@", `:${encodeURIComponent(password)}@`);
    const client = new pg.Client({ connectionString: withPassword });
    await client.connect();
    await client.end();
  };
  const refuses = (url: string, password: string) =>
    login(url, password).then(
      () => false,
      (error: Error) => /password/.test(error.message),
    );
  await until("the server asks for passwords", () => refuses(made.ownerUrl, "x"));
  assert.ok(await refuses(made.ownerUrl, nodePassword));
  await login(made.ownerUrl, ownerPassword);
  await login(made.nodeUrl, nodePassword);
  // Without a password, the present one stays; with another one, that is valid.
  await initDatabase({ adminUrl, nodePassword: "next" });
  await login(made.ownerUrl, ownerPassword);
  await login(made.nodeUrl, "next");
  assert.ok(await refuses(made.nodeUrl, nodePassword));
  const stored = await ownerSql<{ rolpassword: string }>(
    adminUrl,
    "SELECT rolpassword FROM pg_authid WHERE rolname IN ('hawser_owner', 'hawser_node')",
  );
  for (const { rolpassword } of stored) assert.match(rolpassword, /^SCRAM-SHA-256\$4096:/);
});

test("each refusal of init-database says what to do, and changes nothing", async () => {
  await using cluster = await startPostgres();
  await ownerSql(cluster.url, "CREATE ROLE visitor LOGIN");
  const visitor = new URL(cluster.url);
  visitor.username = "visitor";
  await assert.rejects(
    initDatabase({ adminUrl: visitor.href }),
    /^Error: PostgreSQL does not allow this: permission denied .* --admin-url .* create roles and databases/,
  );
  await assert.rejects(
    initDatabase({ adminUrl: "postgres://postgres@127.0.0.1:1/postgres" }),
    /PostgreSQL cannot be reached: .* Check --admin-url/,
  );
  await ownerSql(cluster.url, "CREATE DATABASE hawser");
  await assert.rejects(
    initDatabase({ adminUrl: cluster.url }),
    /database hawser already, and it belongs to postgres\. .* ALTER DATABASE hawser OWNER TO hawser_owner/,
  );
});

/** Uses both database roles, as a node does. */
async function serves(url: string): Promise<void> {
  await using database = openDatabase({
    url,
    connections: 2,
    patienceMs: 20_000,
    onIdleError: () => {},
  });
  const who = systemStatement<{ who: string }>("test", "SELECT current_user::text AS who");
  assert.deepEqual(await database.system.rows(who), [{ who: "hawser_system" }]);
  const tenant = database.tenant("01890000-0000-7000-8000-000000000000");
  assert.deepEqual(await tenant.rows(who), [{ who: "hawser_app" }]);
}
