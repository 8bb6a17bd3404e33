// Agents on a host, installed after pairing and by request, by the daemon of a release, from real packages
// on a loopback server. If an install fails, the installed version stays in use.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { AgentKind } from "@hawser/contract";
import type { Caller } from "@hawser/testkit/caller.ts";
import type { TestHost } from "@hawser/testkit/host.ts";
import { startPackageServer, type Fault } from "@hawser/testkit/package-server.ts";
import { shippedAgents, type AgentsOptions } from "@hawser/testkit/release.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { makeProgramTarball, makeTarball, packageOf } from "@hawser/testkit/tarball.ts";
import { assertRefused, refusalOf } from "../refusal.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";

const packages = await startPackageServer();
after(() => packages[Symbol.asyncDispose]());
useWorld({
  releases: true,
  nats: 1,
  environment: { HAWSER_AGENT_PACKAGES: packages.url },
});

type Agents = NonNullable<AgentsOptions["table"]>["agents"];
const platform = `linux-${process.arch}` as "linux-x64";
const pins = { opencode: "1.18.33", claude_code: "2.1.197", codex: "0.166.0" } as const;
const shipped = (kind: AgentKind) => shippedAgents.agents.filter((agent) => agent.kind === kind);
const installMs = 120_000;

/** A small program in place of an agent, for versions that only have to be replaced. */
function standIn(kind: AgentKind, version: string, more: Buffer = Buffer.alloc(0)): Agents {
  const program = "bin/agent";
  const bytes =
    more.length === 0
      ? makeProgramTarball(program, `${kind} ${version}`)
      : makeTarball([
          { name: `package/${program}`, content: `#!/bin/sh\necho ${version}\n`, mode: 0o755 },
          { name: "package/more", content: more },
        ]);
  const path = `stand-in/-/${kind}-${version}-${bytes.length}.tgz`;
  packages.put(path, bytes);
  return [{ kind, version, platform, packages: [packageOf(path, bytes)], program }];
}

let serial = 0;
function ship({ world }: Context, agents: Agents, options: Partial<AgentsOptions> = {}): void {
  world.releases!.publishAgents({ table: { serial: ++serial, agents }, ...options });
}

/** Adds a host whose home is a temporary directory. It ends with the test. */
async function addHost({ world }: Context, policy = "installs = yes\n") {
  const home = mkdtempSync(join(tmpdir(), "hawser-home-"));
  after(() => removeDirectory(home));
  const environment = { HOME: home, TMPDIR: join(home, "tmp") };
  mkdirSync(environment.TMPDIR);
  return { home, ...(await world.addHost({ environment, policy })) };
}

const idOf = ({ instanceId }: TestHost) => ({ instanceId });

async function kindOn(caller: Caller, { instanceId }: TestHost, kind: AgentKind) {
  const { agentKinds } = await caller.list_agent_kinds({ instanceId });
  return agentKinds.find((each) => each.kind === kind)!;
}

/** Reads the instance's record, because list_agent_kinds would start the installed agents. */
const untilInstalled = (caller: Caller, { instanceId }: TestHost, kind: AgentKind) =>
  until(
    `${kind} is installed`,
    installMs,
    () => caller.get_instance({ instanceId }),
    ({ agents }) => agents.some((agent) => agent.kind === kind && agent.installed),
  );

const untilVersion = (caller: Caller, host: TestHost, kind: AgentKind, version: string) =>
  until(
    `${kind} ${version}`,
    installMs,
    () => kindOn(caller, host, kind),
    (found) => found.version === version,
  );

/** The version that the installed program prints. */
async function said(host: TestHost, kind: AgentKind): Promise<string> {
  const own = join(host.stateDirectory, "agents", kind);
  const current = JSON.parse(readFileSync(join(own, "current.json"), "utf8")) as {
    directory: string;
    program: string;
  };
  const home = mkdtempSync(join(tmpdir(), "hawser-said-"));
  try {
    const program = join(own, current.directory, current.program);
    const { stdout } = await promisify(execFile)(program, ["--version"], { env: { HOME: home } });
    return stdout.trim();
  } finally {
    removeDirectory(home);
  }
}

