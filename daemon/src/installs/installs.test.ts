// A new version replaces the installed one when it is whole, tried and on the disk. Whatever goes wrong
// before that keeps the installed one, and says why.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  makeSigningKey,
  signManifest,
  type AgentManifest,
  type PublishedAgent,
} from "@hawser/host-protocol";
import { startPackageServer, type Fault } from "@hawser/testkit/package-server.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { makeProgramTarball, makeTarball, packageOf } from "@hawser/testkit/tarball.ts";
import { silentLog } from "../log.ts";
import { createOperations } from "../operations.ts";
import { allowAll } from "../policy/policy.ts";
import { programOf, readCurrent } from "./current.ts";
import { createInstalls } from "./installs.ts";
import { InstallRefused } from "./refused.ts";

const key = makeSigningKey();
const packages = await startPackageServer();
after(() => packages[Symbol.asyncDispose]());

const now = Date.parse("2026-11-15T00:00:00Z");
const path = (version: string) => `codex/-/codex-${version}.tgz`;

/** An agent made of a script that says its version, or of the bytes that are given. */
function publish(version: string, bytes = makeProgramTarball("bin/codex", `codex-cli ${version}`)) {
  packages.put(path(version), bytes);
  const agent: PublishedAgent = {
    kind: "codex",
    version,
    platform: "linux-x64",
    packages: [packageOf(path(version), bytes)],
    program: "bin/codex",
  };
  return agent;
}

interface Publication extends Partial<AgentManifest> {
  by?: typeof key;
  change?: (text: string) => string;
}

