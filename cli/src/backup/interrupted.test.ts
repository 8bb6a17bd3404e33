// Backups and restores that are killed, or that find a full disk.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { isRoot } from "@hawser/testkit/clean-user.ts";
import { makeServiceData, type ServiceData } from "@hawser/testkit/service-data.ts";
import { until } from "@hawser/testkit/until.ts";
import { checkDataVersion } from "./data-version.ts";
import { checkArchive } from "./read-archive.ts";

let made: ServiceData;
let contents = "";
let archive = "";
before(async () => {
  made = await makeServiceData(5_000);
  await made.start();
  contents = await made.contents();
  await made.stop();
  archive = join(made.user.home, "one.hawser-backup");
  const { code, output } = await made.hawser(`backup --data ${made.data} --out ${archive}`);
  assert.equal(code, 0, output);
});
after(() => made[Symbol.asyncDispose]());

const sessionLog = (text: string) =>
  text.split("\n").filter((line) => line.startsWith("INSERT INTO public.session_log"));

/** Starts `hawser` as the user and kills it after a while. Returns whether it had ended before. */
async function killAfter(line: string, ms: number): Promise<boolean> {
  const words = `exec ${made.command} ${line}`;
  const asUser = isRoot ? ["runuser", "-u", made.user.name, "--"] : [];
  const [program, ...args] = [...asUser, "sh", "-c", `echo $$; ${words}`];
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"], cwd: made.user.home });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const pid = await new Promise<number>((resolve) => {
    child.stdout.setEncoding("utf8").once("data", (text: string) => resolve(Number.parseInt(text)));
  });
  await Promise.race([ended, pause(ms)]);
  const hadEnded = child.exitCode !== null;
  // Not only runuser: hawser itself has this process id.
  if (!hadEnded) process.kill(pid, "SIGKILL");
  await ended;
  return hadEnded;
}

/** Numbers from 0 to 1, the same in every run with one seed. */
function* numbers(seed: number): Generator<number> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

test("a restore that is killed leaves nothing or a finished restore, and can be repeated", async (t) => {
  const seed = Number(process.env["HAWSER_SEED"] ?? 19);
  const rounds = Number(process.env["HAWSER_ROUNDS"] ?? 5);
  const target = join(made.user.home, "killed");
  const startedAt = performance.now();
  const whole = await made.hawser(`restore ${archive} --data ${target}`);
  assert.equal(whole.code, 0, whole.output);
  const wholeMs = performance.now() - startedAt;
  const random = numbers(seed);
  const seen = { nothing: 0, finished: 0 };
  for (let round = 0; round < rounds; round++) {
    rmSync(target, { recursive: true, force: true });
    await killAfter(`restore ${archive} --data ${target}`, random.next().value! * wholeMs * 1.1);
    if (existsSync(target)) {
      seen.finished++;
    } else {
      seen.nothing++;
      const { code, output } = await made.hawser(`restore ${archive} --data ${target}`);
      assert.equal(code, 0, `seed ${seed}, round ${round}: ${output}`);
    }
    await made.start(target);
    const after = sessionLog(await made.contents(target));
    await made.stop(target);
    assert.deepEqual(after, sessionLog(contents), `seed ${seed}, round ${round}`);
    const left = readdirSync(made.user.home).filter((name) => name.startsWith("killed."));
    assert.deepEqual(left, [], `seed ${seed}, round ${round}`);
  }
  t.diagnostic(`${rounds} kills within ${Math.round(wholeMs)} ms: ${JSON.stringify(seen)}`);
  assert.ok(seen.nothing > 0);
});

test("the cluster of a restore has its name only when it is complete", async () => {
  const target = join(made.user.home, "named");
  const cluster = `${target}.restoring/postgres`;
  const isWhole = () => existsSync(join(cluster, "global/pg_control")) || !existsSync(cluster);
  let isOver = false;
  const restoring = made.hawser(`restore ${archive} --data ${target}`);
  void restoring.finally(() => (isOver = true));
  const look = () => {
    assert.ok(isWhole());
    return isOver;
  };
  await until("the restore has ended", look, 60_000);
  assert.equal((await restoring).code, 0);
});

