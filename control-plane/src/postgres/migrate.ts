// Updates a database to this version's schema: runs each file of migrations/ once, in order, under one
// lock, so that processes that start together do not race. A file that was applied is never edited; if its
// text differs from the applied one, the command fails.
//
// Nodes serve callers meanwhile (decision 0047). A statement that waits for a lock makes every later
// statement on its table wait behind it, so a file waits for a lock only for a moment, and is tried again.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { ConfigError } from "../config.ts";
import { unreachable } from "./unfit-database.ts";

const ownFolder = new URL("../../migrations/", import.meta.url);
const lockKey = 0x4a57_5345; // any number, the same in every node

/**
 * First line of a file that runs outside a transaction: one statement, such as CREATE INDEX CONCURRENTLY. It
 * is run again if it was interrupted, so it must be repeatable.
 */
const outsideMark = "-- hawser: outside a transaction\n";

interface Trying {
  /** How long one attempt waits for a lock. */
  lockMs: number;
  attempts: number;
}

/** 60 attempts take about five minutes. */
const inTransaction: Trying = { lockMs: 200, attempts: 60 };
/** While such a statement waits, it holds only locks that nobody else needs for reading and writing rows. */
const outside: Trying = { lockMs: 10 * 60_000, attempts: 3 };
const longestPauseMs = 5_000;

/** Another process may be creating an index of a large table. */
const longestMigrationMs = 60 * 60_000;
const lookEveryMs = 100;
const connectionTimeoutMillis = 10_000;

interface MigrateOptions {
  /** Called with a line about each file and each wait. */
  say?: (line: string) => void;
  /** Other files than this version's. */
  folder?: URL;
  /** Other limits than those of a file in a transaction. */
  trying?: Trying;
}

interface Migration {
  name: string;
  text: string;
  sha256: string;
}

