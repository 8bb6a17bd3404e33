// The journal's version: each step runs once, a step that fails changes nothing, and daemons of two
// versions use one journal as long as the newer one only added to it.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { openDatabase } from "./database.ts";
import { openJournal } from "./journal.ts";
import { JournalTooNew, journalSteps, takeSteps, versionOf, type Step } from "./steps.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-steps-"));
after(() => rmSync(directory, { recursive: true, force: true }));

let files = 0;
const newPath = () => join(directory, `${++files}.sqlite`);
const latest = journalSteps.length;

/** A step of a later version, which adds a column. */
const adding: Step = {
  readableFrom: 1,
  sql: "ALTER TABLE commands ADD COLUMN actor TEXT NOT NULL DEFAULT 'unknown'",
};

const open = (path: string, steps: readonly Step[]) => openDatabase(path, false, steps);

function inspect<Result>(path: string, read: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(path);
  try {
    return read(database);
  } finally {
    database.close();
  }
}

interface Column {
  name: string;
  type: string;
  notnull: number;
  dflt_value: string | null;
}

function columnsOf(database: DatabaseSync): Map<string, Column[]> {
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  return new Map(
    tables.map(({ name }) => [
      name as string,
      database.prepare(`PRAGMA table_info(${name as string})`).all() as unknown as Column[],
    ]),
  );
}

test("a new journal has the latest version, and opening it again takes no step", () => {
  const path = newPath();
  for (let time = 0; time < 2; time++) openJournal(path).close();
  assert.equal(inspect(path, versionOf), latest);
  const taken = inspect(path, (database) =>
    database.prepare("SELECT version FROM journal_steps ORDER BY version").all(),
  );
  assert.deepEqual(
    taken.map(({ version }) => version),
    journalSteps.map((_, index) => index + 1),
  );
});

test("every step after the first only adds, so that the old daemon can use the journal", () => {
  const database = new DatabaseSync(":memory:");
  let before = columnsOf(database);
  for (const [index, step] of journalSteps.entries()) {
    takeSteps(database, journalSteps.slice(0, index + 1), "in memory");
    const now = columnsOf(database);
    for (const [table, columns] of before) {
      const left = now.get(table) ?? [];
      for (const column of columns) {
        assert.ok(
          left.some(({ name, type }) => name === column.name && type === column.type),
          `step ${index + 1} keeps ${table}.${column.name}`,
        );
      }
      for (const { name, notnull, dflt_value } of left.slice(columns.length)) {
        assert.ok(
          notnull === 0 || dflt_value !== null,
          `${table}.${name} may be null or has a default`,
        );
      }
    }
    assert.equal(step.readableFrom, 1, "a change of this is a decision: read 0028 first");
    before = now;
  }
  database.close();
});

test("after an update that failed behind a step, the old daemon reads and writes the journal", () => {
  const path = newPath();
  const former = openJournal(path);
  former.commands.begin("before", "x");
  former.log.append("s", { sessionUpdate: "plan" });
  former.close();

  const steps = [...journalSteps, adding];
  const newer = open(path, steps);
  newer.exec(
    "INSERT INTO commands (id, command, begun_at, actor) VALUES ('during', 'x', 1, 'ada')",
  );
  newer.close();

  const again = openJournal(path);
  assert.equal(again.id, former.id);
  assert.deepEqual(again.commands.begin("before", "x"), { state: "unfinished" });
  assert.deepEqual(again.commands.begin("during", "x"), { state: "unfinished" });
  assert.deepEqual(again.commands.begin("after", "x"), { state: "new" });
  assert.equal(again.log.append("s", { sessionUpdate: "plan" }).seq, 2);
  again.close();
  assert.equal(inspect(path, versionOf), latest + 1, "the journal keeps its version");

  const updated = open(path, steps);
  assert.deepEqual(
    updated
      .prepare("SELECT id, actor FROM commands ORDER BY id")
      .all()
      .map((row) => ({ ...row })),
    [
      { id: "after", actor: "unknown" },
      { id: "before", actor: "unknown" },
      { id: "during", actor: "ada" },
    ],
  );
  updated.close();
});

test("a step that fails leaves the journal at its old version, with everything in it", () => {
  const path = newPath();
  const journal = openJournal(path);
  journal.commands.begin("a", "x");
  journal.close();
  const failing = { ...adding, sql: `${adding.sql}; UPDATE commands SET actor = NULL;` };
  assert.throws(() => open(path, [...journalSteps, adding, failing]), /duplicate column|NOT NULL/);
  assert.equal(inspect(path, versionOf), latest);
  const columns = inspect(path, columnsOf).get("commands")!;
  assert.ok(!columns.some(({ name }) => name === "actor"));
  const again = openJournal(path);
  assert.deepEqual(again.commands.begin("a", "x"), { state: "unfinished" });
  again.close();
});

test("a journal that only newer daemons can use is refused, with what to do, and not changed", () => {
  const path = newPath();
  openJournal(path).close();
  open(path, [...journalSteps, { ...adding, readableFrom: latest + 1 }]).close();
  const read = () => inspect(path, (database) => database.prepare("SELECT * FROM facts").all());
  const before = read();
  assert.throws(
    () => openJournal(path),
    (error) => {
      assert.ok(error instanceof JournalTooNew);
      assert.match(error.message, /^The journal at .*\.sqlite was written by daemon \d+\.\d+\.\d+/);
      assert.match(
        error.message,
        new RegExp(`has version ${latest + 1}\\..* up to version ${latest}\\.`),
      );
      assert.match(
        error.message,
        /Install daemon \d+\.\d+\.\d+ or a later one on this host again\.$/,
      );
      return true;
    },
  );
  assert.deepEqual(read(), before);
  assert.equal(inspect(path, versionOf), latest + 1);
});

test("a newer version that says nothing of older daemons is refused, too", () => {
  const path = newPath();
  openJournal(path).close();
  inspect(path, (database) => database.exec("PRAGMA user_version = 99"));
  assert.throws(() => openJournal(path), /written by a newer daemon and has version 99\./);
});