test("data that was moved aside is complete when the restore is killed, and the restore is repeated", async () => {
  // Long enough for the check of the archive, too short for the database.
  const before = readdirSync(made.user.home);
  await killAfter(`restore ${archive} --data ${made.data} --replace`, 900);
  const after = readdirSync(made.user.home);
  const aside = after.find(
    (name) => name.startsWith("data.before-restore-") && !before.includes(name),
  );
  assert.ok(existsSync(join(made.user.home, aside ?? "data", "postgres/PG_VERSION")));
  const again = await made.hawser(`restore ${archive} --data ${made.data} --replace`);
  assert.equal(again.code, 0, again.output);
  assert.equal(checkDataVersion(made.data, { majors: [15, 16, 17, 18, 19] })! >= 15, true);
});

test("a backup that is killed leaves no file with its name, and the next one works", async () => {
  const out = join(made.user.home, "killed.hawser-backup");
  for (const ms of [300, 600, 900]) {
    rmSync(out, { force: true });
    const hadEnded = await killAfter(`backup --data ${made.data} --out ${out}`, ms);
    if (existsSync(out)) await checkArchive(out);
    else assert.ok(!hadEnded);
    rmSync(out, { force: true });
    const { code, output } = await made.hawser(`backup --data ${made.data} --out ${out}`);
    assert.equal(code, 0, output);
  }
  const pidFile = join(made.data, "postgres/postmaster.pid");
  await until("no server is left", () => !existsSync(pidFile), 20_000);
});

test("a full disk fails with a sentence and leaves nothing behind", async (t) => {
  if (!isRoot) return t.skip("only root can mount a small disk");
  {
    using disk = made.user.mountSmallDisk("small", 30);
    const target = join(made.user.home, "small/data");
    const { code, output } = await made.hawser(`restore ${archive} --data ${target}`);
    assert.equal(code, 1);
    assert.match(output, /disk.* is full.*Free some space/s);
    assert.deepEqual(readdirSync(join(made.user.home, "small")), []);
    disk.resize(400);
    const again = await made.hawser(`restore ${archive} --data ${target}`);
    assert.equal(again.code, 0, again.output);
  }
  using _disk = made.user.mountSmallDisk("tiny", 1);
  await made.user.run(`head -c 900000 /dev/zero > tiny/filler`);
  const out = join(made.user.home, "tiny/x.hawser-backup");
  const { code, output } = await made.hawser(`backup --data ${made.data} --out ${out}`);
  assert.equal(code, 1);
  assert.match(output, /disk.* is full.*--out/s);
  assert.deepEqual(readdirSync(join(made.user.home, "tiny")), ["filler"]);
});

test("the pid of another process in a stale file is not signalled", async () => {
  // Its arguments name the cluster, as those of an editor do.
  const words = ["-e", "setTimeout(() => {}, 60_000)", join(made.data, "postgres/PG_VERSION")];
  const stranger = spawn(process.execPath, words, { stdio: "ignore" });
  try {
    const file = join(made.data, "postgres/postmaster.pid");
    await made.user.run(
      `printf '${stranger.pid}\\n${made.data}/postgres\\n1\\n5432\\n/tmp\\n\\n\\nready\\n' > ${file}`,
    );
    const out = join(made.user.home, "stale.hawser-backup");
    const { code, output } = await made.hawser(`backup --data ${made.data} --out ${out}`);
    assert.equal(code, 0, output);
    assert.equal(stranger.exitCode ?? stranger.signalCode, null);
    assert.ok(readFileSync(out).length > 0);
  } finally {
    stranger.kill();
  }
});
