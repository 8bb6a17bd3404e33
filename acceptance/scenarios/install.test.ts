// The first five minutes: one command on a machine that has never heard of Hawser, and everything it
// made gone again by another.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRoot, makeCleanUser, programsWithout } from "@hawser/testkit/clean-user.ts";
import { untilStatus } from "@hawser/testkit/host.ts";
import { tell } from "../figures.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld({ nats: 1, releases: true });

const hawserd = "~/.hawser/bin/hawserd";
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

for (const systemd of isRoot ? [false, true] : [false]) {
  scenario(
    `One command brings a clean home online${systemd ? " under systemd" : ""}, again it breaks nothing, and uninstall leaves what was there before`,
    ["record.pairingToken.installCommand", "create_instance.result"],
    async ({ caller, world }) => {
      await using user = await makeCleanUser({ systemd });
      const before = { files: user.files(), processes: user.processes() };
      const { instance, installCommand, pairingToken } = await caller.create_instance({
        name: `new box${systemd ? ", systemd" : ""}`,
      });
      const { instanceId } = instance;
      assert.doesNotMatch(installCommand, /[\r\n]/);

      const started = performance.now();
      const first = await user.run(installCommand);
      const tookMs = performance.now() - started;
      assert.equal(first.code, 0, first.output);
      assert.equal((await caller.get_instance({ instanceId })).status, "online");
      const sinceDownloadMs = first.sinceSaid("Placed hawserd");
      assert.ok(sinceDownloadMs < 10_000, `${sinceDownloadMs} ms`);
      tell(
        `one command, from nothing to online${systemd ? " under systemd" : ""}: ${seconds(tookMs)}, of which ${seconds(sinceDownloadMs)} after the download`,
      );
      assert.ok(!first.output.includes(pairingToken));
      for (const told of [/Downloading Node/, /paired as ins_/, /Online\./, /\/hawser {2}\(0 repo/])
        assert.match(first.output, told);
      assert.match(first.output, systemd ? /systemd keeps it running/ : /@reboot/);

      const status = await user.run(`${hawserd} status`);
      assert.equal(status.code, 0, status.output);
      assert.match(status.output, /link has been online since/);
      assert.match(status.output, /Roots: {3}\S+\/hawser\n/);
      const daemon = user.processes().find((line) => line.endsWith(" run --quiet")) ?? "";
      assert.match(daemon, /hawserd\.mjs run --quiet$/);
      const environment = readFileSync(`/proc/${parseInt(daemon)}/environ`, "utf8");
      assert.ok(!environment.includes("hwp_"), "the token is in no process that stays");

      // A program that carries the release places the same files.
      const { version, platforms } = world.releases!.manifest();
      const { daemon: packed, node } = platforms["linux-x64"]!;
      const files = ["daemon.json", "daemon.json.sig", packed.file, node.file].join(",");
      const copied = await user.run(
        `mkdir release && cd release && curl -fsSO '${world.baseUrl}/releases/{${files}}'`,
      );
      assert.equal(copied.code, 0, copied.output);
      const placed = await user.run(`${hawserd} place --release release --state ~/placed`);
      assert.deepEqual(placed, {
        ...placed,
        code: 0,
        output: `Placed hawserd ${version} in ${user.home}/placed.\n`,
      });
      const list = (home: string) =>
        user.run(
          `cd ${home} && find bin daemon node -printf '%p %y %l\\n' | sort && sed 's#${home}#HOME#g' bin/hawserd && sha256sum daemon/*/hawserd.mjs node/*/node`,
        );
      const [byInstaller, byPlace] = [
        await list(`${user.home}/.hawser`),
        await list(`${user.home}/placed`),
      ];
      assert.equal(byInstaller.code, 0, byInstaller.output);
      assert.equal(byPlace.output, byInstaller.output);
      await user.run("rm -r release placed");

      if (systemd) {
        process.kill(parseInt(daemon), "SIGKILL");
        await untilStatus(caller, instanceId, "offline");
        const backMs = await untilStatus(caller, instanceId, "online");
        tell(`killed under systemd: online again ${seconds(backMs)} after it was shown offline`);
      }

      // The same command once more, whose token is used up: a little later all is as it was.
      const again = await user.run(installCommand);
      assert.equal(again.code, 0, again.output);
      assert.match(again.output, /The token was not accepted.*stays paired as/);
      assert.doesNotMatch(again.output, /Downloading Node/);
      await untilStatus(caller, instanceId, "online");
      assert.equal(user.processes().length, 2, "a supervisor and its daemon");
      assert.ok(!user.processes().includes(daemon));

      // A new token pairs the same host anew, and a root that is given is added.
      const fresh = await caller.regenerate_pairing_token({ instanceId });
      await user.run("git init --quiet src/widget");
      const anew = await user.run(`${fresh.installCommand} -s -- --root ~/src`);
      assert.equal(anew.code, 0, anew.output);
      assert.match(anew.output, /\/src {2}\(1 repository\)/);
      await untilStatus(caller, instanceId, "online");

      const unsure = await user.run(`${hawserd} uninstall`);
      assert.equal(unsure.code, 1);
      assert.match(unsure.output, /uninstall --yes/);
      rmSync(join(user.home, "src"), { recursive: true });
      const gone = await user.run(`${hawserd} uninstall --yes`);
      assert.equal(gone.code, 0, gone.output);
      assert.deepEqual({ files: user.files(), processes: user.processes() }, before);
      await untilStatus(caller, instanceId, "offline");
      assert.equal((await caller.get_instance({ instanceId })).statusReason, "daemon_stopped");
    },
  );
}

scenario(
  "An installation that cannot work says why and what to do, and leaves the machine unchanged",
  ["record.pairingToken.installCommand"],
  async ({ caller, world }) => {
    await using user = await makeCleanUser();
    const before = user.files();
    const releases = world.releases!;
    const { installCommand } = await caller.create_instance({ name: "refused box" });
    const programs = join(user.home, "../programs");
    const fakes = join(user.home, "../fakes");
    mkdirSync(fakes);
    const fake = (program: string, script: string) => {
      writeFileSync(join(fakes, program), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      return { PATH: `${fakes}:/usr/bin:/bin` };
    };
    const flip = (file: string, at: number) => {
      const bytes = readFileSync(join(releases.directory, file));
      bytes[at]! ^= 1;
      writeFileSync(join(releases.directory, file), bytes);
    };
    const { version, platforms } = await releases.publish();
    const { daemon, node } = platforms["linux-x64"]!;
    const good = ["daemon.json", "daemon.json.sig", daemon.file, node.file].map(
      (file) => [file, readFileSync(join(releases.directory, file))] as const,
    );
    const cases: [name: string, sentence: RegExp, harm: () => Record<string, string> | void][] = [
      ["macOS", /this is Darwin/, () => fake("uname", "echo Darwin")],
      [
        "another processor",
        /this is riscv64/,
        () => fake("uname", '[ "$1" = -s ] && echo Linux || echo riscv64'),
      ],
      ["musl", /needs glibc/, () => fake("getconf", "exit 1")],
      ["root", /would run as root/, () => fake("id", "echo 0")],
      [
        "no openssl",
        /openssl is missing.*apt-get install openssl/,
        () => ({ PATH: programsWithout(programs, "openssl") }),
      ],
      ["an old openssl", /OpenSSL 3 or later/, () => fake("openssl", "echo 1.1.1")],
      [
        "a flipped byte in the manifest",
        /not signed by its publisher/,
        () => flip("daemon.json", 60),
      ],
      [
        "a flipped byte in the daemon",
        /hawserd-.* is not what the publisher signed/,
        () => flip(daemon.file, 1000),
      ],
      [
        "a flipped byte in Node",
        /node-.* is not what the publisher signed/,
        () => flip(node.file, 1_000_000),
      ],
      [
        "a manifest of yesterday",
        /was good until 2/,
        () => releases.alter({ expiresAt: new Date(Date.now() - 1000).toISOString() }),
      ],
      [
        "a stranger's signature",
        /not signed by its publisher/,
        () => releases.alter({}, "stranger"),
      ],
      [
        "a file that is missing",
        /could not be downloaded/,
        () => rmSync(join(releases.directory, daemon.file)),
      ],
      [
        "no Node for this platform",
        /does not have node-\S+\.gz.* Ask its operator to copy this file from the npm package @hawser\/node-/,
        () => rmSync(join(releases.directory, node.file)),
      ],
      [
        "no release for this platform",
        /not published for linux-/,
        () => releases.alter({ platforms: {} }),
      ],
    ];
    for (const [name, sentence, harm] of cases) {
      const environment = harm() ?? {};
      const refused = await user.run(installCommand, environment);
      assert.equal(refused.code, 1, `${name}: ${refused.output}`);
      assert.match(refused.output, sentence, name);
      assert.match(refused.output, /install\.sh: [A-Z$a-z].*\.$/m, name);
      assert.deepEqual(user.files(), before, name);
      rmSync(fakes, { recursive: true });
      mkdirSync(fakes);
      for (const [file, bytes] of good) writeFileSync(join(releases.directory, file), bytes);
    }

    const nameless = await user.run(installCommand.replace(/HAWSER_TOKEN=\S+/, ""));
    assert.equal(nameless.code, 1);
    assert.match(nameless.output, /^install\.sh: This host is not paired.* has no token\..*\.$/m);
    assert.doesNotMatch(nameless.output, /Downloading/);
    assert.deepEqual(user.files(), before, "no token");

    const script = (await user.run(installCommand.replace(/ \|.*/, ""))).output;
    for (const part of [0.2, 0.5, 0.9, 0.999]) {
      const cut = script.slice(0, script.length * part);
      writeFileSync(join(fakes, "cut.sh"), cut);
      await user.run(`sh ${join(fakes, "cut.sh")}`);
      assert.deepEqual(user.files(), before, `cut at ${part}`);
    }

    // The token is still good, and an older version does not replace a newer one.
    const later = version.replace(/\d+$/, (patch) => String(Number(patch) + 1));
    await releases.publish({ version: later });
    const installed = await user.run(installCommand);
    assert.equal(installed.code, 0, installed.output);
    await releases.publish({ version });
    const older = await user.run(installCommand);
    assert.equal(older.code, 1);
    assert.match(older.output, /is older\. To go back, uninstall first/);
    const running = await user.run(`${hawserd} status`);
    assert.equal(running.code, 0, running.output);
    assert.match(running.output, new RegExp(`Version: ${later}`));
    tell(
      `${cases.length} kinds of refusal, 4 cut downloads and a downgrade: nothing was left behind`,
    );
    assert.equal((await user.run(`${hawserd} uninstall --yes`)).code, 0);
    assert.deepEqual(user.files(), before);
  },
);

if (isRoot) {
  scenario(
    "A full disk stops an installation with a sentence, and the installed daemon keeps running",
    ["record.pairingToken.installCommand"],
    async ({ caller, world }) => {
      await using user = await makeCleanUser();
      const { instance, installCommand } = await caller.create_instance({ name: "small box" });
      const { instanceId } = instance;
      const releases = world.releases!;
      const { version } = await releases.publish();
      const later = version.replace(/\d+$/, (patch) => String(Number(patch) + 1));

      // Room for what is downloaded, but not for Node unpacked.
      using disk = user.mountSmallDisk(".hawser", 80);
      const before = user.files();
      const refused = await user.run(installCommand);
      assert.equal(refused.code, 1, refused.output);
      assert.match(refused.output, /install\.sh: .*disk is not full.*run this again\.$/m);
      assert.deepEqual(user.files(), before);

      disk.resize(240);
      const installed = await user.run(installCommand);
      assert.equal(installed.code, 0, installed.output);
      await releases.publish({ version: later });
      await user.run("cat /dev/zero > ~/.hawser/ballast");
      const full = await user.run(installCommand);
      assert.equal(full.code, 1, full.output);
      assert.match(full.output, /disk is not full/);
      const status = await user.run(`${hawserd} status`);
      assert.match(status.output, new RegExp(`link has been online since[^]*Version: ${version}`));
      const doctor = await user.run(`${hawserd} doctor`);
      assert.equal(doctor.code, 1);
      assert.match(doctor.output, /PROBLEM {2}0 MiB are free[^]*Free some space/);
      await assert.rejects(caller.refresh_instance({ instanceId }), /host_refused.*disk is full/);
      assert.equal((await caller.get_instance({ instanceId })).status, "online");

      await user.run("rm ~/.hawser/ballast");
      assert.equal((await caller.refresh_instance({ instanceId })).status, "online");
      const updated = await user.run(installCommand);
      assert.equal(updated.code, 0, updated.output);
      const now = await user.run(`${hawserd} status`);
      assert.match(now.output, new RegExp(`link has been online since[^]*Version: ${later}`));
    },
  );
}
