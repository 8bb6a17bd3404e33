// `hawser backup` and `hawser restore` on a real cluster, as a user runs them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openJournal } from "@hawser/daemon/journal/journal.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { makeServiceData, type ServiceData } from "@hawser/testkit/service-data.ts";
import { readRoles } from "./load-database.ts";
import { lockData } from "./lock.ts";
import { checkArchive } from "./read-archive.ts";

let made: ServiceData;
let contents = "";
let archive = "";
before(async () => {
  made = await makeServiceData();
  await made.start();
  contents = await made.contents();
  await made.stop();
  archive = join(made.user.home, "stopped.hawser-backup");
  const { code, output } = await made.hawser(`backup --data ${made.data} --out ${archive}`);
  assert.equal(code, 0, output);
});
after(() => made[Symbol.asyncDispose]());

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

/** Statements about rows that a restore changes on purpose. */
const unchanged = (text: string) =>
  text
    .split("\n")
    .filter(
      (line) =>
        !/^INSERT INTO (public\.(exposures|schedules|invitations)|sign_in\.(sign_ins|device_logins|links|device_sign_ins)) /.test(
          line,
        ),
    )
    .join("\n");

test("a backup of a stopped service contains everything it needs, and only its owner can read it", async () => {
  assert.equal(modeOf(archive), "600");
  const manifest = await checkArchive(archive);
  assert.deepEqual(manifest.members.map(({ name }) => name.replace(/ins_\w+/, "ID")).toSorted(), [
    "bootstrap-key",
    "database.dump.gz",
    "fabric/nats-keys.conf",
    "fabric/nats-server.conf",
    "fabric/operator.seed",
    "host/credentials.json",
    "host/journal-ID.sqlite",
    "host/policy",
    "master-key",
    "roles.sql",
    "settings.json",
  ]);
  assert.equal(manifest.schemaVersion, manifest.migrations.at(-1));
  assert.ok(
    !existsSync(join(made.data, "postgres/postmaster.pid")),
    "the cluster is stopped again",
  );
  // The usual program reads it too.
  const listed = execFileSync("tar", ["-tf", archive], { encoding: "utf8" });
  assert.match(listed, /^hawser-backup\/fabric\/operator\.seed$/m);
});

test("a restored service has the same rows, roles, keys and modes", async () => {
  const target = join(made.user.home, "restored");
  const { code, output } = await made.hawser(`restore ${archive} --data ${target}`);
  assert.equal(code, 0, output);
  await made.start(target);
  try {
    assert.equal(unchanged(await made.contents(target)), unchanged(contents));
    const roles = await ownerSql(
      made.url(target),
      `SELECT rolname, rolcanlogin, rolcreaterole FROM pg_roles WHERE rolname LIKE 'hawser%' ORDER BY 1`,
    );
    assert.deepEqual(roles, [
      { rolname: "hawser_app", rolcanlogin: false, rolcreaterole: false },
      { rolname: "hawser_node", rolcanlogin: true, rolcreaterole: false },
      { rolname: "hawser_owner", rolcanlogin: true, rolcreaterole: true },
      { rolname: "hawser_sign_in", rolcanlogin: false, rolcreaterole: false },
      { rolname: "hawser_system", rolcanlogin: false, rolcreaterole: false },
    ]);
    const asNode = await ownerSql(
      made.url(target, "hawser_node"),
      "SET ROLE hawser_system; SELECT count(*)::int AS n FROM session_log",
    );
    assert.deepEqual(asNode, [{ n: 200 }]);
    const owners = await ownerSql(
      made.url(target),
      "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'",
    );
    assert.deepEqual(owners, [{ tableowner: "hawser_owner" }]);
  } finally {
    await made.stop(target);
  }
  for (const name of [
    "master-key",
    "bootstrap-key",
    "fabric/operator.seed",
    "host/credentials.json",
    "host/policy",
  ]) {
    assert.ok(readFileSync(join(target, name)).equals(readFileSync(join(made.data, name))), name);
    assert.equal(modeOf(join(target, name)), "600", name);
  }
  for (const name of ["", "host", "fabric", "postgres"]) {
    assert.equal(modeOf(join(target, name)), "700", name);
  }
  assert.ok(!("setUpFor" in JSON.parse(readFileSync(join(target, "settings.json"), "utf8"))));
  assert.ok(!existsSync(`${target}.restoring`));
});

