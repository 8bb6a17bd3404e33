// An update that is cut off at any of its steps leaves one daemon: the old one or the new one, whole
// and online (F14). What is killed is started again as a service manager does it. Old and new at
// once: the newer wins.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { installHost, placeRelease, type InstalledHost } from "@hawser/testkit/installed-host.ts";
import { renamed } from "@hawser/testkit/release.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { until as soon } from "@hawser/testkit/until.ts";
import { tell } from "../figures.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";

useWorld({
  nats: 1,
  releases: true,
  environment: { HAWSER_RATE_PER_SECOND: "2000", HAWSER_RATE_BURST: "2000" },
});

const directory = mkdtempSync(join(tmpdir(), "hawser-update-killed-"));
after(() => removeDirectory(directory));

function install({ world, caller }: Context) {
  return installHost({
    caller,
    baseUrl: world.baseUrl,
    releases: world.releases!,
    stateDirectory: join(directory, randomUUID()),
    takeover: 20,
  });
}

/** As the daemon and its supervisor log them. */
const steps = [
  "downloading",
  "placing",
  "placed",
  "starting",
  "handing over",
  "taking over",
  "switching",
  "switched",
] as const;
const victims = ["supervisor", "old", "new"] as const;
type Victim = (typeof victims)[number];

const hasReached = (host: InstalledHost, since: number, step: string) =>
  host.log
    .slice(since)
    .some(({ event, step: name }) => event === "update" && String(name).startsWith(step));

function kill(host: InstalledHost, victim: Victim, since: number, oldPid: number): boolean {
  const started = host.log.slice(since).find(({ event }) => event === "a daemon was started");
  const pids = { supervisor: host.supervisor.pid, old: oldPid, new: Number(started?.["pid"]) };
  const pid = pids[victim];
  if (!pid) return false;
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}

let minor = 1;

/** Orders an update, kills one of its processes at a step, and looks at what is left. */
async function cut(context: Context, host: InstalledHost, victim: Victim, step: string) {
  const { caller, world } = context;
  const { instanceId } = host;
  const from = host.current();
  const to = `1.${minor++}.0`;
  const what = `${victim} killed at "${step}"`;
  world.releases!.publishProgram(to, renamed(to));
  const since = host.log.length;
  const { pid } = host.status();
  assert.equal((await caller.update_agent({ instanceId })).status, "in_progress", what);
  await soon(what, () => hasReached(host, since, step), 30_000);
  if (!kill(host, victim, since, pid)) {
    // There is none at this step. The next update must not meet this one.
    await soon(what, () => hasReached(host, since, "done"), 30_000);
    return undefined;
  }
  const startedAt = performance.now();
  if (victim === "supervisor") {
    await soon("the supervisor is gone", () => host.supervisor.signalCode !== null);
    host.start();
  }
  // Whatever is still under way comes to its end: two processes, and they answer.
  await until(
    what,
    60_000,
    async () => {
      const pids = await host.pids();
      const reply = await caller.try("refresh_instance", { instanceId });
      const settled = pids.length === 2 && reply.status === 200;
      return settled && !isUnderWay(host, since, victim) ? pids : undefined;
    },
    (pids) => pids !== undefined,
  );
  const { daemonVersion, status, statusReason } = await caller.get_instance({ instanceId });
  assert.deepEqual([status, statusReason], ["online", null], what);
  assert.ok(daemonVersion === from || daemonVersion === to, `${what}: ${daemonVersion}`);
  assert.equal(host.current(), daemonVersion, what);
  const served = host.status();
  assert.deepEqual(
    [served.version, served.supervisorPid],
    [daemonVersion, host.supervisor.pid],
    what,
  );
  const left = ["daemon", "node"].flatMap((name) => readdirSync(join(host.stateDirectory, name)));
  assert.deepEqual(
    left.filter((name) => /\.(part|next)$/.test(name)),
    [],
    what,
  );
  return { version: daemonVersion === to ? "new" : "old", ms: performance.now() - startedAt };
}

/** An update goes on after the old or the new daemon was killed, until it is done or given up. */
function isUnderWay(host: InstalledHost, since: number, victim: Victim): boolean {
  if (victim === "supervisor") return false;
  const began = hasReached(host, since, "starting");
  const ended = ["done", "given up"].some((step) => hasReached(host, since, step));
  return began && !ended;
}

for (const victim of victims) {
  scenario(
    `An update whose ${victim === "supervisor" ? victim : `${victim} daemon`} is killed leaves one daemon, whole and online, at whichever step (F14)`,
    [],
    async (context) => {
      context.world.releases!.publishProgram("0.1.0", renamed("0.1.0"));
      await using host = await install(context);
      const outcomes: string[] = [];
      for (const step of steps) {
        const outcome = await cut(context, host, victim, step);
        if (outcome) outcomes.push(`${step}: ${outcome.version}, ${Math.round(outcome.ms)} ms`);
      }
      assert.ok(outcomes.length >= 4, "it was killed at least at the steps that it has");
      tell(
        `${victim} killed at each step of an update, which version is left: ${outcomes.join("; ")}`,
      );
    },
  );
}

scenario(
  "Of two supervisors of one host one runs: the other says so and ends, unless it is newer (F14)",
  [],
  async (context) => {
    const { caller, world } = context;
    const releases = world.releases!;
    releases.publishProgram("0.1.0", renamed("0.1.0"));
    await using host = await install(context);
    const { instanceId, stateDirectory } = host;
    const version = host.current();
    const second = await host.call("run");
    assert.equal(second.code, 4);
    assert.match(
      second.output,
      new RegExp(`^The daemon runs already: version ${version}, process `),
    );
    assert.equal((await host.pids()).length, 2);

    // As the installer does it: the version beside, the pointer switched, then started.
    const former = host.supervisor;
    const formerPid = host.status().pid;
    releases.publishProgram("2.0.0", renamed("2.0.0"));
    placeRelease(releases, stateDirectory);
    host.start();
    await soon("the older stops itself", () => former.exitCode === 0, 20_000);
    await until(
      "the newer is online",
      20_000,
      () => caller.get_instance({ instanceId }),
      ({ daemonVersion, status }) => daemonVersion === "2.0.0" && status === "online",
    );
    assert.equal((await caller.refresh_instance({ instanceId })).daemonVersion, "2.0.0");
    assert.notEqual(host.status().pid, formerPid);
    assert.equal((await host.pids()).length, 2);
  },
);