/** Every file in a directory, with a hash of its content, except files in the directories to skip. */
function tree(directory: string, skip: string[] = []): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) return skip.includes(path) ? [] : tree(path, skip);
      if (!entry.isFile()) return [];
      return [`${path} ${createHash("sha256").update(readFileSync(path)).digest("hex")}`];
    })
    .sort();
}

/** Directories in which opencode writes, and from which it removes files while a test reads them. */
const ownedByOpencode = [
  ".config/opencode",
  ".local/share/opencode",
  ".local/state/opencode",
  ".cache/opencode",
  ".npm",
];

const operationsOf = async (caller: Caller, { instanceId }: TestHost) =>
  (await caller.get_instance({ instanceId })).operations.filter(
    ({ type }) => type === "install_agent",
  );

scenario(
  "Each kind is listed for a host that never connected, as not installed",
  ["record.agentKind.kind"],
  async ({ caller }) => {
    const { instanceId } = (await caller.create_instance({ name: "to come" })).instance;
    const { agentKinds, live, takenAt } = await caller.list_agent_kinds({ instanceId });
    assert.deepEqual([live, takenAt], [false, null]);
    assert.deepEqual(
      agentKinds.map(({ kind }) => kind),
      ["opencode", "claude_code", "codex"],
    );
    for (const { installed, problems } of agentKinds) {
      assert.deepEqual([installed, problems[0]?.code], [false, "host_unknown"]);
    }
  },
);

scenario(
  "After pairing the pinned opencode is installed, and no other agent",
  ["record.agentKind.installed", "record.agentKind.version", "list_agent_kinds.result"],
  async (context) => {
    const { caller } = context;
    ship(context, shippedAgents.agents);
    const started = performance.now();
    const host = await addHost(context);
    const untouched = tree(host.root);
    const steps = new Set<string>();
    await until(
      "opencode",
      installMs,
      async () => {
        for (const { step, percent } of await operationsOf(caller, host)) {
          steps.add(percent === null ? step : `${step} %`);
        }
        return (await caller.get_instance(idOf(host))).agents;
      },
      (agents) => agents.some(({ kind, installed }) => kind === "opencode" && installed),
    );
    assert.deepEqual(tree(host.home), []);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`opencode was installed ${seconds} s after its host was paired`);
    // A new opencode's first start can take longer than a call waits for the host.
    const { agentKinds, takenAt } = await until(
      "the host lists its kinds",
      installMs,
      () => caller.list_agent_kinds(idOf(host)),
      ({ live }) => live,
    );
    assert.ok(Math.abs(Date.parse(takenAt!) - Date.now()) < 60_000);
    assert.deepEqual(
      agentKinds.map(({ kind, installed, version }) => [kind, installed, version]),
      [
        ["opencode", true, pins.opencode],
        ["claude_code", false, null],
        ["codex", false, null],
      ],
    );
    for (const entry of agentKinds) {
      for (const key of ["authenticated", "problems", "capabilities", "options"]) {
        assert.ok(Object.hasOwn(entry, key), key);
      }
    }
    assert.match(agentKinds[2]!.problems[0]!.message, /codex is not installed.+install_agent_kind/);
    assert.equal(await said(host, "opencode"), pins.opencode);
    const [operation] = await until(
      "the install is reported as done",
      5_000,
      () => operationsOf(caller, host),
      ([first]) => first?.state === "done",
    );
    assert.deepEqual([operation!.subject, operation!.percent], [`opencode ${pins.opencode}`, 100]);
    // Which steps are seen depends on the machine's speed: a download from loopback takes a second.
    assert.match([...steps].join(), /(?:downloading|unpacking|trying it) %/);
    // The listing has started opencode, which writes files of its own.
    const own = ownedByOpencode.map((path) => join(host.home, path));
    assert.deepEqual(tree(host.home, own), []);
    assert.deepEqual(tree(host.root), untouched);
    const again = await caller.update_opencode(idOf(host));
    assert.deepEqual([again.status, again.version], ["installed", pins.opencode]);
  },
);

