// What happens after a commit: once it is on disk, in order, and never for one that was rolled back.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { openJournal } from "./journal.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-after-commit-"));
const journal = openJournal(join(directory, "journal.sqlite"));
after(() => {
  journal.close();
  rmSync(directory, { recursive: true, force: true });
});

test("follow-ups run once the outermost commit is on disk, in the order they were added", () => {
  const seen: string[] = [];
  const result = journal.atOnce(() => {
    journal.afterCommit(() => seen.push(`first sees ${journal.commands.begin("a", "x").state}`));
    journal.atOnce(() => journal.afterCommit(() => seen.push("second")));
    journal.commands.begin("a", "x");
    seen.push("written");
    return "result";
  });
  assert.equal(result, "result");
  assert.deepEqual(seen, ["written", "first sees unfinished", "second"]);
});

test("a follow-up may commit, and that commit has follow-ups of its own", () => {
  const seen: string[] = [];
  journal.atOnce(() => {
    journal.afterCommit(() => {
      journal.atOnce(() => journal.afterCommit(() => seen.push("inner")));
      seen.push("outer");
    });
  });
  assert.deepEqual(seen, ["inner", "outer"]);
});

test("a commit that is rolled back has no follow-ups, and leaves none to the next", () => {
  const seen: string[] = [];
  const failing = () =>
    journal.atOnce(() => {
      journal.afterCommit(() => seen.push("never"));
      throw new Error("no room");
    });
  assert.throws(failing, /no room/);
  journal.atOnce(() => journal.afterCommit(() => seen.push("next")));
  assert.deepEqual(seen, ["next"]);
});

test("outside of a commit there is nothing to follow", () => {
  assert.throws(() => journal.afterCommit(() => {}), /outside of a transaction/);
});

test("a follow-up that throws ends the process, but its commit is kept", () => {
  const path = join(directory, "throwing.sqlite");
  const module = pathToFileURL(join(import.meta.dirname, "journal.ts")).href;
  const script = `
    import { openJournal } from ${JSON.stringify(module)};
    const journal = openJournal(${JSON.stringify(path)});
    journal.atOnce(() => {
      journal.commands.begin("a", "x");
      journal.afterCommit(() => { throw new Error("a defect"); });
      journal.afterCommit(() => process.stdout.write("the others run"));
    });`;
  const child = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
    timeout: 30_000,
  });
  assert.equal(child.stdout, "the others run");
  assert.match(child.stderr, /a defect/);
  assert.notEqual(child.status, 0);
  const again = openJournal(path);
  assert.deepEqual(again.commands.begin("a", "x"), { state: "unfinished" });
  again.close();
});
