// Cloning on a host, with real git over real https and ssh, over http and from `git daemon`, and the real `gh`. Whichever process is killed,
// the directory of the checkout is complete or missing.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before } from "node:test";
import type { HostOperation } from "@hawser/contract";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { createRepository } from "@hawser/testkit/git-repository.ts";
import { makeGithubHome } from "@hawser/testkit/github-home.ts";
import { startGithub, type Github } from "@hawser/testkit/github.ts";
import { runDaemon, untilStatus, writePolicy, type TestHost } from "@hawser/testkit/host.ts";
import { startInsecureGitServers } from "@hawser/testkit/insecure-git-servers.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { startSshServer, type SshServer } from "@hawser/testkit/ssh-server.ts";
import { tellTimes } from "../figures.ts";
import { assertInvalid, assertRefused, refusalOf, resultOf } from "../refusal.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";

useWorld({ nats: 1 });

const token = "gho_cloningOfAda";
const place = mkdtempSync(join(tmpdir(), "hawser-cloning-"));
let github: Github;
let ssh: SshServer;

before(async () => {
  github = await startGithub({
    token,
    repositories: [
      { name: "acme/widget" },
      { name: "acme/large", bytes: 4_000_000 },
      { name: "acme/secret", private: true, affiliation: "organization_member" },
    ],
  });
  ssh = await startSshServer({ directory: github.directory });
});

after(async () => {
  await ssh?.[Symbol.asyncDispose]();
  await github?.[Symbol.asyncDispose]();
  removeDirectory(place);
});

const widget = "https://github.com/acme/widget.git";
const large = "https://github.com/acme/large.git";

let homes = 0;
const addHost = ({ world }: Context) =>
  world.addHost({
    environment: makeGithubHome(github, join(place, `home-${++homes}`), {
      token,
      path: [ssh.clientDirectory],
    }),
  });
let shared: Promise<TestHost> | undefined;
const sharedHost = (context: Context) => (shared ??= addHost(context));

const countClones = ({ log }: TestHost) =>
  log.filter(({ command }) => command === "clone_repository").length;
const cloneOf = (operations: readonly HostOperation[]) =>
  operations.findLast(({ type }) => type === "clone_repository");

scenario(
  "A clone has the name of its repository, and is returned with its git information",
  ["clone_repository.result", "clone_repository.name.default"],
  async (context) => {
    const { caller } = context;
    const { instanceId, root } = await sharedHost(context);
    // The root holds a project of this name already.
    assertRefused(
      await caller.try("clone_repository", { instanceId, rootPath: root, url: widget }),
      409,
      "already_exists",
    );
    rmSync(join(root, "widget"), { recursive: true });
    const made = await caller.clone_repository({ instanceId, rootPath: root, url: widget });
    const path = join(root, "widget");
    assert.deepEqual(made, { path, isGitRepository: true, branch: "main", remote: widget });
    assert.ok(existsSync(join(path, "README.md")));
    const named = await caller.clone_repository({
      instanceId,
      rootPath: root,
      url: widget,
      name: "another one",
    });
    assert.equal(named.path, join(root, "another one"));
    const { operations } = await caller.refresh_instance({ instanceId });
    assert.equal(cloneOf(operations)?.state, "done");
  },
);

scenario(
  "A private repository is cloned with the host's ssh key or its client's account",
  ["clone_repository.credentials"],
  async (context) => {
    const { caller, world } = context;
    const host = await sharedHost(context);
    const { instanceId, root: rootPath } = host;
    const url = `ssh://git@127.0.0.1:${ssh.port}/acme/secret.git`;
    const byKey = await caller.clone_repository({ instanceId, rootPath, url, name: "by-key" });
    assert.deepEqual([byKey.branch, byKey.remote], ["main", url]);
    const byAccount = await caller.clone_repository({ instanceId, rootPath, repo: "acme/secret" });
    assert.equal(byAccount.path, join(rootPath, "secret"));
    assert.equal(byAccount.remote, "https://github.com/acme/secret.git");
    assert.doesNotMatch(readFileSync(join(byAccount.path, ".git/config"), "utf8"), /gho_/);
    assert.ok(!JSON.stringify(host.log).includes(token));
    assert.ok(!(await dumpDatabase(world.database.url)).includes(token));

    const path = [ssh.strangerDirectory];
    const environment = makeGithubHome(github, join(place, "stranger"), { path });
    const stranger = await world.addHost({ environment });
    for (const source of [
      { url },
      { url: "https://github.com/acme/secret.git" },
      { repo: "acme/secret" },
    ]) {
      const reply = await caller.try("clone_repository", {
        instanceId: stranger.instanceId,
        rootPath: stranger.root,
        ...source,
      });
      assert.match(assertRefused(reply, 409, "host_refused").message, /log in|gh auth login/i);
    }
    assert.deepEqual(readdirSync(stranger.root), ["widget"]);
  },
);