/** A service that publishes a list of agents, and one host's installs. */
async function openWorld() {
  let served: { manifest: string; signature: Buffer } | undefined;
  const service = createServer((request, response) => {
    const file = request.url!.replace("/releases/", "");
    if (file.startsWith("packages/")) {
      const location = `${packages.url}/${file.slice("packages/".length)}`;
      response.writeHead(302, { location }).end();
    } else if (served) {
      response.end(file === "agents.json" ? served.manifest : served.signature);
    } else {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
  const state = mkdtempSync(join(tmpdir(), "hawser-installs-"));
  const directory = join(state, "agents");
  const operations = createOperations(() => {});
  const clock = { now };
  const policy = { ...allowAll };
  const installs = createInstalls({
    serverUrl: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
    directory,
    trustedKeys: [makeSigningKey().publicKey, key.publicKey],
    platform: "linux-x64",
    now: () => clock.now,
    policy: () => policy,
    operations,
    log: silentLog,
    onChange() {},
  });
  const install = async () => {
    const order = await installs.order("codex");
    await order.done;
    return order;
  };
  const said = () => {
    const current = readCurrent(directory, "codex");
    return current && String(execFileSync(programOf(directory, "codex", current))).trim();
  };
  const found = () => installs.readFacts().agents.find(({ kind }) => kind === "codex")!;
  return {
    installs,
    install,
    said,
    found,
    directory,
    policy,
    clock,
    operations,
    ship(agents: PublishedAgent[], { by = key, change, ...more }: Publication = {}) {
      const manifest = JSON.stringify({
        type: "hawser agents",
        serial: 1,
        publishedAt: "2026-11-01T00:00:00Z",
        expiresAt: "2026-12-01T00:00:00Z",
        agents,
        ...more,
      });
      const signature = signManifest(by.privateKey, manifest);
      served = { manifest: change ? change(manifest) : manifest, signature };
    },
    async [Symbol.asyncDispose]() {
      await installs.stop();
      service.close();
      removeDirectory(state);
    },
  };
}

const refusedAs = (code: string, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof InstallRefused, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, words);
  return true;
};

test("an agent is downloaded, unpacked, tried and put to use, and nothing else is left", async () => {
  await using world = await openWorld();
  assert.deepEqual(world.found().problems[0]!.code, "not_installed");
  world.ship([publish("1.0.0"), publish("1.10.0"), publish("1.9.0")]);
  assert.equal((await world.install()).version, "1.10.0", "the newest of the list");
  assert.equal(world.said(), "codex-cli 1.10.0");
  assert.deepEqual(readdirSync(world.directory).sort(), ["codex", "serial.json"]);
  assert.deepEqual(readdirSync(join(world.directory, "codex")).sort(), ["1.10.0", "current.json"]);
  const { installed, version } = world.found();
  assert.deepEqual([installed, version], [true, "1.10.0"]);
  const [operation] = world.operations.list();
  assert.deepEqual(
    [operation?.type, operation?.subject, operation?.state, operation?.percent],
    ["install_agent", "codex 1.10.0", "done", 100],
  );
  assert.equal((await world.install()).done, undefined, "it is there already");
});

test("several packages make one agent, each in its place", async () => {
  await using world = await openWorld();
  const agent = publish("1.0.0");
  const sdk = makeTarball([{ name: "package/sdk.mjs", content: "export {};" }]);
  packages.put("sdk/-/sdk-1.tgz", sdk);
  agent.packages.push(packageOf("sdk/-/sdk-1.tgz", sdk, "sdk"));
  world.ship([agent]);
  await world.install();
  assert.equal(
    readFileSync(join(world.directory, "codex/1.0.0/sdk/sdk.mjs"), "utf8"),
    "export {};",
  );
});

test("the version before is kept, older ones and what was left over are removed", async () => {
  await using world = await openWorld();
  const own = join(world.directory, "codex");
  for (const version of ["1.0.0", "1.1.0", "1.2.0"]) {
    world.ship([publish(version)]);
    await world.install();
    writeFileSync(join(own, "left-over"), "");
  }
  assert.deepEqual(readdirSync(own).sort(), ["1.1.0", "1.2.0", "current.json", "left-over"]);
});

test("an older version is installed when a later list says so", async () => {
  await using world = await openWorld();
  world.ship([publish("1.1.0")]);
  await world.install();
  world.ship([publish("1.0.0")], { serial: 2 });
  await world.install();
  assert.equal(world.said(), "codex-cli 1.0.0");
});

test("the same version made of other bytes is installed beside the one in use", async () => {
  await using world = await openWorld();
  world.ship([publish("1.0.0")]);
  await world.install();
  const rebuilt = makeProgramTarball("bin/codex", "codex-cli 1.0.0 rebuilt");
  world.ship([publish("1.0.0", rebuilt)], { serial: 2 });
  await world.install();
  assert.equal(world.said(), "codex-cli 1.0.0 rebuilt");
  assert.equal(readCurrent(world.directory, "codex")!.directory, "1.0.0-2");
});

test("those who ask for a kind while it is installed share one install", async () => {
  await using world = await openWorld();
  world.ship([publish("1.0.0")]);
  const before = packages.asked.length;
  await Promise.all(Array.from({ length: 10 }, () => world.install()));
  assert.equal(packages.asked.length - before, 1);
  assert.equal(world.operations.list().length, 1);
});

/** Whatever is wrong with 2.0.0, 1.0.0 stays and works. */
async function assertFormerStays(
  spoil: (world: Awaited<ReturnType<typeof openWorld>>) => void,
  code: string,
  words: RegExp,
): Promise<void> {
  await using world = await openWorld();
  world.ship([publish("1.0.0")], { serial: 5 });
  await world.install();
  const before = readFileSync(join(world.directory, "codex/current.json"), "utf8");
  try {
    spoil(world);
    await assert.rejects(world.install(), refusedAs(code, words));
  } finally {
    packages.fail();
  }
  assert.equal(readFileSync(join(world.directory, "codex/current.json"), "utf8"), before);
  assert.equal(world.said(), "codex-cli 1.0.0");
  const left = readdirSync(join(world.directory, "codex")).filter((name) => !name.endsWith(".tgz"));
  assert.deepEqual(left.sort(), ["1.0.0", "current.json"]);
  const { installed, version, problems } = world.found();
  assert.deepEqual([installed, version], [true, "1.0.0"]);
  assert.ok(!problems.some((problem) => ["broken", "not_installed"].includes(problem.code)));
  // The next valid one is accepted.
  world.ship([publish("2.0.0")], { serial: 7 });
  await world.install();
  assert.equal(world.said(), "codex-cli 2.0.0");
}

const faults: [Fault, code: string, words: RegExp][] = [
  ["flip", "damaged", /is not what was published/],
  ["short", "download_failed", /ended after \d+ of \d+ bytes|the connection broke/],
  ["cut", "download_failed", /the connection broke|cannot be reached/],
  ["gone", "download_failed", /answered 404/],
];
for (const [fault, code, words] of faults) {
  test(`a download that is served ${fault} keeps the installed version`, () =>
    assertFormerStays(
      (world) => {
        world.ship([publish("2.0.0")], { serial: 6 });
        packages.fail(fault);
      },
      code,
      words,
    ));
}

const spoilt: Record<
  string,
  [spoil: (agent: PublishedAgent) => void, code: string, words: RegExp]
> = {
  "more bytes than published": [(agent) => agent.packages[0]!.size--, "damaged", /not what was/],
  "a program that is missing": [(agent) => (agent.program = "bin/none"), "program_failed", /start/],
  "a program that cannot be run": [
    (agent) => (agent.program = "package.json"),
    "program_failed",
    /does not start/,
  ],
  "a place that is taken": [
    (agent) => agent.packages.push({ ...agent.packages[0]! }),
    "damaged",
    /cannot be unpacked/,
  ],
};
for (const [name, [spoil, code, words]] of Object.entries(spoilt)) {
  test(`${name} keeps the installed version`, () =>
    assertFormerStays(
      (world) => {
        const agent = publish("2.0.0");
        spoil(agent);
        world.ship([agent], { serial: 6 });
      },
      code,
      words,
    ));
}

const programs: Record<string, [script: string, words: RegExp]> = {
  "another version": ["echo codex-cli 1.9.9", /says that it is 1\.9\.9 instead of 2\.0\.0/],
  "a longer version": ["echo 2.0.0-beta.1", /2\.0\.0-beta\.1 instead/],
  nothing: ["true", /no version at all/],
  "an error": ["echo 2.0.0; exit 3", /ended with code 3/],
  "nothing and crashes": ["kill -SEGV $$", /was ended by SIGSEGV/],
};
for (const [name, [script, words]] of Object.entries(programs)) {
  test(`a program that says ${name} keeps the installed version`, () =>
    assertFormerStays(
      (world) => {
        const content = `#!/bin/sh\n${script}\n`;
        const bytes = makeTarball([{ name: "package/bin/codex", content, mode: 0o755 }]);
        world.ship([publish("2.0.0", bytes)], { serial: 6 });
      },
      "program_failed",
      words,
    ));
}

const lists: Record<string, [Publication, words: RegExp]> = {
  "has expired": [{ serial: 6, expiresAt: "2026-11-14T00:00:00Z" }, /was good until 2026-11-14/],
  "another key has signed": [{ serial: 6, by: makeSigningKey() }, /not signed by a key/],
  "was changed": [{ serial: 6, change: (text) => text.replace("2.0.0", "2.0.1") }, /not signed/],
  "is older than the last": [{ serial: 4 }, /older list of agents \(4\).+before \(5\)/],
};
for (const [name, [publication, words]] of Object.entries(lists)) {
  test(`a list of agents that ${name} keeps the installed version`, () =>
    assertFormerStays(
      (world) => world.ship([publish("2.0.0")], publication),
      "manifest_refused",
      words,
    ));
}

test("a service without a list, and a platform without agents, are distinguished", async () => {
  await using world = await openWorld();
  await assert.rejects(
    world.install(),
    refusedAs("not_published", /publishes no agents.+HAWSER_REL/),
  );
  world.ship([{ ...publish("1.0.0"), platform: "linux-arm64" }]);
  await assert.rejects(world.install(), refusedAs("not_published", /ships no codex for linux-x64/));
  const { problems } = world.found();
  assert.match(problems[0]!.message, /Call install_agent_kind.+The last try failed: .+linux-x64/);
});

test("the owner's policy has the last word, and says where packages come from", async () => {
  await using world = await openWorld();
  world.ship([publish("1.0.0")]);
  world.policy.installs = false;
  await assert.rejects(world.install(), refusedAs("policy_forbids", /installs = yes/));
  world.policy.installs = true;
  world.policy.agents = new Set(["opencode"]);
  await assert.rejects(world.install(), refusedAs("policy_forbids", /agents = … codex/));
  assert.ok(world.found().problems.some(({ code }) => code === "policy_forbids"));
  world.policy.problems = [{ code: "policy_unreadable", message: "The file cannot be read." }];
  await assert.rejects(world.install(), refusedAs("policy_forbids", /^The file cannot be read\.$/));
  world.policy.problems = [];
  world.policy.agents = allowAll.agents;
  for (const tarballs of ["http://files.example", "ftp://127.0.0.1/x"]) {
    world.policy.tarballs = tarballs;
    await assert.rejects(world.install(), refusedAs("download_failed", /only https/));
  }
  world.policy.tarballs = packages.url;
  await world.install();
  assert.equal(world.said(), "codex-cli 1.0.0");
});

test("a download that was cut goes on where it ended", async () => {
  await using world = await openWorld();
  const noise = randomBytes(300_000);
  const content = "#!/bin/sh\necho 1.0.0\n";
  const bytes = makeTarball([
    { name: "package/bin/codex", content, mode: 0o755 },
    { name: "package/noise", content: noise },
  ]);
  world.ship([publish("1.0.0", bytes)]);
  packages.fail("cut");
  await assert.rejects(world.install(), refusedAs("download_failed", /Try again/));
  packages.fail();
  const [partial] = readdirSync(join(world.directory, "codex"));
  assert.match(partial!, /^[0-9a-f]{128}\.tgz$/);
  await world.install();
  assert.equal(world.said(), "1.0.0");
  assert.match(packages.asked.at(-1)!.range ?? "", /^bytes=[1-9]\d*-$/);
});

test("an agent whose program is gone or changed is broken, and can be installed again", async () => {
  await using world = await openWorld();
  world.ship([publish("1.0.0")]);
  for (const spoil of [
    (program: string) => rmSync(program),
    (program: string) => writeFileSync(program, "#!/bin/sh\n"),
  ]) {
    await world.install();
    spoil(programOf(world.directory, "codex", readCurrent(world.directory, "codex")!));
    const { installed, version, problems } = world.found();
    assert.deepEqual([installed, version, problems[0]!.code], [false, null, "broken"]);
    await world.install();
    assert.equal(world.said(), "codex-cli 1.0.0");
    assert.equal(world.found().installed, true);
  }
});

test("a program on trial sees nothing of the daemon's environment, and its home is gone after", async () => {
  await using world = await openWorld();
  const content = '#!/bin/sh\nenv > "$HOME/../../../environment"\necho 1.0.0\n';
  const bytes = makeTarball([{ name: "package/bin/codex", content, mode: 0o755 }]);
  world.ship([publish("1.0.0", bytes)]);
  process.env["HAWSER_TEST_SECRET"] = "hidden";
  await world.install();
  delete process.env["HAWSER_TEST_SECRET"];
  const environment = readFileSync(join(world.directory, "../environment"), "utf8");
  const names = environment.split("\n").map((line) => line.split("=")[0]!);
  // A shell adds some of its own.
  const own = ["PWD", "OLDPWD", "SHLVL", "_", ""];
  const given = names.filter((name) => !own.includes(name));
  assert.deepEqual(given.sort(), ["HOME", "LANG", "PATH", "TMPDIR"]);
  assert.ok(!existsSync(join(world.directory, "codex/trial")));
});

test("stopping cuts a running install, also one whose program hangs", async () => {
  await using world = await openWorld();
  const content = "#!/bin/sh\nsleep 60 & echo $! > ../../../sleeper; wait\n";
  const bytes = makeTarball([{ name: "package/bin/codex", content, mode: 0o755 }]);
  world.ship([publish("1.0.0", bytes)]);
  const { done } = await world.installs.order("codex");
  const failure = assert.rejects(done!, refusedAs("stopped", /stopped/));
  const file = join(world.directory, "../sleeper");
  while (!existsSync(file) || readFileSync(file, "utf8") === "") {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const started = performance.now();
  await world.installs.stop();
  await failure;
  assert.ok(performance.now() - started < 5_000);
  // What nobody has waited for yet still has an entry, and no command line.
  const commandLine = `/proc/${readFileSync(file, "utf8").trim()}/cmdline`;
  assert.ok(!existsSync(commandLine) || readFileSync(commandLine, "utf8") === "");
  assert.equal(readCurrent(world.directory, "codex"), undefined);
});

test("opencode is provided once where it is missing and allowed, and never another kind", async () => {
  await using world = await openWorld();
  const bytes = makeProgramTarball("bin/opencode", "1.18.33");
  packages.put(path("open"), bytes);
  const opencode: PublishedAgent = {
    kind: "opencode",
    version: "1.18.33",
    platform: "linux-x64",
    packages: [packageOf(path("open"), bytes)],
    program: "bin/opencode",
  };
  const provided = async () => {
    await world.installs.provideOpencode();
    await world.installs.order("opencode").then(
      ({ done }) => done,
      () => {},
    );
    return world.operations.list().map(({ subject }) => subject);
  };
  world.ship([opencode, publish("1.0.0")]);
  world.policy.installs = false;
  assert.deepEqual(await provided(), []);
  world.policy.installs = true;
  await world.installs.provideOpencode();
  assert.deepEqual(await provided(), ["opencode 1.18.33"]);
  assert.deepEqual(readdirSync(world.directory).sort(), ["opencode", "serial.json"]);
});
