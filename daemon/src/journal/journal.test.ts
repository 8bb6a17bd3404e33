// The journal: each command once, each entry in order, whatever is killed in between.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { SessionBatch } from "./session-log.ts";
import { JournalFull, JournalInUse, openJournal, type Journal } from "./journal.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-journal-"));
after(() => rmSync(directory, { recursive: true, force: true }));

let files = 0;
const newPath = () => join(directory, `${++files}.sqlite`);
const all = { bytes: Infinity, entries: 1_000 };
const text = (content: string) => ({ sessionUpdate: "agent_message_chunk", content });
const result = { result: { done: true } };

/** What waits to be sent, as "session:seq". */
const waiting = (journal: Journal) => show(journal.log.unapplied(all));
/** As after an answered hello that named the session. */
const welcome = (journal: Journal, ...applied: { sessionId: string; appliedSeq: number }[]) =>
  journal.log.welcome(applied, journal.log.positions());
const show = (batches: SessionBatch[]) =>
  batches.flatMap(({ sessionId, entries }) => entries.map(({ seq }) => `${sessionId}:${seq}`));

/** Runs the lines with `journal` open in a process of its own, until it says "ready". */
async function inChild(path: string, lines: string) {
  const module = pathToFileURL(join(import.meta.dirname, "journal.ts")).href;
  const script = `
    import { openJournal } from ${JSON.stringify(module)};
    const journal = openJournal(${JSON.stringify(path)});
    ${lines}
    process.stdout.write("ready");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return {
    async kill() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

test("a command begins once, and its outcome is the same for ever after", () => {
  const path = newPath();
  const journal = openJournal(path);
  assert.deepEqual(journal.commands.begin("a", "x"), { state: "new" });
  assert.deepEqual(journal.commands.begin("a", "x"), { state: "unfinished" });
  journal.commands.finish("a", result);
  journal.commands.finish("a", { result: { done: false } });
  assert.deepEqual(journal.commands.begin("a", "x"), { state: "done", outcome: result });
  journal.close();
  const again = openJournal(path);
  assert.equal(again.id, journal.id);
  assert.deepEqual(again.commands.begin("a", "x"), { state: "done", outcome: result });
  again.close();
});

test("a process killed between the start and the outcome leaves the command unfinished", async () => {
  const path = newPath();
  const child = await inChild(
    path,
    `journal.commands.begin("cut", "x");
     journal.commands.begin("done", "x");
     journal.commands.finish("done", { result: { done: true } });
     journal.count("runs");
     journal.log.append("s", { sessionUpdate: "plan" });`,
  );
  await child.kill();
  const journal = openJournal(path);
  assert.deepEqual(journal.commands.begin("cut", "x"), { state: "unfinished" });
  assert.deepEqual(journal.commands.begin("done", "x"), { state: "done", outcome: result });
  assert.equal(journal.count("runs"), 2);
  assert.deepEqual(journal.log.newcomers(), [{ sessionId: "s", lastSeq: 1 }]);
  journal.close();
});

test("a second process is refused while the first has the journal, and let in once it was killed", async () => {
  const path = newPath();
  const child = await inChild(path, "");
  assert.throws(() => openJournal(path), JournalInUse);
  await child.kill();
  openJournal(path).close();
});

test("two journals of one process do not share a file either", () => {
  const path = newPath();
  const journal = openJournal(path);
  assert.throws(() => openJournal(path), JournalInUse);
  journal.close();
});

test("only its owner can read a journal", () => {
  const path = newPath();
  openJournal(path).close();
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("entries are numbered per session and sent in the order they were written, until applied", () => {
  const journal = openJournal(newPath());
  for (const session of ["a", "b", "a", "a"]) journal.log.append(session, text("."), "turn");
  assert.deepEqual(waiting(journal), [], "not before a hello has named them");
  welcome(journal);
  assert.deepEqual(journal.log.newcomers(), []);
  assert.deepEqual(waiting(journal), ["a:1", "a:2", "a:3", "b:1"]);
  assert.deepEqual(
    show(journal.log.unapplied({ bytes: Infinity, entries: 2 })),
    ["a:1", "b:1"],
    "the oldest first",
  );
  const size = journal.log.size().unappliedBytes / 4;
  assert.deepEqual(show(journal.log.unapplied({ bytes: size * 3, entries: 9 })).length, 3);
  assert.equal(show(journal.log.unapplied({ bytes: 1, entries: 9 })).length, 1, "never none");
  journal.log.applied([{ sessionId: "a", appliedSeq: 2 }]);
  assert.deepEqual(waiting(journal), ["b:1", "a:3"]);
  const [first] = journal.log.unapplied(all, "b");
  assert.deepEqual(Object.keys(first!.entries[0]!), ["seq", "at", "turnId", "update"]);
  journal.log.abandon("b");
  assert.deepEqual(waiting(journal), ["a:3"]);
  assert.deepEqual(journal.log.positions(), [
    { sessionId: "a", lastSeq: 3 },
    { sessionId: "b", lastSeq: 1 },
  ]);
  journal.close();
});

test("what the control plane turns out not to have is sent again", () => {
  const journal = openJournal(newPath());
  for (let i = 0; i < 4; i++) journal.log.append("a", text("."));
  welcome(journal, { sessionId: "a", appliedSeq: 0 });
  journal.log.applied([{ sessionId: "a", appliedSeq: 4 }]);
  assert.deepEqual(waiting(journal), []);
  welcome(journal, { sessionId: "a", appliedSeq: 1 });
  assert.deepEqual(waiting(journal), ["a:2", "a:3", "a:4"]);
  journal.close();
});

test("a new journal goes on after what was applied, with an entry that says so, and loses nothing it has", () => {
  const journal = openJournal(newPath());
  journal.log.append("a", text("offline 1"));
  journal.log.append("a", text("offline 2"));
  welcome(
    journal,
    { sessionId: "a", appliedSeq: 1 },
    { sessionId: "b", appliedSeq: 7 },
    { sessionId: "c", appliedSeq: 0 },
  );
  const batches = journal.log.unapplied(all);
  assert.deepEqual(show(batches).sort(), ["a:2", "a:3", "a:4", "b:8"]);
  const [a, b] = ["a", "b"].map((id) => batches.find(({ sessionId }) => sessionId === id)!.entries);
  assert.deepEqual(
    a!.map(({ update }) => update.sessionUpdate),
    ["journal_reset", "agent_message_chunk", "agent_message_chunk"],
  );
  assert.equal(a![2]!.update["content"], "offline 2");
  assert.equal(b![0]!.update["journalId"], journal.id);
  assert.equal(journal.log.append("b", text(".")).seq, 9);
  assert.equal(journal.log.append("c", text(".")).seq, 1);
  // The answer to the first report was lost: the entries are sent again, and nothing is reset twice.
  welcome(journal, { sessionId: "a", appliedSeq: 4 }, { sessionId: "b", appliedSeq: 8 });
  assert.deepEqual(waiting(journal).sort(), ["b:9", "c:1"]);
  journal.close();
});

test("a session that a new journal begins to write after its hello is introduced before it is sent", () => {
  const journal = openJournal(newPath());
  welcome(journal);
  journal.log.append("a", text("first here"));
  assert.deepEqual(waiting(journal), []);
  journal.log.welcome([{ sessionId: "a", appliedSeq: 5 }], journal.log.newcomers());
  assert.deepEqual(waiting(journal), ["a:6", "a:7"]);
  journal.log.append("a", text("next"));
  assert.deepEqual(waiting(journal), ["a:6", "a:7", "a:8"]);
  journal.close();
});

test("a journal that was sent before is not reset when the answers to its reports were lost", () => {
  const path = newPath();
  const journal = openJournal(path);
  journal.log.introduce("a");
  for (let i = 0; i < 3; i++) journal.log.append("a", text("."));
  journal.close();
  const again = openJournal(path);
  again.log.append("a", text("after the restart"));
  welcome(again, { sessionId: "a", appliedSeq: 3 });
  assert.deepEqual(waiting(again), ["a:4"]);
  again.close();
});

test("a journal restored from an older copy goes on after what was applied", () => {
  const path = newPath();
  const old = openJournal(path);
  old.log.introduce("a");
  for (let i = 0; i < 3; i++) old.log.append("a", text("."));
  old.close();
  const restored = openJournal(path);
  restored.log.append("a", text("said after the restore"));
  welcome(restored, { sessionId: "a", appliedSeq: 9 });
  assert.deepEqual(waiting(restored), ["a:10", "a:11"]);
  const [batch] = restored.log.unapplied(all);
  assert.equal(batch!.entries[1]!.update["content"], "said after the restore");
  restored.close();
});

test("a control plane that went back further than the journal reaches gets what there is, after a reset", () => {
  const clock = { time: 1_000 };
  const journal = openJournal(newPath(), { now: () => clock.time });
  journal.log.introduce("a");
  for (let i = 0; i < 3; i++) journal.log.append("a", text(String(i)));
  journal.log.applied([{ sessionId: "a", appliedSeq: 3 }]);
  clock.time += 25 * 3600_000;
  journal.clean();
  journal.log.append("a", text("new"));
  welcome(journal, { sessionId: "a", appliedSeq: 1 });
  const [batch] = journal.log.unapplied(all);
  assert.deepEqual(
    batch!.entries.map(({ seq, update }) => `${seq} ${update.sessionUpdate}`),
    ["2 journal_reset", "3 agent_message_chunk"],
  );
  journal.close();
});

test("applied entries are kept for a day, unapplied ones for ever, outcomes for two", () => {
  const clock = { time: 0 };
  const hours = (count: number) => (clock.time += count * 3600_000);
  const journal = openJournal(newPath(), { now: () => clock.time });
  journal.commands.begin("c", "x");
  journal.commands.finish("c", result);
  journal.commands.begin("open", "x");
  journal.log.introduce("a");
  for (let i = 0; i < 2; i++) journal.log.append("a", text("."));
  journal.log.applied([{ sessionId: "a", appliedSeq: 1 }]);
  const { totalBytes } = journal.log.size();
  hours(23);
  journal.clean();
  assert.equal(journal.log.size().totalBytes, totalBytes);
  hours(2);
  journal.clean();
  assert.ok(journal.log.size().totalBytes < totalBytes);
  assert.deepEqual(waiting(journal), ["a:2"]);
  assert.equal(journal.commands.begin("c", "x").state, "done");
  hours(24);
  journal.clean();
  assert.equal(journal.commands.begin("c", "x").state, "new");
  assert.equal(journal.commands.begin("open", "x").state, "unfinished");
  // The numbers go on although the entries have gone.
  journal.log.applied([{ sessionId: "a", appliedSeq: 2 }]);
  hours(25);
  journal.clean();
  assert.equal(journal.log.size().totalBytes, 0);
  assert.equal(journal.log.append("a", text(".")).seq, 3);
  journal.close();
});

test("above half of its limit the journal takes no new turns, at the limit nothing, and applied entries give way", () => {
  const path = newPath();
  const limitBytes = 4_000;
  const journal = openJournal(path, { limitBytes });
  journal.log.introduce("a");
  const half = () => journal.log.size().unappliedBytes > limitBytes / 2;
  assert.equal(journal.log.acceptsTurns(), true);
  while (!half()) journal.log.append("a", text("some words"));
  assert.equal(journal.log.acceptsTurns(), false);
  assert.throws(() => {
    for (;;) journal.log.append("a", text("some words"));
  }, JournalFull);
  const { lastSeq } = journal.log.positions()[0]!;
  assert.equal(waiting(journal).length, lastSeq, "a refused entry takes no number");
  journal.log.applied([{ sessionId: "a", appliedSeq: lastSeq }]);
  assert.equal(journal.log.acceptsTurns(), true);
  assert.equal(journal.log.append("a", text("room again")).seq, lastSeq + 1);
  assert.ok(journal.log.size().totalBytes <= limitBytes);
  journal.close();
  const again = openJournal(path, { limitBytes });
  welcome(again);
  assert.equal(again.log.size().unappliedBytes, weighUnapplied(again));
  again.close();
});

/** Counted from the entries themselves. */
function weighUnapplied(journal: Journal): number {
  return journal.log
    .unapplied(all)
    .flatMap(({ entries }) => entries)
    .reduce((sum, entry) => sum + Buffer.byteLength(JSON.stringify(entry)) + 100, 0);
}
