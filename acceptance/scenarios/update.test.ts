// A daemon replaces itself by the published version, and works on as it is when that version is not
// to be trusted or does not work (T32). The daemon is the installed one, built as a release.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after } from "node:test";
import type { InstanceDetail } from "@hawser/contract";
import {
  installHost,
  type InstallOptions,
  type InstalledHost,
} from "@hawser/testkit/installed-host.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { watchPresence } from "@hawser/testkit/presence-watch.ts";
import { nextReleaseKeys, renamed } from "@hawser/testkit/release.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { badReleases } from "../bad-releases.ts";
import { tell } from "../figures.ts";
import { pin } from "../pin.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";

useWorld({
  nats: 1,
  releases: true,
  environment: { HAWSER_RATE_PER_SECOND: "2000", HAWSER_RATE_BURST: "2000" },
});

const directory = mkdtempSync(join(tmpdir(), "hawser-update-"));
after(() => removeDirectory(directory));

function install({ world, caller }: Context, options: Partial<InstallOptions> = {}) {
  return installHost({
    caller,
    baseUrl: world.baseUrl,
    releases: world.releases!,
    stateDirectory: join(directory, randomUUID()),
    ...options,
  });
}

type Warned = Pick<InstanceDetail, "warnings">;

/** A machine may have warnings of its own, such as an old git. */
const updateWarnings = ({ warnings }: Warned) =>
  warnings.filter(({ code }) => code === "update_failed");

const lines = (host: InstalledHost, step: string) =>
  host.log.filter((line) => line["event"] === "update" && line["step"] === step);

/** Resolves when the host has the version, is online and takes commands. */
async function untilVersion({ caller }: Context, host: InstalledHost, version: string) {
  const { instanceId } = host;
  await until(
    `version ${version}`,
    60_000,
    () => caller.get_instance({ instanceId }),
    ({ daemonVersion, status }) => daemonVersion === version && status === "online",
  );
  assert.equal(
    (await caller.refresh_instance({ instanceId })).daemonVersion,
    version,
    "it takes commands",
  );
}

