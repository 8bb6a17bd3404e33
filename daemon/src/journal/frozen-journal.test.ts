// A journal that the last daemon without journal versions wrote: today's daemon reads everything in it
// as that daemon did, and its sessions continue. frozen/README.md says how the journal was made.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { git, makeSmallHost, script, type SmallHost } from "@hawser/testkit/small-host.ts";
import { openJournal, type Journal } from "./journal.ts";
import { journalSteps, versionOf } from "./steps.ts";

const frozen = join(import.meta.dirname, "frozen/before-versions");
const everything = { bytes: Infinity, entries: 10_000 };
const rules = ["ls", "rm a.txt"];

/** What the journal contains, as its old daemon read it. */
type Reading = ReturnType<typeof readAll>;

function readAll({ id, log, driven, messages, blobs, commands }: Journal, commandIds: string[]) {
  const positions = log.positions();
  log.welcome([], positions);
  const { totalBytes, unappliedBytes } = log.size();
  return {
    id,
    positions,
    totalBytes,
    unappliedBytes,
    blobs: blobs.pending().map(({ sha256, size }) => ({ sha256, size })),
    commands: Object.fromEntries(commandIds.map((each) => [each, commands.begin(each, "any")])),
    sessions: Object.fromEntries(
      positions.map(({ sessionId }) => [
        sessionId,
        {
          record: driven.get(sessionId) ?? null,
          hasEnded: driven.hasEnded(sessionId),
          prompts: driven.prompts(sessionId),
          openRequests: driven.openRequests(sessionId),
          rememberedRules: rules.filter((rule) => driven.isRemembered(sessionId, [rule])),
          messages: messages.list(sessionId),
          unapplied: log.unapplied(everything, sessionId).flatMap(({ entries }) => entries),
        },
      ]),
    ),
  };
}

/** Puts the frozen journal on the host's disk; returns its path and what is read from it. */
function thaw(small: SmallHost): { path: string; expected: Reading } {
  const commit = git(small.repository, "rev-parse", "HEAD").trim();
  const read = (extension: string) =>
    readFileSync(`${frozen}.${extension}`, "utf8")
      .replaceAll("@directory@", small.directory)
      .replaceAll("@repository@", small.repository)
      .replaceAll("@folder@", small.folder)
      .replaceAll("@commit@", commit)
      .replace(/@x\*(\d+)@/g, (_, count) => "x".repeat(Number(count)));
  const path = join(small.directory, "state/journal.sqlite");
  const database = new DatabaseSync(path);
  database.exec(read("sql"));
  assert.equal(versionOf(database), 0);
  database.close();
  const expected = JSON.parse(read("json")) as Reading;
  const content = { type: "text", text: "x".repeat(200_000) };
  const blob = JSON.stringify({ sessionUpdate: "agent_message_chunk", content });
  const sha256 = createHash("sha256").update(blob).digest("hex");
  assert.deepEqual(expected.blobs, [{ sha256, size: blob.length }]);
  const file = join(small.directory, "state/journal.blobs", sha256);
  mkdirSync(dirname(file));
  writeFileSync(file, blob);
  return { path, expected };
}

test("everything in a journal from before versions is read as before", () => {
  using small = makeSmallHost();
  const { path, expected } = thaw(small);
  const journal = openJournal(path);
  assert.deepEqual(readAll(journal, Object.keys(expected.commands)), expected);
  assert.deepEqual(journal.count("refresh_host_facts"), 2);
  journal.close();
  const database = new DatabaseSync(path);
  assert.equal(versionOf(database), journalSteps.length);
  database.close();
});

test("the sessions of a journal from before versions continue", async () => {
  using small = makeSmallHost();
  const { expected } = thaw(small);
  const records = Object.values(expected.sessions).flatMap(({ record }) => record ?? []);
  const working = records.find(({ worktree }) => worktree !== null)!;
  git(
    small.repository,
    "worktree",
    "add",
    "--quiet",
    "-b",
    working.worktree!.branch,
    working.directory,
  );
  for (const { handle, directory, title } of records) {
    const session = small.agent.create(directory, title);
    small.agent.sessions.set(handle!, Object.assign(session, { handle: handle! }));
  }
  const host = small.open();

  // The agent's process ended with the former daemon: the turn is over, and its request is withdrawn.
  const { prompts, openRequests } = expected.sessions[working.sessionId]!;
  const { sessionId } = working;
  const interrupted = await host.until(
    sessionId,
    "turn_finished",
    (_, { turnId }) => turnId === prompts[0]!.turnId,
  );
  assert.equal(interrupted.outcome, "interrupted");
  await host.until(
    sessionId,
    "request_settled",
    ({ requestId }) => requestId === openRequests[0]!.requestId,
  );
  // The prompt that waited runs, in the worktree that the session has.
  const finished = await host.until(
    sessionId,
    "turn_finished",
    (_, { turnId }) => turnId === prompts[1]!.turnId,
  );
  assert.equal(finished.outcome, "completed");
  const sequence = host.entries(sessionId).map(({ seq }) => seq);
  assert.deepEqual(
    sequence,
    sequence.map((_, index) => 6 + index),
    "its entries continue after those that were applied",
  );
  const asked = script([
    { calls: [{ tool: "permission", input: { title: "Run", detail: "ls", rules: ["ls"] } }] },
    { text: "Done." },
  ]);
  const { turnId } = await host.must("send_prompt", { sessionId, text: asked });
  await host.until(sessionId, "turn_finished", (_, entry) => entry.turnId === turnId);
  const messages = host.journal.messages.list(sessionId).map(({ messageId }) => messageId);
  assert.equal(messages.length, 4, "two from before, two of now");

  // A shell command that ran is reported as interrupted; the agent learns of both with its next prompt.
  const { sessionId: inFolder, shells } = records.find((record) => record.shells)!;
  host.journal.blobs.stored(expected.blobs[0]!.sha256);
  await host.until(inFolder, "shell", ({ shellId }) => shellId === shells![0]!.shellId);
  await host.must("send_prompt", { sessionId: inFolder, text: script([{ text: "Here." }]) });
  await host.until(inFolder, "turn_finished");
  const given = [...small.agent.sessions.values()].flatMap((session) => session.given);
  const told = given.find(({ context }) => context.length > 0)!.context.join("\n");
  assert.match(told, /exit code 0[^]*done/);
  await host.close();
});