scenario(
  "An unsafe address or name is refused, and no host is asked",
  ["clone_repository.url.safe", "clone_repository.name.safe", "clone_repository.source"],
  async (context) => {
    const { caller } = context;
    const host = await sharedHost(context);
    const before = countClones(host);
    const body = { instanceId: host.instanceId, rootPath: host.root };
    const urls = [
      "--upload-pack=x",
      "-u x",
      "ext::sh -c x",
      "EXT::sh -c x",
      "file:///etc",
      "/etc",
      "ssh://-oProxyCommand=x/y",
      "https://h/%0ahost=z",
      "https:///h",
      "https://a:b@h/x",
      "https://h/x\n",
      "https://h/\u0007x",
      "ssh://a:b@h/x",
      "http://a:b@h/x",
      "git://a@h/x",
      "git://-oProxyCommand=x/y",
    ];
    for (const url of urls) {
      assertInvalid(await caller.try("clone_repository", { ...body, url }), "url", url);
    }
    const names = ["..", ".git", ".", "a/b", "-x", "n".repeat(256), "dot.", "space ", "a\0b"];
    for (const name of names) {
      const reply = await caller.try("clone_repository", { ...body, url: widget, name });
      assertInvalid(reply, "name", name);
    }
    for (const source of [{}, { repo: "acme/widget", url: widget }]) {
      const reply = await caller.try("clone_repository", { ...body, ...source });
      assertRefused(reply, 400, "invalid_input");
    }
    assert.equal(countClones(host), before, "commands that reached the host");
  },
);

scenario(
  "An address without encryption is cloned only if the host's policy file allows it",
  ["clone_repository.url"],
  async (context) => {
    const { caller, world } = context;
    await using servers = await startInsecureGitServers();
    const host = await world.addHost();
    const { instanceId, root: rootPath } = host;
    const urls = [servers.httpUrl, servers.gitUrl].map((server) => `${server}/acme/widget.git`);
    const clone = (url: string, name: string) =>
      caller.try("clone_repository", { instanceId, rootPath, url, name });
    const allow = (word: string) =>
      writePolicy(host, `root = ${rootPath}\ninsecure-clone-addresses = ${word}\n`);
    const assertForbidden = async () => {
      for (const url of urls) {
        const { message } = assertRefused(await clone(url, "forbidden"), 409, "host_refused");
        assert.match(message, /"insecure-clone-addresses = yes" in the policy file on the host/);
      }
      assert.deepEqual(servers.requests, []);
    };
    await assertForbidden();
    allow("no");
    await assertForbidden();
    allow("yes");
    for (const [place, url] of urls.entries()) {
      const made = resultOf(await clone(url, `clone-${place}`));
      const path = join(rootPath, `clone-${place}`);
      assert.deepEqual(made, { path, isGitRepository: true, branch: "main", remote: url });
      assert.ok(existsSync(join(path, "README.md")));
    }
    servers.requests.length = 0;
    allow("no");
    await assertForbidden();
    assert.deepEqual(readdirSync(rootPath).toSorted(), ["clone-0", "clone-1", "widget"]);
  },
);

scenario(
  "Only a folder root of the instance can receive a clone",
  ["clone_repository.rootPath.folder"],
  async (context) => {
    const host = await sharedHost(context);
    const { instanceId, root } = host;
    // A root of the instance that is a repository, and a folder below a root.
    const repository = createRepository(join(dirname(root), "a-repository"));
    mkdirSync(join(root, "folder"));
    writePolicy(host, `root = ${root}\nroot = ${repository}\n`);
    const { roots } = await context.caller.refresh_instance({ instanceId });
    assert.deepEqual(
      roots.map(({ path, type }) => [path, type]),
      [
        [root, "folder"],
        [repository, "repository"],
      ],
    );
    const below = [join(root, "folder"), join(root, "missing"), `${root}/..`];
    const clone = (rootPath: string) =>
      context.caller.try("clone_repository", {
        instanceId,
        rootPath,
        url: widget,
        name: "elsewhere",
      });
    for (const rootPath of [repository, ...below, dirname(root), "/", tmpdir()]) {
      assertRefused(await clone(rootPath), 404, "not_found", rootPath);
      assert.equal(existsSync(join(rootPath, "elsewhere")), false, rootPath);
    }
    assert.equal(resultOf(await clone(root))["path"], join(root, "elsewhere"));
  },
);

