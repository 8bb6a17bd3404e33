// One real daemon from its first connection to its removal: what is shown of it, whose commands it accepts,
// and how a copy of it is refused.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { arch, hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { runDaemon, untilStatus, type TestHost } from "@hawser/testkit/host.ts";
import { openIntruder } from "@hawser/testkit/intruder.ts";
import { watchPresence } from "@hawser/testkit/presence-watch.ts";
import { tell } from "../figures.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ hosts: 1 });

/** An instance is shown online when its host connects; a moment later its host has been welcomed. */
function untilLinked({ log }: TestHost): Promise<boolean> {
  const isLinked = () => Promise.resolve(log.some(({ state }) => state === "online"));
  return until("the link is up", 10_000, isLinked, Boolean);
}

const countRuns = (log: Record<string, unknown>[]) =>
  log.filter(({ event }) => event === "received a command").length;

scenario(
  "A connected instance shows its machine, its daemon and its agents",
  ["record.instance.host"],
  async ({ caller, world }) => {
    const { instanceId } = world.hosts[0]!;
    await untilLinked(world.hosts[0]!);
    for (const shown of [
      await caller.get_instance({ instanceId }),
      await caller.refresh_instance({ instanceId }),
      (await caller.list_instances({})).instances.find((each) => each.instanceId === instanceId)!,
    ]) {
      assert.deepEqual([shown.status, shown.statusReason], ["online", null]);
      assert.deepEqual([shown.host?.hostname, shown.host?.arch], [hostname(), arch()]);
      assert.ok(shown.host?.os);
      assert.match(shown.daemonVersion ?? "", /^\d+\.\d+\.\d+/);
      const kinds = shown.agents.map(({ kind }) => kind);
      assert.deepEqual(kinds.sort(), ["claude_code", "codex", "opencode"]);
      assert.ok(Date.now() - Date.parse(shown.lastSeenAt!) < 60_000);
    }
  },
);

scenario(
  "All instances are listed whatever their status, and none of another organization",
  ["list_instances.scope", "record.instance.lastSeenAt", "record.instance.status"],
  async ({ caller, stranger, world }) => {
    const waiting = (await caller.create_instance({ name: "waiting" })).instance;
    assert.deepEqual([waiting.status, waiting.lastSeenAt], ["pairing", null]);
    await stranger.create_instance({ name: "not ours" });
    const gone = await world.addHost();
    await untilLinked(gone);
    gone.process.kill("SIGTERM");
    const stopped = Date.now();
    await untilStatus(caller, gone.instanceId, "offline");
    const { instances, total } = await caller.list_instances({});
    assert.deepEqual(
      new Map(instances.map(({ instanceId, status }) => [instanceId, status])),
      new Map([
        [world.hosts[0]!.instanceId, "online"],
        [waiting.instanceId, "pairing"],
        [gone.instanceId, "offline"],
      ]),
    );
    assert.equal(total, 3);
    const shown = await caller.get_instance({ instanceId: gone.instanceId });
    assert.equal(shown.statusReason, "daemon_stopped");
    assert.ok(Math.abs(Date.parse(shown.lastSeenAt!) - stopped) < 5_000);
    await caller.delete_instance({ instanceId: gone.instanceId });
    await caller.delete_instance({ instanceId: waiting.instanceId });
  },
);

scenario(
  "A copied host is refused while the first stays connected, and both are reported",
  [],
  async ({ caller, world }) => {
    const { instanceId, stateDirectory, log } = world.hosts[0]!;
    await using watch = watchPresence(caller);
    const copy = `${stateDirectory}-copy`;
    cpSync(stateDirectory, copy, { recursive: true });
    const tries = 3;
    let refused = 0;
    for (let i = 0; i < tries; i++) {
      await using second = runDaemon(copy);
      const state = () => second.log.findLast(({ event }) => event === "link")?.["state"];
      await until("the copy is answered", 10_000, () => Promise.resolve(state()), Boolean);
      if (state() === "refused") refused += 1;
      const before = countRuns(log);
      for (let n = 0; n < 5; n++) await caller.refresh_instance({ instanceId });
      assert.equal(countRuns(second.log), 0, "commands taken by the copy");
      await until(
        "the first has them",
        2_000,
        () => Promise.resolve(countRuns(log)),
        (n) => n === before + 5,
      );
      if (state() === "refused") {
        await watch.until(
          "shown",
          [instanceId],
          ({ statusReason }) => statusReason === "duplicate_host",
        );
      }
    }
    tell(`a copied host refused ${refused} times of ${tries}`);
    assert.equal(refused, tries);
    assert.deepEqual([...new Set(watch.seen(instanceId).map(({ status }) => status))], ["online"]);
  },
);