scenario(
  "A daemon replaces itself by the published version without being seen to leave, and no command is lost",
  ["update_agent.self", "update_agent.instanceId"],
  async (context) => {
    const { world, caller } = context;
    const releases = world.releases!;
    releases.publishProgram("0.1.0", renamed("0.1.0"));
    await using host = await install(context, { otherNode: true });
    const { instanceId, stateDirectory } = host;
    const first = host.current();
    assert.deepEqual(
      [(await caller.update_agent({ instanceId })).status, host.current()],
      ["installed", first],
      "the published version is the one that runs",
    );
    await using watch = watchPresence(caller);

    releases.publishProgram("0.2.0", renamed("0.2.0"));
    const ordered = await caller.update_agent({ instanceId });
    assert.deepEqual(
      [ordered.instanceId, ordered.status, ordered.version],
      [instanceId, "in_progress", "0.2.0"],
    );
    assert.equal(
      (await caller.update_agent({ instanceId })).status,
      "in_progress",
      "once is enough",
    );
    const { operations } = await caller.get_instance({ instanceId });
    assert.deepEqual(
      operations.map(({ type, subject, state }) => [type, subject, state]).slice(0, 1),
      operations.length ? [["update_daemon", "daemon 0.2.0", "running"]] : [],
    );
    // Until it is done, and beyond: commands under keys of their own, some of them in the gap.
    const replies: Promise<{ status: number; code: string | undefined }>[] = [];
    const send = async (key: string) => {
      const reply = await caller.try(
        "refresh_instance",
        { instanceId },
        { "idempotency-key": key },
      );
      return {
        status: reply.status,
        code: (reply.body as { error?: { code: string } }).error?.code,
      };
    };
    await until(
      "handing over",
      60_000,
      () => Promise.resolve(lines(host, "starting")),
      ({ length }) => length > 0,
    );
    for (let i = 0; i < 100; i++) {
      replies.push(send(randomUUID()));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const answered = await Promise.all(replies);
    await untilVersion(context, host, "0.2.0");
    await until(
      "done",
      20_000,
      () => Promise.resolve(lines(host, "done")),
      ({ length }) => length > 0,
    );

    const succeeded = answered.filter(({ status }) => status === 200).length;
    const failed = answered.filter(({ status }) => status !== 200);
    assert.deepEqual(
      watch.seen(instanceId).filter(({ status }) => status !== "online"),
      [],
    );
    assert.equal(host.current(), "0.2.0");
    assert.deepEqual(
      readdirSync(join(stateDirectory, "daemon")).toSorted(),
      [first, "0.2.0", "current"].toSorted(),
    );
    assert.equal(host.status().version, "0.2.0");
    assert.equal((await host.pids()).length, 2, "one supervisor, one daemon");
    assert.deepEqual(updateWarnings(await caller.get_instance({ instanceId })), []);

    const at = (line: Record<string, unknown> | undefined) => Date.parse(String(line?.["at"]));
    const handedOver = at(host.log.find(({ event }) => event === "the daemon hands over"));
    const online = at(
      host.log.findLast(({ event, state }) => event === "link" && state === "online"),
    );
    tell(
      `an update: ${online - handedOver} ms without anybody taking commands, never shown offline`,
    );

    await stopProcess(host.supervisor);
    const { ran, numbers } = readLooks(host);
    assert.equal(new Set(numbers).size, numbers.length, "no two commands share a run");
    assert.equal(numbers.length, ran, "no command ran twice");
    // The one at the end; and one that was refused may have run without a confirmation.
    assert.ok(ran >= succeeded + 1 && ran <= answered.length + 1, `${ran} ran`);
    tell(
      `100 commands during an update: ${succeeded} succeeded, ${failed.length} refused (${[...new Set(failed.map(({ code }) => code))].join(", ")}), ${ran - 1} ran, each once`,
    );
  },
);

/** What a stopped daemon's journal says of the looks at its host: how many ran, and how many ended well. */
function readLooks({ stateDirectory, instanceId }: InstalledHost) {
  using journal = openJournalFile(join(stateDirectory, `journal-${instanceId}.sqlite`));
  const rows = journal.database
    .prepare("SELECT outcome FROM commands WHERE command = 'refresh_host_facts'")
    .all() as { outcome: string | null }[];
  const numbers = rows.flatMap(({ outcome }) => {
    const { result } = JSON.parse(outcome ?? "{}") as { result?: { runs: number } };
    return result ? [result.runs] : [];
  });
  const counter = journal.database
    .prepare("SELECT value FROM counters WHERE name = 'refresh_host_facts'")
    .get() as { value: number };
  return { ran: counter.value, numbers };
}

function openJournalFile(path: string): Disposable & { database: DatabaseSync } {
  const database = new DatabaseSync(path, { readOnly: true });
  return { database, [Symbol.dispose]: () => database.close() };
}

scenario(
  "A daemon works on, and says why, whatever is published in place of a good version (T32)",
  [],
  async (context) => {
    const { world, caller } = context;
    const releases = world.releases!;
    releases.publishProgram("0.1.0", renamed("0.1.0"));
    await using host = await install(context, { takeover: 8 });
    const { instanceId, stateDirectory } = host;
    const first = host.current();
    const { pid } = host.status();
    for (const { name, publish, says, refused = false } of badReleases) {
      publish(releases);
      const reply = await caller.try("update_agent", { instanceId });
      if (refused) {
        assertRefused(reply, 409, "host_refused");
        assert.match(reply.text, says, name);
      } else {
        assert.equal(reply.status, 200, `${name}: ${reply.text}`);
      }
      // At once, and not with the next heartbeat; two of them take as long as a takeover may.
      const { warnings } = await until(
        name,
        20_000,
        () => caller.get_instance({ instanceId }),
        ({ warnings }) => warnings.some(({ message }) => says.test(message)),
      );
      assert.deepEqual(
        updateWarnings({ warnings }).map(({ code }) => code),
        ["update_failed"],
        name,
      );
      // Once more, because a hand-over may just be coming back.
      await until(
        name,
        10_000,
        () => caller.try("refresh_instance", { instanceId }),
        ({ status }) => status === 200,
      );
      const { daemonVersion, status } = await caller.get_instance({ instanceId });
      assert.deepEqual([daemonVersion, status, host.current()], [first, "online", first], name);
      assert.equal(host.status().pid, pid, "it is the very process of before");
      assert.deepEqual(unfinished(stateDirectory), [], name);
      assert.match((await host.call("status")).output, says, name);
    }
    assert.equal((await host.pids()).length, 2);

    releases.publishProgram("0.5.0", renamed("0.5.0"));
    assert.equal((await caller.update_agent({ instanceId })).version, "0.5.0");
    await untilVersion(context, host, "0.5.0");
    const isClear = (instance: Warned) => updateWarnings(instance).length === 0;
    await until("no warning", 10_000, () => caller.refresh_instance({ instanceId }), isClear);

    // Somebody puts the old one back by hand; what the service may bring is still bounded.
    releases.publishProgram("0.4.9", renamed("0.4.9"));
    const older = await caller.try("update_agent", { instanceId });
    assertRefused(older, 409, "host_refused");
    assert.match(older.text, /0\.5\.0 has run here/);
  },
);

/** What a failed update must not leave. */
function unfinished(stateDirectory: string): string[] {
  return ["daemon", "node"].flatMap((folder) =>
    readdirSync(join(stateDirectory, folder)).filter((name) => /\.(part|next)$/.test(name)),
  );
}

scenario(
  "The owner's policy decides whether the service may update the daemon",
  ["update_agent.permission"],
  async (context) => {
    const { world, caller } = context;
    const releases = world.releases!;
    releases.publishProgram("0.1.0", renamed("0.1.0"));
    await using host = await install(context);
    const { instanceId, stateDirectory } = host;
    writeFileSync(join(stateDirectory, "policy"), "installs = no\n");
    releases.publishProgram("0.2.0", renamed("0.2.0"));
    const reply = await caller.try("update_agent", { instanceId });
    assertRefused(reply, 409, "host_refused");
    assert.match(reply.text, /policy file does not allow the service to update the daemon/);
    assert.deepEqual(updateWarnings(await caller.get_instance({ instanceId })), []);

    const [organization] = world.organizations;
    const rest = six.filter((permission) => permission !== "settings:edit");
    const without = world.callerFor(await world.makeKey(organization, rest));
    assertRefused(await without.try("update_agent", { instanceId }), 403, "forbidden");
    const alone = world.callerFor(await world.makeKey(organization, ["settings:edit"]));
    assertRefused(await alone.try("update_agent", { instanceId }), 409, "host_refused");
    assertInvalid(await caller.try("update_agent", {}), "instanceId");
    assertInvalid(await caller.try("update_agent", { instanceId: 7 }), "instanceId");
  },
);

const six = pin.permissions;

// The last scenario of this file: the ones before publish with the first keys.
scenario(
  "A14: hosts follow the publisher to new release keys, and then refuse the old key",
  [],
  async (context) => {
    const { world, caller } = context;
    const releases = world.releases!;
    releases.publishProgram("0.50.0", renamed("0.50.0"));
    await using host = await install(context);
    const { instanceId } = host;
    let { keys } = releases;
    for (const version of ["0.51.0", "0.52.0"]) {
      keys = nextReleaseKeys(keys, "first");
      await releases.publish({ keys, version });
      await caller.update_agent({ instanceId });
      await untilVersion(context, host, version);
    }
    // Both first keys have been replaced.
    await releases.publish({ keys: releases.keys, version: "0.53.0" });
    const refused = await caller.try("update_agent", { instanceId });
    assert.match(refused.text, /not signed by a key that is trusted/);
    assert.equal((await caller.refresh_instance({ instanceId })).daemonVersion, "0.52.0");
  },
);
