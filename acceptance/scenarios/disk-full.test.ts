// A host whose disk is full (F8): new work is refused with the reason, nothing that was recorded is lost, an
// update changes nothing, and the daemon works again once there is room.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import type { InstanceDetail } from "@hawser/contract";
import { installHost } from "@hawser/testkit/installed-host.ts";
import { renamed } from "@hawser/testkit/release.ts";
import { makeSmallDisk, type SmallDisk } from "@hawser/testkit/small-disk.ts";
import { until as soon } from "@hawser/testkit/until.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";

useWorld({ nats: 1, releases: true });

const disk = makeSmallDisk(32);
if (typeof disk === "string") console.log(`skipped: ${disk}`);
else tests(disk);

function tests(small: SmallDisk): void {
  after(() => small[Symbol.dispose]());

  /** Its state, its log and its stderr are all on the small disk. */
  async function install({ world, caller }: Context, takeover = 30) {
    small.empty();
    world.releases!.publishProgram("0.1.0", renamed("0.1.0"));
    const stateDirectory = join(small.directory, randomUUID());
    const output = openSync(join(small.directory, "stderr"), "a");
    const { baseUrl, releases } = world;
    return installHost({ caller, baseUrl, releases: releases!, stateDirectory, takeover, output });
  }

  scenario(
    "A host with a full disk refuses work with the reason, and works again once there is room (F8)",
    [],
    async (context) => {
      const { caller } = context;
      await using host = await install(context);
      const { instanceId } = host;
      const { pid } = host.status();
      await caller.refresh_instance({ instanceId });
      const key = randomUUID();
      small.fill();
      assert.equal(small.freeBytes(), 0);
      for (let i = 0; i < 20; i++) {
        const reply = await caller.try(
          "refresh_instance",
          { instanceId },
          { "idempotency-key": i === 0 ? key : randomUUID() },
        );
        assertRefused(reply, 409, "host_refused");
        assert.match(
          reply.text,
          /disk is full, so the journal can record nothing. Free some space/,
        );
      }
      assert.equal((await caller.get_instance({ instanceId })).status, "online");
      small.empty();
      await caller.refresh_instance({ instanceId });
      const again = await caller.try(
        "refresh_instance",
        { instanceId },
        { "idempotency-key": key },
      );
      assertRefused(again, 409, "host_refused", "the same key gets the same answer");
      assert.equal(host.status().pid, pid, "it was not started again");
    },
  );

  scenario(
    "An update that finds the disk full changes nothing and says why, and succeeds when there is room (T32)",
    [],
    async (context) => {
      const { world, caller } = context;
      await using host = await install(context);
      const { instanceId, stateDirectory } = host;
      const { pid } = host.status();
      const first = host.current();
      world.releases!.publishProgram("0.2.0", renamed("0.2.0"));
      const fails = async (leaveBytes: number, says: RegExp) => {
        small.empty();
        small.fill(leaveBytes);
        assert.equal((await caller.update_agent({ instanceId })).status, "in_progress");
        await until("it says why", 30_000, () => caller.get_instance({ instanceId }), failed(says));
        const names = readdirSync(join(stateDirectory, "daemon"));
        assert.deepEqual(
          names.filter((name) => name.endsWith(".part")),
          [],
        );
        assert.deepEqual([host.current(), host.status().pid], [first, pid]);
        assert.equal((await caller.refresh_instance({ instanceId })).daemonVersion, first);
      };
      // No room for the program; and room for it, but hardly for more.
      await fails(1_000_000, /ENOSPC|no space left/);
      await fails(3_000_000, /less than 4 MB are free/);
      small.empty();
      assert.equal((await caller.update_agent({ instanceId })).status, "in_progress");
      const isNew = (detail: InstanceDetail) => detail.daemonVersion === "0.2.0";
      await until("it is updated", 30_000, () => caller.get_instance({ instanceId }), isNew);
      await until(
        "no warning",
        10_000,
        () => caller.refresh_instance({ instanceId }),
        ({ warnings }) => warnings.every(({ code }) => code !== "update_failed"),
      );
    },
  );

  scenario(
    "If the disk fills up in the middle of an update, the old daemon stays, and works again once there is room (T32)",
    [],
    async (context) => {
      const { world, caller } = context;
      await using host = await install(context, 8);
      const { instanceId } = host;
      const { pid } = host.status();
      const first = host.current();
      world.releases!.publishProgram("0.2.0", renamed("0.2.0"));
      assert.equal((await caller.update_agent({ instanceId })).status, "in_progress");
      // The new one has been started, and needs a moment to load.
      await soon("the new one starts", async () => (await host.pids()).length === 3, 20_000);
      small.fill();
      await soon("it is given up", async () => (await host.pids()).length === 2, 40_000);
      assert.equal(host.current(), first);
      assert.equal((await caller.get_instance({ instanceId })).status, "online");
      small.empty();
      await until(
        "it takes commands again",
        20_000,
        () => caller.try("refresh_instance", { instanceId }),
        ({ status }) => status === 200,
      );
      assert.equal(host.status().pid, pid, "it was not started again");
      await until(
        "it says why",
        20_000,
        () => caller.get_instance({ instanceId }),
        failed(/did not say "online"/),
      );
      assert.equal((await caller.get_instance({ instanceId })).daemonVersion, first);
    },
  );
}

const failed =
  (says: RegExp) =>
  ({ warnings }: InstanceDetail) =>
    warnings.some(({ code, message }) => code === "update_failed" && says.test(message));