scenario(
  "A long clone shows its progress, continues without its caller, and answers a repeated call",
  [],
  async (context) => {
    const { caller } = context;
    const { instanceId, root } = await sharedHost(context);
    const ask = (idempotencyKey: string) =>
      caller.try(
        "clone_repository",
        { instanceId, rootPath: root, url: large },
        { "idempotency-key": idempotencyKey },
      );
    const key = randomUUID();
    github.hold(true);
    const started = performance.now();
    const asking = ask(key);
    const shown = await until(
      "the clone is shown",
      10_000,
      async () => cloneOf((await caller.get_instance({ instanceId })).operations),
      // The first progress of a step comes without a percentage.
      (operation) => operation?.step === "receiving objects" && operation.percent !== null,
    );
    assert.equal(shown?.state, "running");
    assert.ok(shown.percent! < 80, `${shown.percent} %`);
    tellTimes("a clone is shown as an operation", [performance.now() - started]);
    assertRefused(await ask(randomUUID()), 409, "already_exists", "the same name at the same time");
    assertRefused(await asking, 409, "in_progress");
    tellTimes("a long clone is answered in_progress", [performance.now() - started]);
    assert.equal(existsSync(join(root, "large")), false);
    github.hold(false);
    const reply = await until(
      "it is done",
      20_000,
      () => ask(key),
      ({ status }) => status === 200,
    );
    assert.equal(resultOf(reply)["path"], join(root, "large"));
  },
);

scenario(
  "A daemon killed while it clones leaves nothing under the name, and a repeated call reports the failure",
  [],
  async (context) => {
    const { caller } = context;
    const host = await addHost(context);
    const { instanceId, root } = host;
    const body = { instanceId, rootPath: root, url: large };
    const key = randomUUID();
    github.hold(true);
    const asking = caller.try("clone_repository", body, { "idempotency-key": key });
    await untilReceiving(context, instanceId);
    const hidden = readdirSync(root).filter((name) => name.startsWith(".hawser-clone-"));
    assert.equal(hidden.length, 1);
    host.process.kill("SIGKILL");
    await once(host.process, "exit");
    assertRefused(await asking, 409, "in_progress");
    assert.equal(existsSync(join(root, "large")), false);

    await untilStatus(caller, instanceId, "offline");
    await using _again = runDaemon(host.stateDirectory, host.environment);
    await untilStatus(caller, instanceId, "online");
    await until(
      "the leftover is gone",
      5_000,
      () => Promise.resolve(readdirSync(root)),
      (names) => names.every((name) => !name.startsWith(".")),
    );
    assert.deepEqual(processesAt(root), [], "no git goes on by itself");
    github.hold(false);
    for (let i = 0; i < 2; i++) {
      const retry = await caller.try("clone_repository", body, { "idempotency-key": key });
      assert.match(assertRefused(retry, 409, "host_refused").message, /was stopped while/);
    }
    const made = await caller.clone_repository(body);
    assert.equal(made.path, join(root, "large"));
    assert.deepEqual(readdirSync(root).sort(), ["large", "widget"]);
  },
);

scenario(
  "An instance that is removed during a clone is gone, and so is the clone (F15)",
  [],
  async (context) => {
    const { caller } = context;
    const host = await addHost(context);
    const { instanceId, root } = host;
    github.hold(true);
    const asking = caller.try("clone_repository", { instanceId, rootPath: root, url: large });
    await untilReceiving(context, instanceId);
    const exited = once(host.process, "exit");
    await caller.delete_instance({ instanceId });
    await exited;
    const { code } = refusalOf(await asking);
    assert.ok(["in_progress", "host_refused"].includes(code), code);
    assert.deepEqual(readdirSync(root), ["widget"]);
    assert.deepEqual(processesAt(root), []);
    github.hold(false);
    assertRefused(await caller.try("get_instance", { instanceId }), 404, "not_found");
  },
);

scenario(
  "A failed clone is reported without the server's answer and without credentials (T10, T27)",
  [],
  async (context) => {
    const { caller, world } = context;
    const secret = "hunter2-of-the-host";
    const gitSettings = `[url "https://ada:${secret}@github.com/"]\n\tinsteadOf = https://github.com/\n`;
    const home = makeGithubHome(github, join(place, "careless"), { gitSettings });
    const host = await world.addHost({ environment: home });
    const { instanceId, root: rootPath } = host;
    const texts: string[] = [];
    for (const status of [undefined, 500, 404]) {
      github.fail(status);
      const url = "https://github.com/acme/secret.git";
      const reply = await caller.try("clone_repository", { instanceId, rootPath, url });
      assertRefused(reply, 409, "host_refused");
      texts.push(reply.text);
    }
    github.fail(undefined);
    const cloned = await caller.clone_repository({ instanceId, rootPath, url: widget, name: "w" });
    assert.equal(cloned.remote, widget);
    const detail = await caller.refresh_instance({ instanceId });
    texts.push(JSON.stringify(detail), JSON.stringify(host.log));
    texts.push(await dumpDatabase(world.database.url));
    for (const text of texts) {
      assert.ok(!text.includes(secret));
      assert.doesNotMatch(text, /inner workings|Repository not found/);
    }
  },
);

async function untilReceiving({ caller }: Context, instanceId: string): Promise<void> {
  await until(
    "it receives",
    10_000,
    async () => cloneOf((await caller.get_instance({ instanceId })).operations)?.step,
    (step) => step === "receiving objects",
  );
}

/** The command lines that name a path in a directory. */
function processesAt(directory: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")];
      } catch {
        return [];
      }
    })
    .filter((line) => line.includes(`${directory}/`));
}