scenario(
  "claude_code and codex are installed by order, in the pinned version, in the daemon's directory only",
  ["install_agent_kind.installs", "record.instance.agents"],
  async (context) => {
    const { caller } = context;
    ship(context, [...shipped("claude_code"), ...shipped("codex")]);
    const host = await addHost(context);
    const untouched = tree(host.root);
    for (const kind of ["codex", "claude_code"] as const) {
      // A host is online before it has probed its agents for the first time.
      const { agents: before } = await until(
        "the host reports its agents",
        10_000,
        () => caller.get_instance(idOf(host)),
        (instance) => instance.agents.length > 0,
      );
      const known = before.find((agent) => agent.kind === kind)!;
      assert.deepEqual([known.installed, known.problems[0]!.code], [false, "not_installed"]);
      const started = performance.now();
      const outcome = await caller.install_agent_kind({ instanceId: host.instanceId, kind });
      assert.equal(outcome.version, pins[kind]);
      assert.ok(["installed", "in_progress"].includes(outcome.status));
      await untilInstalled(caller, host, kind);
      console.log(`${kind} took ${((performance.now() - started) / 1000).toFixed(1)} s`);
      assert.match(
        await said(host, kind),
        new RegExp(`\\b${pins[kind].replaceAll(".", "\\.")}\\b`),
      );
      if (kind === "codex") {
        const { agents } = await until(
          "the facts",
          10_000,
          () => caller.get_instance(idOf(host)),
          (instance) => instance.agents.some(({ installed }) => installed),
        );
        assert.deepEqual(
          agents.map((agent) => [agent.kind, agent.installed]),
          [
            ["opencode", false],
            ["claude_code", false],
            ["codex", true],
          ],
        );
      }
    }
    const sdk = join(host.stateDirectory, "agents/claude_code", pins.claude_code, "sdk/sdk.mjs");
    const { query } = (await import(pathToFileURL(sdk).href)) as { query: unknown };
    assert.equal(typeof query, "function");
    // The listing has started opencode, which writes files of its own.
    const own = ownedByOpencode.map((path) => join(host.home, path));
    assert.deepEqual(tree(host.home, own), []);
    assert.deepEqual(tree(host.root), untouched);
    assert.deepEqual(readdirSync(join(host.stateDirectory, "agents/codex")).sort(), [
      pins.codex,
      "current.json",
    ]);
    for (const kind of ["codex", "claude_code"] as const) {
      const { installed, version, problems } = await kindOn(caller, host, kind);
      assert.deepEqual([installed, version], [true, pins[kind]]);
      // The agent starts, but has no login on this host.
      assert.deepEqual(
        problems.map(({ code }) => code),
        ["not_logged_in"],
      );
    }
  },
);

scenario(
  "opencode is answered with not_applicable where other actions are meant for it",
  ["install_agent_kind.opencode", "update_agent_kind.opencode"],
  async ({ caller }) => {
    // No host is needed, because no host is asked.
    const { instanceId } = (await caller.create_instance({ name: "hostless" })).instance;
    const body = { instanceId, kind: "opencode" } as const;
    for (const name of ["install_agent_kind", "update_agent_kind"] as const) {
      const { status, version, message } = await caller[name](body);
      assert.deepEqual([status, version], ["not_applicable", null]);
      assert.match(message!, /update_opencode/);
    }
    const reply = await caller.try("install_agent_kind", { instanceId, kind: "codex" });
    assertRefused(reply, 409, "host_offline");
  },
);

