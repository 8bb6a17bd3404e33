// Shortened entries wait for their blobs, through a kill and through a reset of the journal.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { wholeUpdate } from "@hawser/host-protocol";
import { wholeOf } from "./cut-entry.ts";
import { JournalFull, openJournal, type Journal } from "./journal.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-kept-blobs-"));
after(() => rmSync(directory, { recursive: true, force: true }));

let files = 0;
const newPath = () => join(directory, `${++files}.sqlite`);
const filesOf = (path: string) => readdirSync(path.replace(/\.sqlite$/, ".blobs"));
const long = (letter: string, count = 200_000) => ({
  sessionUpdate: "agent_message_chunk",
  text: letter.repeat(count),
});
const short = { sessionUpdate: "plan" };
const all = { bytes: Infinity, entries: 1_000 };
const sent = (journal: Journal) =>
  journal.log
    .unapplied(all)
    .flatMap(({ sessionId, entries }) => entries.map(({ seq }) => `${sessionId}:${seq}`));
function introduced(path: string, options = {}): Journal {
  const journal = openJournal(path, options);
  for (const sessionId of ["a", "b"]) journal.log.introduce(sessionId);
  return journal;
}

test("a cut entry and what follows it wait for the whole; other sessions do not", () => {
  const path = newPath();
  const journal = introduced(path);
  journal.log.append("a", short);
  const { update } = journal.log.append("a", long("x"));
  journal.log.append("a", short);
  journal.log.append("b", short);
  assert.deepEqual(sent(journal), ["a:1", "b:1"]);
  const [pending] = journal.blobs.pending();
  assert.equal(pending!.sha256, wholeOf(update)!.sha256);
  assert.equal(readFileSync(pending!.path, "utf8"), JSON.stringify(long("x")));
  journal.blobs.stored(pending!.sha256);
  assert.deepEqual(sent(journal), ["a:1", "a:2", "a:3", "b:1"]);
  assert.deepEqual([journal.blobs.pending(), filesOf(path)], [[], []]);
  journal.close();
});

test("a whole that cannot be stored is left out, the entry says why, and the log goes on", () => {
  const path = newPath();
  const journal = introduced(path);
  const { update } = journal.log.append("a", long("x"));
  journal.log.append("b", long("x"));
  const { sha256, size } = wholeOf(update)!;
  journal.blobs.omit(sha256, "quota_exceeded");
  const batches = journal.log.unapplied(all);
  assert.equal(batches.length, 2);
  for (const { entries } of batches) {
    const meta = entries[0]!.update["_meta"] as Record<string, unknown>;
    assert.deepEqual(meta[wholeUpdate], { size, omitted: "quota_exceeded" });
  }
  assert.deepEqual(filesOf(path), []);
  journal.close();
});

test("wholes count against the journal's limit until they are stored", () => {
  const journal = introduced(newPath(), { limitBytes: 1_000_000 });
  const { update } = journal.log.append("a", long("x", 600_000));
  assert.equal(journal.log.acceptsTurns(), false);
  assert.ok(journal.log.size().unappliedBytes > 600_000);
  assert.throws(() => journal.log.append("a", long("y", 600_000)), JournalFull);
  assert.equal(journal.blobs.pending().length, 1);
  journal.blobs.stored(wholeOf(update)!.sha256);
  assert.ok(journal.log.size().unappliedBytes < 200_000);
  assert.equal(journal.log.append("a", long("y", 600_000)).seq, 2);
  journal.close();
});

test("what waited when the daemon was killed waits again, and what nobody waits for is gone", async () => {
  const path = newPath();
  const module = pathToFileURL(join(import.meta.dirname, "journal.ts")).href;
  const script = `
    import { openJournal } from ${JSON.stringify(module)};
    const journal = openJournal(${JSON.stringify(path)});
    journal.log.append("a", { sessionUpdate: "agent_message_chunk", text: "k".repeat(200_000) });
    process.stdout.write("ready");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "exit");
  const left = path.replace(/\.sqlite$/, ".blobs");
  // As a kill between the file and the entry that names it leaves them.
  writeFileSync(join(left, "0".repeat(64)), "nobody's");
  writeFileSync(join(left, `${"1".repeat(64)}.part`), "half");
  const journal = introduced(path);
  const [pending] = journal.blobs.pending();
  assert.equal(readFileSync(pending!.path, "utf8"), JSON.stringify(long("k")));
  assert.deepEqual(filesOf(path), [pending!.sha256]);
  assert.deepEqual(sent(journal), []);
  journal.close();
});

test("after a reset the entry waits under its new number; abandoned, it waits no more", () => {
  const path = newPath();
  openJournal(path).close();
  const journal = openJournal(path);
  journal.log.append("a", long("x"));
  journal.log.append("b", long("x"));
  // The control plane has entries of this session that this journal never wrote.
  journal.log.welcome(
    [
      { sessionId: "a", appliedSeq: 5 },
      { sessionId: "b", appliedSeq: 0 },
    ],
    [],
  );
  assert.deepEqual(sent(journal), ["a:6"]);
  const { sha256 } = journal.blobs.pending()[0]!;
  journal.log.abandon("b");
  assert.equal(journal.blobs.pending().length, 1);
  journal.blobs.stored(sha256);
  assert.deepEqual(sent(journal), ["a:6", "a:7"]);
  journal.log.applied([{ sessionId: "a", appliedSeq: 7 }]);
  assert.equal(journal.log.size().unappliedBytes, 0);
  journal.close();
});
