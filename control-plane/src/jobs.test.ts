// Two runners stand for two nodes; their jobs are on one database.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { moveClock } from "@hawser/testkit/clock.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { until } from "@hawser/testkit/until.ts";
import { startJobs, type Job } from "./jobs.ts";
import { createLog } from "./log.ts";

let service: ServiceDatabase;
const log = createLog("silent");

before(async () => {
  service = await openServiceDatabase();
});

after(async () => {
  await service[Symbol.asyncDispose]();
});

function startNode(...jobs: Job[]) {
  const started = startJobs({ system: service.database.system, nodeId: randomUUID(), jobs, log });
  return { ...started, [Symbol.asyncDispose]: () => started.close() };
}

const endless = () => new Promise<never>(() => {});

test("of several nodes one runs a job, at its interval", async () => {
  const runs: number[] = [];
  const job = { name: "each second", everySeconds: 1, run: async () => void runs.push(Date.now()) };
  {
    await using _a = startNode(job);
    await using _b = startNode(job);
    await using _c = startNode(job);
    await until("four runs", () => runs.length >= 4);
  }
  for (let i = 1; i < 4; i++) {
    assert.ok(
      runs[i]! - runs[i - 1]! > 900,
      `runs ${i} and ${i + 1} began too close to each other`,
    );
  }
});

test("a job that hangs delays no other, and no other node starts it", async () => {
  let hung = 0;
  let others = 0;
  const hanging = { name: "hangs", everySeconds: 1, run: () => ((hung += 1), endless()) };
  const other = { name: "runs beside it", everySeconds: 1, run: async () => void (others += 1) };
  await using _a = startNode(hanging, other);
  await using _b = startNode(hanging, other);
  await until("four runs of the other job", () => others >= 4);
  assert.equal(hung, 1);
});

test("the job of a node that died runs again on another node", async () => {
  let runs = 0;
  const job = (run: Job["run"]): Job => ({ name: "survives", everySeconds: 2, run });
  {
    await using dying = startNode(job(() => ((runs += 1), endless())));
    await until("the first run", () => runs === 1);
    // `close` does not release the lease, so the other node is in the same position as after a crash.
    void dying;
  }
  const diedAt = performance.now();
  await using _other = startNode(job(async () => void (runs += 1)));
  await until("the second run", () => runs === 2);
  assert.ok(performance.now() - diedAt < 6_000);
});

test("the work of a node is aborted when another node has its lease", async () => {
  const aborted = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  await using _node = startNode({
    name: "overtaken",
    everySeconds: 2,
    run(signal) {
      signal.addEventListener("abort", () => aborted.resolve());
      started.resolve();
      return aborted.promise;
    },
  });
  await started.promise;
  await ownerSql(
    service.url,
    `UPDATE jobs SET holder = gen_random_uuid(), fence = fence + 1, lease_until = hawser_now() + interval '1 minute'
      WHERE name = 'overtaken'`,
  );
  await aborted.promise;
});

test("a job that fails runs again at its next time", async () => {
  let runs = 0;
  const job = {
    name: "fails",
    everySeconds: 1,
    run: () => ((runs += 1), Promise.reject(new Error("on purpose"))),
  };
  await using _node = startNode(job);
  await until("the second run", () => runs >= 2);
});

test("a node that cannot run a job leaves it to one that can", async () => {
  const ran: string[] = [];
  const job = (node: string, isAble: boolean): Job => ({
    name: "needs the fabric",
    everySeconds: 1,
    isAble: () => isAble,
    run: async () => void ran.push(node),
  });
  await using _unable = startNode(job("unable", false));
  await using _able = startNode(job("able", true));
  await until("two runs", () => ran.length >= 2);
  assert.deepEqual(new Set(ran), new Set(["able"]));
});

test("a clock that is set back does not stop the jobs", async () => {
  let runs = 0;
  const job = { name: "later", everySeconds: 1, run: async () => void (runs += 1) };
  await moveClock(service.url, 30 * 86_400);
  {
    await using _node = startNode(job);
    await until("a run in the future", () => runs === 1);
  }
  await moveClock(service.url, 0);
  await using _node = startNode(job);
  await until("a run after the clock was set back", () => runs >= 2);
});