/** Applies the missing files and returns their names. */
export async function migrate(
  databaseUrl: string,
  options: MigrateOptions = {},
): Promise<string[]> {
  const migrations = await readMigrations(options.folder);
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: "hawser migrate",
    connectionTimeoutMillis,
  });
  // The query that runs then fails too. An error without a listener would end the process.
  client.on("error", () => {});
  await client.connect().catch((cause: unknown) => {
    throw unreachable(cause);
  });
  try {
    await excludeOthers(client, options);
    await client.query(
      `CREATE TABLE IF NOT EXISTS hawser_migrations (
         name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
    );
    await client.query("GRANT SELECT ON hawser_migrations TO PUBLIC");
    const known = await client.query<{ name: string; sha256: string }>(
      "SELECT name, sha256 FROM hawser_migrations",
    );
    const applied = new Map(known.rows.map((row) => [row.name, row.sha256]));
    if (!options.folder) refuseUnreleasedSchema(applied, migrations);
    refuseChangedFiles(applied, migrations);
    const missing = migrations.filter(({ name }) => !applied.has(name));
    for (const migration of missing) {
      options.say?.(`applying ${migration.name}`);
      await apply(client, migration, options);
    }
    return missing.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

/** The database has another schema than this version's files describe, so no file is applied to it. */
function refuseChangedFiles(applied: ReadonlyMap<string, string>, migrations: Migration[]): void {
  const changed = migrations.filter(
    ({ name, sha256 }) => applied.has(name) && applied.get(name) !== sha256,
  );
  if (changed.length === 0) return;
  const names = changed.map(({ name }) => name).join(", ");
  throw new ConfigError(
    `Migration ${names} was changed after it was applied. Nothing was applied. Install this version again, so that its files are as they were released. In a checkout, put the file back as it was and write the change as a new file.`,
  );
}

/**
 * Asks for the lock again and again instead of waiting for it in one statement: CREATE INDEX CONCURRENTLY
 * waits for every statement that began before it, and would wait for that one for ever.
 */
async function excludeOthers(client: pg.Client, { say }: MigrateOptions): Promise<void> {
  const startedAt = performance.now();
  for (let looks = 0; ; looks++) {
    const { rows } = await client.query<{ locked: boolean }>(
      "SELECT pg_try_advisory_lock($1) AS locked",
      [lockKey],
    );
    if (rows[0]!.locked) return;
    if (performance.now() - startedAt > longestMigrationMs) {
      throw new ConfigError(
        'Another process has been migrating this database for an hour. Look for "hawser migrate" in pg_stat_activity, and run this again when that process has ended.',
      );
    }
    if (looks === 0) say?.("another process is migrating this database; waiting for it");
    await sleep(lookEveryMs);
  }
}

async function apply(
  client: pg.Client,
  migration: Migration,
  { say, trying = inTransaction }: MigrateOptions,
): Promise<void> {
  const { name, text } = migration;
  const isOutside = text.startsWith(outsideMark);
  const { lockMs, attempts } = isOutside ? outside : trying;
  await client.query(`SET lock_timeout = ${lockMs}`);
  for (let attempt = 1; ; attempt++) {
    try {
      await (isOutside ? runOutside(client, migration) : runInTransaction(client, migration));
      return;
    } catch (error) {
      if (!isLockConflict(error)) throw error;
      if (attempt === attempts) {
        throw new ConfigError(
          `Migration ${name} got no lock in ${attempts} attempts of ${lockMs} ms, and is not applied. Look for long transactions in pg_stat_activity, end them, and run this again.`,
          { cause: error },
        );
      }
      const pauseMs = Math.min(attempt * 500, longestPauseMs);
      say?.(
        `${name} got no lock within ${lockMs} ms (attempt ${attempt} of ${attempts}); trying again in ${pauseMs / 1000} s`,
      );
      await sleep(pauseMs);
    }
  }
}

async function runInTransaction(client: pg.Client, migration: Migration): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query(migration.text);
    await record(client, migration);
    await client.query("COMMIT");
  } catch (error) {
    // Fails if the connection is lost, which ends the transaction too.
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

async function runOutside(client: pg.Client, migration: Migration): Promise<void> {
  const { name, text } = migration;
  const code = text.replaceAll(/--.*$/gm, "");
  if (/\bINDEX\s+CONCURRENTLY\s+(?!IF\b)/i.test(code)) {
    throw new Error(
      `Migration ${name} cannot be run again after an interruption. Write INDEX CONCURRENTLY IF NOT EXISTS, or IF EXISTS.`,
    );
  }
  for (const [, index] of code.matchAll(/\bCONCURRENTLY\s+IF\s+NOT\s+EXISTS\s+(\w+)/gi)) {
    await dropUnfinished(client, index!);
  }
  await client.query(text);
  await record(client, migration);
}

/** An index whose creation was interrupted stays, is kept up to date, and serves no reader. */
async function dropUnfinished(client: pg.Client, index: string): Promise<void> {
  const { rowCount } = await client.query(
    "SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid",
    [index],
  );
  if (rowCount) await client.query(`DROP INDEX CONCURRENTLY ${index}`);
}

async function record(client: pg.Client, { name, sha256 }: Migration): Promise<void> {
  await client.query("INSERT INTO hawser_migrations (name, sha256) VALUES ($1, $2)", [
    name,
    sha256,
  ]);
}

function isLockConflict(error: unknown): boolean {
  const [lockTimeout, deadlock] = ["55P03", "40P01"];
  const { code } = error as { code?: string };
  return code === lockTimeout || code === deadlock;
}

/** The files that this version has and the database lacks. A node does not start before they are applied. */
export async function pendingMigrations(databaseUrl: string): Promise<string[]> {
  const migrations = await readMigrations();
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: "hawser",
    connectionTimeoutMillis,
  });
  try {
    await client.connect();
    const known = await client.query<{ name: string }>("SELECT name FROM hawser_migrations");
    const applied = new Set(known.rows.map(({ name }) => name));
    refuseUnreleasedSchema(applied, migrations);
    return migrations.map(({ name }) => name).filter((name) => !applied.has(name));
  } catch (error) {
    const undefinedTable = "42P01";
    if ((error as { code?: string }).code !== undefinedTable) throw error;
    return migrations.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

/**
 * Throws if the database was made before the first release: the first file had another name then. No file
 * leads from that schema to this one.
 */
function refuseUnreleasedSchema(
  applied: { size: number; has(name: string): boolean },
  [first]: { name: string }[],
): void {
  if (applied.size === 0 || applied.has(first!.name)) return;
  throw new ConfigError(
    'This database was made by a version before the first release and cannot be migrated. Create a new database, set HAWSER_DATABASE_URL to it, and run "hawser-control-plane migrate".',
  );
}

async function readMigrations(folder = ownFolder): Promise<Migration[]> {
  const all = await readdir(folder).catch((cause: unknown) => refuseIncomplete(folder, cause));
  const names = all.filter((name) => name.endsWith(".sql")).sort();
  if (names.length === 0) refuseIncomplete(folder);
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), "utf8");
      return { name, text, sha256: createHash("sha256").update(text).digest("hex") };
    }),
  );
}

/** The files are part of every version, beside its code. */
function refuseIncomplete(folder: URL, cause?: unknown): never {
  throw new ConfigError(
    `This version is installed without its migrations: there are none in ${fileURLToPath(folder)}. Install it again, with all its files. The database was not changed.`,
    { cause },
  );
}
