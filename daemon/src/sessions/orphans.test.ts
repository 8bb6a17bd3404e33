// Orphaned processes: those with our mark are ended, all others are left alone.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { until } from "@hawser/testkit/until.ts";
import { makeStartId } from "../drivers/start-id.ts";
import { silentLog } from "../log.ts";
import { reapOrphans } from "./orphans.ts";

const place = realpathSync(mkdtempSync(join(tmpdir(), "hawser-orphans-")));
const started: ChildProcess[] = [];
after(() => {
  for (const child of started) child.kill("SIGKILL");
  removeDirectory(place);
});

async function run(startId: string | undefined, name: string, program = "sleep 60") {
  const cwd = join(place, name);
  mkdirSync(cwd, { recursive: true });
  const env = { PATH: process.env["PATH"], ...(startId && { HAWSER_AGENT: startId }) };
  const child = spawn("/bin/sh", ["-c", `echo ready; ${program}`], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  started.push(child);
  await once(child.stdout, "data");
  return child;
}

const isGone = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

test("orphans are ended by pid, by SIGKILL if needed, and no other process is", async () => {
  const live = makeStartId(place);
  const elsewhere = mkdtempSync(join(place, "other-state-"));
  const orphan = await run(makeStartId(place), "free");
  const stubborn = await run(
    makeStartId(place),
    "free",
    "trap '' TERM; while :; do sleep 0.1; done",
  );
  const left = await run(undefined, "ended/sub");
  const agentInParked = await run(live, "parked");
  const owned = await run(live, "free");
  const others = await run(makeStartId(elsewhere), "free");
  const looking = await run(undefined, "parked");
  const stranger = await run(undefined, "free");
  await reapOrphans({
    stateDirectory: place,
    liveStarts: () => [live],
    placeOf: (path) =>
      path.startsWith(join(place, "ended"))
        ? "ended"
        : path.startsWith(join(place, "parked"))
          ? "parked"
          : undefined,
    log: silentLog,
  });
  await until("the end of the one that ignores SIGTERM", () => isGone(stubborn));
  for (const child of [orphan, stubborn, left, agentInParked]) assert.ok(isGone(child));
  for (const child of [owned, others, looking, stranger]) assert.equal(isGone(child), false);
});