test("what an earlier time would do again is stopped, and said", async () => {
  const target = join(made.user.home, "settled");
  const { code, output } = await made.hawser(`restore ${archive} --data ${target}`);
  assert.equal(code, 0, output);
  assert.match(output, /Revoked: 1 exposures/);
  assert.match(output, /Paused: 1 schedules/);
  assert.match(output, /People sign in again, and open invitations are withdrawn\./);
  await made.start(target);
  try {
    const rows = await ownerSql(
      made.url(target),
      `SELECT name, enabled, next_run_at IS NULL AS stopped FROM schedules ORDER BY name`,
    );
    assert.deepEqual(rows, [
      { name: "ahead", enabled: true, stopped: false },
      { name: "due", enabled: false, stopped: true },
    ]);
    const open = await ownerSql(
      made.url(target),
      `SELECT FROM exposures WHERE revoked_at IS NULL
       UNION ALL SELECT FROM sign_in.sign_ins WHERE ended_at IS NULL
       UNION ALL SELECT FROM sign_in.device_logins
       UNION ALL SELECT FROM sign_in.links
       UNION ALL SELECT FROM sign_in.device_sign_ins
       UNION ALL SELECT FROM invitations WHERE revoked_at IS NULL`,
    );
    assert.equal(open.length, 0);
    const asNode = await ownerSql(
      made.url(target, "hawser_node"),
      "SET ROLE hawser_sign_in; SELECT count(*)::int AS n FROM sign_in.accounts",
    );
    assert.deepEqual(asNode, [{ n: 1 }]);
  } finally {
    await made.stop(target);
  }
});

test("a running service is backed up while rows and journal entries are written", async () => {
  await made.start();
  const lock = lockData(made.data)!;
  const journalFile = join(made.data, "host", `journal-${made.instanceId}.sqlite`);
  const journal = openJournal(journalFile);
  let commands = 0;
  const writing = setInterval(() => {
    for (let n = 0; n < 5; n++) journal.commands.begin(`command-${commands++}`, "x".repeat(500));
  }, 10);
  const out = join(made.user.home, "running.hawser-backup");
  const target = join(made.user.home, "from-running");
  try {
    const { code, output } = await made.hawser(`backup --data ${made.data} --out ${out}`);
    assert.equal(code, 0, output);
    assert.ok(existsSync(join(made.data, "postgres/postmaster.pid")), "the cluster still runs");
    const { code: second, output: said } = await made.hawser(`restore ${out} --data ${target}`);
    assert.equal(second, 0, said);
  } finally {
    clearInterval(writing);
    journal.close();
    made.handOver(made.data);
    lock[Symbol.dispose]();
    await made.stop();
  }
  assert.ok(commands > 0);
  const copy = openJournal(join(target, "host", `journal-${made.instanceId}.sqlite`));
  try {
    assert.deepEqual(copy.commands.begin("before-the-backup", "x"), { state: "unfinished" });
    assert.equal(copy.id, journal.id);
  } finally {
    copy.close();
  }
});

test("data is not overwritten; --replace moves it aside and keeps the newer journal and the sessions' files", async () => {
  const refused = await made.hawser(`restore ${archive} --data ${made.data}`);
  assert.equal(refused.code, 2);
  assert.match(refused.output, /is not empty.*--replace/s);
  const newer = openJournal(join(made.data, "host", `journal-${made.instanceId}.sqlite`));
  newer.commands.begin("after-the-backup", "x");
  newer.close();
  made.handOver(made.data);
  const inode = statSync(join(made.data, "postgres")).ino;

  const { code, output } = await made.hawser(`restore ${archive} --data ${made.data} --replace`);
  assert.equal(code, 0, output);
  const aside = readdirSync(made.user.home).find((name) =>
    name.startsWith("data.before-restore-"),
  )!;
  assert.equal(statSync(join(made.user.home, aside, "postgres")).ino, inode);
  assert.equal(
    readFileSync(join(made.data, "host/worktrees/one/work.txt"), "utf8"),
    "of an agent\n",
  );
  const journal = openJournal(join(made.data, "host", `journal-${made.instanceId}.sqlite`));
  try {
    assert.deepEqual(journal.commands.begin("after-the-backup", "x"), { state: "unfinished" });
  } finally {
    journal.close();
    made.handOver(made.data);
  }
  await made.start();
  assert.equal(unchanged(await made.contents()), unchanged(contents));
  await made.stop();
});

test("a restore removes no files from a directory that only has the name of its own", async () => {
  const target = join(made.user.home, "taken");
  const work = join(made.user.home, "work");
  for (const make of ["ln -s work", "rm taken.restoring; cp -r work"]) {
    const { code } = await made.user.run(
      `mkdir -p work && echo text > work/notes && ${make} taken.restoring`,
    );
    assert.equal(code, 0);
    const restored = await made.hawser(`restore ${archive} --data ${target}`);
    assert.equal(restored.code, 1);
    assert.match(restored.output, /was not made by one/);
    assert.equal(readFileSync(join(work, "notes"), "utf8"), "text\n");
    assert.equal(readFileSync(`${target}.restoring/notes`, "utf8"), "text\n");
  }
});

test("a backup does not wait for ever for a database that hangs", async () => {
  await made.start();
  const lock = lockData(made.data)!;
  const file = readFileSync(join(made.data, "postgres/postmaster.pid"), "utf8");
  const postmaster = Number(file.split("\n")[0]);
  process.kill(postmaster, "SIGSTOP");
  try {
    const { code, output } = await made.hawser(`backup --data ${made.data}`);
    assert.equal(code, 1);
    assert.match(output, /its database does not answer/);
  } finally {
    process.kill(postmaster, "SIGCONT");
    lock[Symbol.dispose]();
    await made.stop();
  }
});