scenario(
  "An older agent is updated to the version that the service ships",
  ["general.capabilities", "update_opencode.update", "update_agent_kind.repins"],
  async (context) => {
    const { caller } = context;
    ship(context, [...standIn("opencode", "1.0.0"), ...standIn("codex", "0.1.0")]);
    const host = await addHost(context);
    const codex = { instanceId: host.instanceId, kind: "codex" } as const;
    await untilVersion(caller, host, "opencode", "1.0.0");
    assert.equal((await caller.install_agent_kind(codex)).version, "0.1.0");
    await untilVersion(caller, host, "codex", "0.1.0");
    ship(context, shippedAgents.agents);
    const taken = await caller.update_opencode(idOf(host));
    assert.deepEqual([taken.status, taken.version], ["in_progress", pins.opencode]);
    assert.equal((await caller.update_agent_kind(codex)).version, pins.codex);
    await untilVersion(caller, host, "opencode", pins.opencode);
    await untilVersion(caller, host, "codex", pins.codex);
    assert.equal(await said(host, "opencode"), pins.opencode);
    assert.equal(await said(host, "codex"), `codex-cli ${pins.codex}`);
    assert.equal((await caller.update_agent_kind(codex)).status, "installed");
  },
);

scenario(
  "No agent is installed if the host's owner forbids it, and the refusal says how to allow it",
  [],
  async (context) => {
    const { caller } = context;
    ship(context, [...standIn("opencode", "1.0.0"), ...standIn("codex", "0.1.0")]);
    const host = await addHost(context, "installs = no\nagents = opencode codex\n");
    const body = { instanceId: host.instanceId, kind: "codex" };
    for (const action of ["install_agent_kind", "update_agent_kind"] as const) {
      const reply = await caller.try(action, body);
      assertRefused(reply, 409, "host_refused");
      assert.match(refusalOf(reply).message, /owner of this host.+"installs = yes".+policy file/);
    }
    assertRefused(await caller.try("update_opencode", idOf(host)), 409, "host_refused");
    const { agentKinds } = await caller.list_agent_kinds(idOf(host));
    assert.match(agentKinds[0]!.problems[0]!.message, /must say "installs = yes"/);
    assert.equal(agentKinds[1]!.problems[0]!.code, "policy_forbids");
    assert.ok(!existsSync(join(host.stateDirectory, "agents")));
  },
);

scenario(
  "If a new version or its list is invalid, the installed version stays and works (T32)",
  [],
  async (context) => {
    const { caller, world } = context;
    ship(context, standIn("codex", "0.1.0"));
    const host = await addHost(context);
    const body = { instanceId: host.instanceId, kind: "codex" } as const;
    assert.equal((await caller.install_agent_kind(body)).status, "installed");
    const next = standIn("codex", "0.2.0");
    // The received part of a cut download is kept for the next try.
    const inUse = () =>
      tree(join(host.stateDirectory, "agents/codex")).filter((line) => !line.includes(".tgz "));
    const former = inUse();
    const faults: [Fault, RegExp][] = [
      ["flip", /not what was published/],
      ["cut", /connection broke/],
      ["short", /ended after|connection broke/],
      ["gone", /answered 404/],
    ];
    const past = new Date(Date.now() - 1000);
    const cases: [name: string, spoil: () => void, words: RegExp][] = [
      ...faults.map(([fault, words]): (typeof cases)[number] => [
        fault,
        () => {
          ship(context, next);
          packages.fail(fault);
        },
        words,
      ]),
      ["expired", () => ship(context, next, { expiresAt: past }), /was good until/],
      [
        "an older list",
        () => world.releases!.publishAgents({ table: { serial: 1, agents: next } }),
        /older list of agents/,
      ],
      [
        "another version inside",
        () => ship(context, [{ ...standIn("codex", "0.1.9")[0]!, version: "0.2.0" }]),
        /says that it is 0\.1\.9 instead of 0\.2\.0/,
      ],
      ["nothing for this platform", () => ship(context, []), /ships no codex/],
    ];
    for (const [name, spoil, words] of cases) {
      spoil();
      const reply = await caller.try("update_agent_kind", body);
      packages.fail();
      assertRefused(reply, 409, "host_refused", name);
      assert.match(refusalOf(reply).message, words, name);
      assert.deepEqual(inUse(), former, name);
      assert.equal(await said(host, "codex"), "codex 0.1.0");
      const { installed, version } = await kindOn(caller, host, "codex");
      assert.deepEqual([installed, version], [true, "0.1.0"]);
    }
    await until(
      "the failure is reported",
      5_000,
      () => operationsOf(caller, host),
      (operations) =>
        operations.some(
          ({ state, step }) => state === "failed" && /not what was published/.test(step),
        ),
    );
    ship(context, next);
    assert.equal((await caller.update_agent_kind(body)).version, "0.2.0");
    assert.equal(await said(host, "codex"), "codex 0.2.0");
  },
);

