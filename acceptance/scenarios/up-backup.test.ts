// Backups of `hawser up`: made while a real opencode works, and restored to the same service.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Caller } from "@hawser/testkit/caller.ts";
import { until } from "@hawser/testkit/until.ts";
import {
  makeUpBed,
  untilStopped,
  type ReadyLine,
  type StartedUp,
  type UpBed,
} from "@hawser/testkit/up-bed.ts";
import { tell } from "../figures.ts";
import { scripted } from "../session-steps.ts";

let bed: UpBed;
let up: StartedUp;
let line: ReadyLine;
let caller: Caller;
let sessionId: string;
let archive: string;

before(async () => {
  bed = await makeUpBed({ agents: true });
  archive = join(bed.user.home, "one.hawser-backup");
});
after(() => bed?.[Symbol.asyncDispose]());

const entries = async () => (await caller.list_session_events({ sessionId })).events;
const prompt = async (text: string, answer: string) => {
  await caller.send_prompt({ sessionId, text: scripted(text, { text: answer }) });
  await until(
    "the turn is completed",
    async () => {
      const { turnOutcome } = await caller.wait_for_session({ sessionId });
      return turnOutcome === "completed" && JSON.stringify(await entries()).includes(answer);
    },
    90_000,
  );
};

test("A backup is made while a session runs, and only its user can read it", async () => {
  up = bed.start();
  line = await up.ready;
  caller = bed.callerFor(line);
  const { instanceId } = line;
  ({ sessionId } = await caller.start_session({ instanceId, directory: bed.repository }));
  await prompt("Say hello.", "Hello.");
  const startedAt = performance.now();
  const made = await bed.run(["backup", "--out", archive]);
  assert.equal(made.code, 0, made.output);
  assert.match(made.output, /it opens everything/);
  assert.equal(statSync(archive).mode & 0o777, 0o600);
  tell(`backup of a running service: ${Math.round(performance.now() - startedAt)} ms`);
  // The service was not disturbed.
  assert.equal((await caller.get_instance({ instanceId })).status, "online");
});

test("The restored service has the same key, host and log, and the session continues", async () => {
  const atBackup = await entries();
  await prompt("Say more.", "More.");
  const atEnd = await entries();
  assert.ok(atEnd.length > atBackup.length);
  const refused = await bed.run(["restore", archive, "--replace"]);
  assert.equal(refused.code, 1);
  assert.match(refused.output, /hawser down/);
  await bed.run(["down"]);
  await up.ended;
  await untilStopped(bed);

  const startedAt = performance.now();
  const restored = await bed.run(["restore", archive, "--replace"]);
  assert.equal(restored.code, 0, restored.output);
  tell(`restore: ${Math.round(performance.now() - startedAt)} ms`);
  const name = "master-key";
  const aside = readdirSync(join(bed.data, "..")).find((each) => each.includes(".before-restore-"));
  assert.deepEqual(
    readFileSync(join(bed.data, name)),
    readFileSync(join(bed.data, "..", aside!, name)),
  );

  up = bed.start();
  assert.deepEqual(await up.ready, line);
  const { instanceId } = line;
  await until(
    "the host is online",
    async () => (await caller.get_instance({ instanceId })).status === "online",
    60_000,
  );
  // The log of the backup is unchanged, and this host sends what it recorded since again.
  assert.deepEqual((await entries()).slice(0, atBackup.length), atBackup);
  await until(
    "the entries since the backup are back",
    async () => (await entries()).length >= atEnd.length,
    60_000,
  );
  assert.deepEqual((await entries()).slice(0, atEnd.length), atEnd);
  await prompt("Continue.", "Continued.");
  await bed.run(["down"]);
  await up.ended;
});
