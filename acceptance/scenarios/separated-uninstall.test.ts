// A separated host that is uninstalled as the guide says, and installed again.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { untilStatus } from "@hawser/testkit/host.ts";
import { installSeparatedHost } from "@hawser/testkit/separated-host.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld({ nats: 1, releases: true });

scenario(
  "A separated host is uninstalled without an error, says what is left to root, and can be installed again",
  [],
  async ({ caller }) => {
    await using host = await installSeparatedHost({ caller });
    const { directory, instanceId, name } = host;
    assert.ok(host.output.includes(`crontab -u ${name} -e`), host.output);
    assert.ok(host.output.includes(`sudo -u ${name} ${directory}/bin/hawserd status`), host.output);
    for (let round = 0; round < 2; round++) {
      const { code, output } = await host.runAs(name, `${directory}/bin/hawserd uninstall --yes`);
      assert.equal(code, 0, output);
      assert.doesNotMatch(output, /Error|were not removed/);
      assert.ok(output.includes(`rm -r ${directory} ${directory}-users`), output);
      assert.match(output, /delete_instance removes it there/);
      assert.deepEqual(readdirSync(directory), []);
      assert.ok(existsSync(`${directory}-users`));
      const { installCommand } = await caller.regenerate_pairing_token({ instanceId });
      assert.match(await host.installAgain(2, installCommand), /paired as/);
      await untilStatus(caller, instanceId, "online");
      const { uid } = statSync(directory);
      assert.notEqual(uid, 0);
      for (const part of ["bin", "daemon", "node", "policy"]) {
        assert.equal(statSync(join(directory, part)).uid, uid, part);
      }
    }
  },
);

scenario(
  "A host that is installed again gives no person the user of somebody who was served before",
  [],
  async ({ caller }) => {
    await using host = await installSeparatedHost({ caller });
    const { directory, instanceId, name } = host;
    const former = `${name}-1`;
    const left = `cd '${host.homeOf(former)}' && echo work > left.txt && cp /bin/sh . && chmod u+s sh; cd /; setsid sleep 600 > /dev/null 2>&1 < /dev/null &`;
    assert.equal((await host.runAs(former, left)).code, 0);
    const sleeping = () => host.processesOf(former).filter(({ command }) => /sleep/.test(command));
    assert.equal(sleeping().length, 1);
    const { code, output } = await host.runAs(name, `${directory}/bin/hawserd uninstall --yes`);
    assert.equal(code, 0, output);
    assert.deepEqual(sleeping(), [], "what an agent left in the background");

    // The system gives the uid of a deleted user to the next one that is made.
    const deleted = `${name}-2`;
    const kept = statSync(host.homeOf(deleted)).uid;
    execFileSync("userdel", [deleted]);
    const { installCommand } = await caller.regenerate_pairing_token({ instanceId });
    assert.match(await host.installAgain(2, installCommand), /2 further users/);
    await untilStatus(caller, instanceId, "online");
    assert.deepEqual(peopleOf(host), [`${name}-3`, `${name}-4`]);
    for (const user of peopleOf(host)) assert.notEqual(uidOf(user), kept);
    const become = async (user: string) =>
      (await host.runAs(name, `sudo -n -u ${user} id -un`)).output.trim();
    assert.match(await become(former), /password|not allowed/);
    assert.equal(await become(`${name}-3`), `${name}-3`);
    assert.match(await host.installAgain(3), /3 further users/);
    assert.deepEqual(peopleOf(host), [`${name}-3`, `${name}-4`, `${name}-5`]);
    assert.equal(readFileSync(join(host.homeOf(former), "left.txt"), "utf8"), "work\n");

    // A user that is deleted while it serves somebody gets its uid, and so its files, again.
    const uid = uidOf(`${name}-4`);
    execFileSync("userdel", ["--force", `${name}-4`]);
    await host.installAgain(3);
    assert.equal(uidOf(`${name}-4`), uid);
  },
);

scenario(
  "The daemon's user cannot make root let it become another user",
  [],
  async ({ caller }) => {
    await using host = await installSeparatedHost({ caller });
    const { directory, name } = host;
    const sudoers = () => readFileSync(`/etc/sudoers.d/${name}`, "utf8");
    const before = sudoers();
    const hostile = [
      "root",
      "ALL",
      `${name}-1) ALL\nALL ALL=(ALL`,
      `${name}-0`,
      `${name}-99`,
      7,
      null,
    ];
    const people = hostile.map((user) => user && { user, state: "/root" });
    const text = JSON.stringify({ own: { user: "root", state: "/root" }, people });
    const forge = `cat > '${directory}/separation.json' <<'END'\n${text}\nEND`;
    assert.equal((await host.runAs(name, forge)).code, 0);
    await host.installAgain(2);
    const allowed = (line: string) => line.replace(/-\d+/g, "-N");
    assert.equal(allowed(sudoers()), allowed(before));
    assert.match((await host.runAs(name, "sudo -n -u root id")).output, /password|not allowed/);
  },
);

scenario(
  "A user that serves something else is not taken for the daemon",
  [],
  async ({ caller }) => {
    const own = `hwt${randomBytes(3).toString("hex")}-own`;
    execFileSync("useradd", ["--no-create-home", own]);
    try {
      const { installCommand } = await caller.create_instance({ name: own });
      const command = `${installCommand} -s -- --separate ${own} --name daemon --home /var/lib/${own}`;
      const { status, stderr } = spawnSync("sh", ["-c", command], { encoding: "utf8" });
      assert.notEqual(status, 0);
      assert.match(stderr, /There is a user daemon already, with the home \/usr\/sbin/);
      assert.equal(existsSync("/etc/sudoers.d/daemon"), false);
    } finally {
      execFileSync("userdel", [own]);
      for (const place of [`/var/lib/${own}`, `/var/lib/${own}-users`])
        rmSync(place, { recursive: true, force: true });
    }
  },
);

const uidOf = (user: string) => Number(execFileSync("id", ["-u", user], { encoding: "utf8" }));

function peopleOf({ directory }: { directory: string }): string[] {
  const text = readFileSync(join(directory, "separation.json"), "utf8");
  return (JSON.parse(text) as { people: { user: string }[] }).people.map(({ user }) => user);
}