test("a directory with engines alone counts as empty, and no former data is announced", async () => {
  const target = join(made.user.home, "elsewhere");
  mkdirSync(join(target, "engines/one"), { recursive: true });
  made.handOver(target);
  const { code, output } = await made.hawser(`restore ${archive} --data ${target}`);
  assert.equal(code, 0, output);
  assert.match(output, new RegExp(`Start it with: hawser up --data ${target}\n`));
  assert.doesNotMatch(output, /The former data/);
  assert.ok(existsSync(join(target, "engines/one")));
  const names = readdirSync(made.user.home).filter((name) => name.startsWith("elsewhere"));
  assert.deepEqual(names, ["elsewhere"]);
  rmSync(target, { recursive: true });
});

test("a restore is refused while the service runs", async () => {
  const lock = lockData(made.data)!;
  try {
    const { code, output } = await made.hawser(`restore ${archive} --data ${made.data} --replace`);
    assert.equal(code, 1);
    assert.match(output, /hawser down/);
    const backup = await made.hawser(`backup --data ${made.data}`);
    assert.equal(backup.code, 1);
    assert.match(backup.output, /Another hawser command uses/);
  } finally {
    lock[Symbol.dispose]();
  }
});

test("a member with one changed byte is found, and nothing is changed", async () => {
  const target = join(made.user.home, "damaged");
  const bytes = readFileSync(archive);
  const { members } = await checkArchive(archive);
  const names = [...members.map(({ name }) => name), "manifest.json", "manifest.json.sha256"];
  const copy = join(made.user.home, "flipped.hawser-backup");
  for (const name of names) {
    const header = bytes.indexOf(`hawser-backup/${name}\0`);
    assert.notEqual(header, -1, name);
    const at = header + 512;
    const changed = Buffer.from(bytes);
    changed[at] = changed[at]! ^ 1;
    writeFileSync(copy, changed);
    await assert.rejects(checkArchive(copy), /is damaged/, name);
  }
  for (const length of [0, 511, 512, bytes.length >> 1, bytes.length - 4096]) {
    writeFileSync(copy, bytes.subarray(0, length));
    await assert.rejects(checkArchive(copy), /is damaged/, `cut after ${length}`);
  }
  made.handOver(copy);
  const { code, output } = await made.hawser(`restore ${copy} --data ${target}`);
  assert.equal(code, 1);
  assert.match(output, /Nothing was changed/);
  assert.ok(!existsSync(target) && !existsSync(`${target}.restoring`));
});

test("names that lead elsewhere, links and unknown files are refused", async () => {
  const copy = join(made.user.home, "foreign.hawser-backup");
  const place = join(made.user.home, "foreign");
  const pack = (script: string) => {
    rmSync(place, { recursive: true, force: true });
    execFileSync("sh", ["-ec", `mkdir -p ${place}/hawser-backup/host && cd ${place} && ${script}`]);
  };
  const tar = `tar --format=ustar -P -cf ${copy}`;
  const scripts = [
    `echo x > x && ${tar} --transform 's,^x,hawser-backup/../x,' x`,
    `echo x > x && ${tar} --transform 's,^x,/tmp/x,' x`,
    `ln -s /etc/passwd hawser-backup/master-key && ${tar} hawser-backup/master-key`,
    `echo x > hawser-backup/a && ln hawser-backup/a hawser-backup/master-key && ${tar} hawser-backup/a hawser-backup/master-key`,
    `echo x > hawser-backup/.bashrc && ${tar} hawser-backup/.bashrc`,
    `echo x > hawser-backup/host/bin && ${tar} hawser-backup/host/bin`,
    `${tar} hawser-backup/host`,
  ];
  for (const script of scripts) {
    pack(script);
    await assert.rejects(checkArchive(copy), /is damaged or is no backup/, script);
  }
});

test("roles of a backup are ordinary ones, and each line is one statement", () => {
  const fitting = "CREATE ROLE a;\nALTER ROLE a WITH NOSUPERUSER LOGIN;\nGRANT a TO b;";
  assert.equal(readRoles(`--\nSET x = 1;\nCREATE ROLE postgres;\n${fitting}\n`), fitting);
  for (const line of [
    "CREATE ROLE x; COPY (SELECT 1) TO PROGRAM 'id';",
    "ALTER ROLE x WITH SUPERUSER;",
    "GRANT pg_execute_server_program TO x;",
    "SELECT 1;",
    "\\! id",
  ]) {
    assert.throws(() => readRoles(line), /hawser never writes/, line);
  }
});

test("a service whose database is elsewhere is not backed up from an old cluster", async () => {
  const file = join(made.data, "settings.json");
  const former = readFileSync(file);
  writeFileSync(file, JSON.stringify({ postgresUrl: "postgres://db.example/hawser" }));
  try {
    const { code, output } = await made.hawser(`backup --data ${made.data}`);
    assert.equal(code, 2, output);
    assert.match(output, /--postgres-url/);
  } finally {
    writeFileSync(file, former);
  }
});