scenario(
  "An attacker on the fabric without the signing key cannot command a host",
  [],
  async ({ caller, world }) => {
    const { instanceId, log, stateDirectory } = world.hosts[0]!;
    const other = await world.addHost();
    await using intruder = await openIntruder(world);
    await caller.refresh_instance({ instanceId });
    await caller.refresh_instance({ instanceId: other.instanceId });
    const [genuine, others] = intruder.overheard;
    assert.deepEqual([genuine?.instanceId, others?.instanceId], [instanceId, other.instanceId]);
    const ran = countRuns(log);
    const forged = intruder.forge(instanceId);
    const lies = [
      forged,
      { ...forged, signature: "" },
      { ...forged, signature: genuine!.signature },
      { ...genuine!, body: forged.body },
      { ...genuine!, commandId: forged.commandId },
      { ...genuine!, issuedAt: new Date().toISOString() },
      others!,
      { ...others!, instanceId },
      intruder.forge(instanceId, { command: "forget_host" }),
    ];
    for (const lie of lies) {
      assert.equal(await intruder.command(instanceId, lie), "not_genuine", JSON.stringify(lie));
    }
    assert.equal(countRuns(log), ran);
    assert.ok(existsSync(join(stateDirectory, "credentials.json")));

    // A recorded command that is sent again is answered with its outcome, and not run again.
    const runs = () => runsOf(stateDirectory, instanceId);
    const before = runs();
    assert.ok(before >= 1);
    assert.equal(await intruder.command(instanceId, genuine!), "done");
    assert.equal(runs(), before);

    // A command that is withheld from the host, and delivered after its deadline.
    other.process.kill("SIGKILL");
    await untilStatus(caller, other.instanceId, "offline");
    const giveUp = intruder.standInFor(other.instanceId);
    const kept = intruder.overheard.length;
    const reply = await caller.try("refresh_instance", { instanceId: other.instanceId });
    assertRefused(reply, 409, "host_refused");
    giveUp();
    const command = intruder.overheard[kept]!;
    await using _again = runDaemon(other.stateDirectory);
    await untilStatus(caller, other.instanceId, "online");
    const { deadlineAt } = JSON.parse(command.body) as { deadlineAt: string };
    await until(
      "its deadline",
      15_000,
      () => Promise.resolve(Date.now()),
      // A host knows the server's time to the second, which is what a Date header tells.
      (now) => now > Date.parse(deadlineAt) + 2_500,
    );
    assert.equal(await intruder.command(other.instanceId, command), "deadline_passed");
    tell(`${lies.length} forged commands refused, 1 repeated without effect, 1 late refused`);
    await caller.delete_instance({ instanceId: other.instanceId });
  },
);

/** How often the host has looked at itself, by a copy of its journal: the daemon keeps the file to itself. */
function runsOf(stateDirectory: string, instanceId: string): number {
  const copy = mkdtempSync(join(tmpdir(), "hawser-journal-"));
  try {
    const name = `journal-${instanceId}.sqlite`;
    for (const file of readdirSync(stateDirectory).filter((each) => each.startsWith(name))) {
      cpSync(join(stateDirectory, file), join(copy, file));
    }
    using journal = new DatabaseSync(join(copy, name));
    const read = journal.prepare("SELECT value FROM counters WHERE name = 'refresh_host_facts'");
    return Number(read.get()?.["value"]);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

scenario(
  "The daemon of a removed instance stops, forgets its credentials and keeps its files",
  ["delete_instance.told", "delete_instance.files"],
  async ({ caller, world }) => {
    const host = world.hosts[0]!;
    const copy = `${host.stateDirectory}-kept`;
    cpSync(host.stateDirectory, copy, { recursive: true });
    const before = checksum(host.root);
    const exited = once(host.process, "exit");
    const since = performance.now();
    await caller.delete_instance({ instanceId: host.instanceId });
    assert.deepEqual(await exited, [0, null]);
    tell(`a removed daemon has exited: ${((performance.now() - since) / 1000).toFixed(3)} s`);
    assert.ok(!existsSync(join(host.stateDirectory, "credentials.json")));
    assert.equal(checksum(host.root), before);
    assertRefused(
      await caller.try("get_instance", { instanceId: host.instanceId }),
      404,
      "not_found",
    );
    // With what was kept of its credentials it is refused, and ordered to forget them.
    await using again = runDaemon(copy);
    const [code] = (await once(again.process, "exit")) as [number];
    assert.equal(code, 0);
    assert.ok(!again.log.some(({ event, state }) => event === "link" && state === "online"));
    assert.ok(!existsSync(join(copy, "credentials.json")));
    const { total } = await caller.list_instances({});
    assert.equal(total, 0);
  },
);

/** Of every file below a folder, and of their names. */
function checksum(folder: string): string {
  assert.ok(readdirSync(folder).length > 0);
  const script = `cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum`;
  return execFileSync("sh", ["-c", script, "sh", folder]).toString();
}
