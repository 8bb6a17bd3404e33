// Cloning without encryption, with real git over http and from `git daemon`: only if the host's owner allows
// it, without any login of the user's, and from no other server than the one that was named.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { makeCertificate } from "@hawser/testkit/certificate-authority.ts";
import {
  startInsecureGitServers,
  type InsecureGitServers,
} from "@hawser/testkit/insecure-git-servers.ts";
import { createCodeHosting } from "../code-hosting/code-hosting.ts";
import { CommandRefusal } from "../command-refusal.ts";
import { createGit } from "../git/git.ts";
import { silentLog } from "../log.ts";
import { createOperations } from "../operations.ts";
import { allowAll, type Policy } from "../policy/policy.ts";
import { createCheckouts } from "../worktrees/checkouts.ts";
import { createClones } from "./clone.ts";
import { createDirectories } from "./directories.ts";
import { createHalfDone } from "./half-done.ts";

const place = mkdtempSync(join(tmpdir(), "hawser-insecure-"));
const home = join(place, "home");
const root = join(place, "projects");
const ran = join(place, "ran");
let servers: InsecureGitServers;

before(async () => {
  servers = await startInsecureGitServers();
  for (const path of [home, root]) mkdirSync(path);
  // Each of these would send a login to any server that asks for one.
  const settings =
    `[credential]\n\thelper = "!f() { touch '${ran}'; echo username=ada; echo password=hunter2; }; f"\n` +
    '[http]\n\textraHeader = "X-Token: hunter2"\n\tsslVerify = false\n' +
    `[core]\n\tgitProxy = "touch '${ran}'; nc"\n`;
  mkdirSync(join(home, "xdg/git"), { recursive: true });
  for (const name of [".gitconfig", "xdg/git/config"]) writeFileSync(join(home, name), settings);
  writeFileSync(join(home, ".netrc"), "machine 127.0.0.1 login ada password hunter2\n", {
    mode: 0o600,
  });
});

after(async () => {
  await servers?.[Symbol.asyncDispose]();
  rmSync(place, { recursive: true, force: true });
});

beforeEach(() => {
  servers.requests.length = 0;
  servers.behaviour = "serve";
});

const path = process.env["PATH"];
const git = createGit({
  HOME: home,
  XDG_CONFIG_HOME: join(home, "xdg"),
  TMPDIR: place,
  PATH: path,
});
const codeHosting = createCodeHosting({ HOME: home, PATH: path });
const operations = createOperations(() => {});
const signal = AbortSignal.timeout(120_000);
let policy: Policy = { ...allowAll, roots: [root] };
const clones = createClones({
  git,
  codeHosting,
  operations,
  halfDone: createHalfDone(join(place, "notes"), silentLog),
  directories: createDirectories(() => policy),
  policy: () => policy,
});
const allow = (insecureCloneAddresses: boolean) => (policy = { ...policy, insecureCloneAddresses });
const widget = (url: string) => `${url}/acme/widget.git`;
const clone = (url: string, name: string) => clones.clone({ rootPath: root, url, name }, signal);

const refusal = (code: string, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CommandRefusal, String(error));
  assert.deepEqual([error.code, words.test(error.message)], [code, true], error.message);
  return true;
};

test("without the owner's word the address is refused, and nothing is asked of its server", async () => {
  allow(false);
  for (const url of [servers.httpUrl, servers.gitUrl].map(widget)) {
    await assert.rejects(
      clone(url, "refused"),
      refusal("insecure_source", /"insecure-clone-addresses = yes" in the policy file/),
    );
  }
  assert.deepEqual(servers.requests, []);
  assert.deepEqual(readdirSync(root), []);
});

test("with the owner's word a repository is cloned over http and from git daemon", async () => {
  allow(true);
  for (const [name, url] of [
    ["by-http", servers.httpUrl],
    ["by-git", servers.gitUrl],
  ] as const) {
    const made = await clone(widget(url), name);
    assert.deepEqual([made.isGitRepository, made.remote], [true, widget(url)]);
    assert.ok(existsSync(join(root, name, "README.md")));
  }
  assert.ok(!existsSync(ran), "no program of the user's configuration runs");
  assert.doesNotMatch(JSON.stringify(servers.requests), /hunter2/);
});

test("a session's own clone is made in the same way, and refused in the same way", async () => {
  const directory = join(place, "checkouts");
  const checkouts = createCheckouts({
    git,
    codeHosting,
    operations,
    directory,
    policy: () => policy,
  });
  const url = widget(servers.httpUrl);
  allow(false);
  assert.throws(() => checkouts.plan("ses_insecure", { url }), refusal("insecure_source", /./));
  allow(true);
  const plan = checkouts.plan("ses_insecure", { url });
  await checkouts.make(plan, [], signal);
  assert.ok(existsSync(join(plan.directory, "README.md")));
});

test("no login of the user's is sent to a server that asks for one", async () => {
  allow(true);
  servers.behaviour = "login";
  await assert.rejects(
    clone(widget(servers.httpUrl), "secret"),
    refusal("clone_failed", /did not let this host in/),
  );
  assert.ok(servers.requests.length > 0);
  for (const { headers } of servers.requests) assert.equal(headers.authorization, undefined);
  assert.doesNotMatch(JSON.stringify(servers.requests), /hunter2/);
  assert.ok(!existsSync(ran));
});

test("no redirect is followed from there, neither within http nor to https", async () => {
  allow(true);
  await using other = await startInsecureGitServers();
  for (const redirectTo of [other.httpUrl, other.httpUrl.replace("http:", "https:"), "file://"]) {
    servers.behaviour = { redirectTo };
    await assert.rejects(
      clone(widget(servers.httpUrl), "redirected"),
      refusal("clone_failed", /redirects to another address/),
    );
  }
  assert.deepEqual(other.requests, []);
  assert.ok(!readdirSync(root).includes("redirected"));
});

test("an https address leads to no http server, whatever the owner's word is", async () => {
  const { key, certificate } = makeCertificate(place, ["127.0.0.1"]);
  const server = createServer({ key, cert: certificate }, (request, response) => {
    response.writeHead(302, { location: `${servers.httpUrl}${request.url}` }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    allow(true);
    const secure = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await assert.rejects(clone(widget(secure), "downgraded"), refusal("clone_failed", /./));
    assert.deepEqual(servers.requests, []);
  } finally {
    server.close();
  }
});

test("what is malformed stays refused, whatever the owner's word is", async () => {
  allow(true);
  for (const url of [
    "http://ada:hunter2@127.0.0.1/r",
    "git://ada@127.0.0.1/r",
    "git://-oProxyCommand=x/y",
    "http://h/%0ahost=z",
    "file:///etc",
    "ext::sh -c x",
    "ftp://h/r",
  ]) {
    await assert.rejects(clone(url, "odd"), refusal("unsafe_source", /./), url);
  }
});