if (process.getuid?.() === 0) {
  scenario(
    "A full disk keeps the installed version and reports why; installing works again once there is room (F8)",
    [],
    async (context) => {
      const { caller } = context;
      ship(context, standIn("codex", "0.1.0"));
      const host = await addHost(context);
      const disk = join(host.stateDirectory, "agents");
      mkdirSync(disk);
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "none", disk]);
      try {
        const body = { instanceId: host.instanceId, kind: "codex" } as const;
        assert.equal((await caller.install_agent_kind(body)).status, "installed");
        // First the download does not fit; then it fits, but the unpacked files do not.
        for (const more of [randomBytes(5_000_000), Buffer.alloc(9_000_000)]) {
          ship(context, standIn("codex", "0.2.0", more));
          const reply = await caller.try("update_agent_kind", body);
          assertRefused(reply, 409, "host_refused");
          assert.match(refusalOf(reply).message, /no space left.+Make room, and try again/);
          assert.equal(await said(host, "codex"), "codex 0.1.0");
          assert.equal((await kindOn(caller, host, "codex")).version, "0.1.0");
          assert.deepEqual(readdirSync(join(disk, "codex")).sort(), ["0.1.0", "current.json"]);
        }
        execFileSync("mount", ["-o", "remount,size=64m", disk]);
        assert.equal((await caller.update_agent_kind(body)).status, "installed");
        assert.equal(await said(host, "codex"), "0.2.0");
      } finally {
        await host[Symbol.asyncDispose]();
        execFileSync("umount", [disk]);
      }
    },
  );
}

scenario("Many requests at once lead to one install", [], async (context) => {
  const { caller } = context;
  ship(context, standIn("codex", "0.3.0", randomBytes(200_000)));
  const host = await addHost(context);
  const body = { instanceId: host.instanceId, kind: "codex" } as const;
  const before = packages.asked.length;
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, (_, at) =>
      at % 2 ? caller.install_agent_kind(body) : caller.update_agent_kind(body),
    ),
  );
  for (const { status, version } of outcomes) {
    assert.deepEqual([status, version], ["installed", "0.3.0"]);
  }
  assert.equal(packages.asked.length - before, 1);
  const operations = await until(
    "its operation",
    10_000,
    () => operationsOf(caller, host),
    ([first]) => first?.state === "done",
  );
  assert.equal(operations.length, 1);
});

scenario(
  "While a host is offline its last known agents are shown, and none is installed",
  [],
  async (context) => {
    const { caller } = context;
    ship(context, standIn("opencode", "1.0.0"));
    const host = await addHost(context);
    const live = await until(
      "opencode in the facts",
      20_000,
      () => caller.get_instance(idOf(host)),
      ({ agents }) => agents[0]?.version === "1.0.0",
    );
    await host[Symbol.asyncDispose]();
    await until(
      "offline",
      10_000,
      () => caller.get_instance(idOf(host)),
      ({ status }) => status === "offline",
    );
    const told = await caller.list_agent_kinds(idOf(host));
    assert.equal(told.live, false);
    assert.ok(Date.parse(told.takenAt!) > 0);
    assert.deepEqual(
      told.agentKinds.map(({ kind, version }) => [kind, version]),
      live.agents.map(({ kind, version }) => [kind, version]),
    );
    for (const [action, more] of [
      ["update_opencode", {}],
      ["install_agent_kind", { kind: "codex" }],
      ["update_agent_kind", { kind: "codex" }],
    ] as const) {
      const reply = await caller.try(action, { instanceId: host.instanceId, ...more });
      assertRefused(reply, 409, "host_offline");
    }
  },
);
