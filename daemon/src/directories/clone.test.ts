// Cloning with real git over real https and ssh: with the host's own credentials, complete or absent.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { createRepository } from "@hawser/testkit/git-repository.ts";
import { startGithub, type Github } from "@hawser/testkit/github.ts";
import { startSshServer, type SshServer } from "@hawser/testkit/ssh-server.ts";
import { until } from "@hawser/testkit/until.ts";
import { createCodeHosting } from "../code-hosting/code-hosting.ts";
import { CommandRefusal } from "../command-refusal.ts";
import { createGit } from "../git/git.ts";
import { silentLog } from "../log.ts";
import { createOperations } from "../operations.ts";
import { allowAll } from "../policy/policy.ts";
import { createClones } from "./clone.ts";
import { createDirectories } from "./directories.ts";
import { createHalfDone } from "./half-done.ts";

const token = "gho_ofAdaAndNobodyElse";
const place = mkdtempSync(join(tmpdir(), "hawser-clones-"));
let github: Github;
let ssh: SshServer;

before(async () => {
  github = await startGithub({
    token,
    repositories: [
      { name: "ada/notes" },
      { name: "ada/large", bytes: 3_000_000 },
      { name: "acme/secret", private: true, affiliation: "organization_member" },
    ],
  });
  const hosts = ["github.com", "127.0.0.1"];
  ssh = await startSshServer({ directory: github.directory, hosts });
});

after(async () => {
  await ssh?.[Symbol.asyncDispose]();
  await github?.[Symbol.asyncDispose]();
  rmSync(place, { recursive: true, force: true });
});

let hosts = 0;
/** A host with a folder root and a home of its own. */
function openHost(own: Record<string, string> = {}, client = ssh.clientDirectory) {
  const home = join(place, `host-${++hosts}`);
  const root = join(home, "projects");
  const repository = createRepository(join(home, "repository"));
  mkdirSync(root);
  const settings = `[http]\n\tsslCAInfo = ${github.authorityFile}\n`;
  writeFileSync(join(home, ".gitconfig"), settings);
  const environment = {
    HOME: home,
    TMPDIR: home,
    PATH: [client, process.env["PATH"]].join(delimiter),
    ...github.environment,
    ...own,
  };
  const notes = join(home, "notes");
  const operations = createOperations(() => {});
  const clones = createClones({
    git: createGit(environment),
    codeHosting: createCodeHosting(environment),
    operations,
    halfDone: createHalfDone(notes, silentLog),
    directories: createDirectories(() => ({ ...allowAll, roots: [root, repository] })),
    policy: () => allowAll,
  });
  return {
    home,
    root,
    repository,
    notes,
    operations,
    clones,
    settings,
    clone: (wanted: { repo?: string; url?: string; name?: string; rootPath?: string }) =>
      clones.clone({ rootPath: root, ...wanted }, AbortSignal.timeout(30_000)),
    /** Nothing but what is named here is in the root, and no clone is noted. */
    assertHolds(...names: string[]) {
      assert.deepEqual(readdirSync(root).sort(), names.sort());
      assert.deepEqual(readdirSync(notes), []);
    },
  };
}

const refusal = (code: string, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CommandRefusal, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, words);
  return true;
};

test("a public repository comes by https and is called like itself", async () => {
  const host = openHost();
  const url = "https://github.com/ada/notes.git";
  const path = join(host.root, "notes");
  assert.deepEqual(await host.clone({ url }), {
    path,
    isGitRepository: true,
    branch: "main",
    remote: url,
  });
  assert.ok(existsSync(join(path, "README.md")));
  host.assertHolds("notes");
  const [operation] = host.operations.list();
  assert.deepEqual([operation?.type, operation?.state], ["clone_repository", "done"]);
  assert.equal(operation?.subject, `${url} to ${path}`);
});

test("a private repository comes by the host's own ssh key, and not without it", async () => {
  const url = `ssh://git@127.0.0.1:${ssh.port}/acme/secret.git`;
  const host = openHost();
  const made = await host.clone({ url, name: "by key" });
  assert.deepEqual([made.branch, made.remote], ["main", url]);
  host.assertHolds("by key");
  const stranger = openHost({}, ssh.strangerDirectory);
  await assert.rejects(
    stranger.clone({ url }),
    refusal("clone_failed", /did not let this host in/),
  );
  stranger.assertHolds();
  assert.equal(stranger.operations.list()[0]?.state, "failed");
});

test("a private repository comes by the host's own credential helper, and not without it", async () => {
  const url = "https://github.com/acme/secret.git";
  const host = openHost();
  const helper = `[credential]\n\thelper = "!f() { echo username=ada; echo password=${token}; }; f"\n`;
  await assert.rejects(host.clone({ url }), refusal("clone_failed", /did not let this host in/));
  writeFileSync(join(host.home, ".gitconfig"), host.settings + helper);
  assert.equal((await host.clone({ url })).remote, url);
});

test("a hosted repository comes by the client's account, the way the client is set to", async () => {
  const host = openHost({ GH_TOKEN: token });
  // A helper of the user's that knows a wrong account is not asked.
  const wrong = `[credential]\n\thelper = "!f() { echo username=eve; echo password=no; }; f"\n`;
  writeFileSync(join(host.home, ".gitconfig"), host.settings + wrong);
  const byHttps = await host.clone({ repo: "acme/secret" });
  assert.equal(byHttps.remote, "https://github.com/acme/secret.git");
  const config = readFileSync(join(byHttps.path, ".git", "config"), "utf8");
  assert.doesNotMatch(config, /gho_|credential/);

  mkdirSync(join(host.home, ".config", "gh"), { recursive: true });
  writeFileSync(join(host.home, ".config", "gh", "config.yml"), "git_protocol: ssh\n");
  const bySsh = await host.clone({ repo: "acme/secret", name: "by-ssh" });
  assert.equal(bySsh.remote, "git@github.com:acme/secret.git");
  host.assertHolds("by-ssh", "secret");
  await assert.rejects(
    host.clone({ repo: "acme/none" }),
    refusal("repository_not_found", /cannot see/),
  );
});

test("without a client that is logged in, a hosted repository is refused with what to do", async () => {
  await assert.rejects(
    openHost().clone({ repo: "ada/notes" }),
    refusal("not_logged_in", /gh auth login/),
  );
});

test("what the contract objects to is refused here too, before anything is run", async () => {
  const host = openHost({ PATH: "" });
  const url = "https://github.com/ada/notes.git";
  const unsafe = [
    "--upload-pack=x",
    "-u x",
    "ext::sh -c x",
    "EXT::sh",
    "file:///etc",
    "/etc",
    "ssh://-oProxyCommand=x/y",
    "https://h/%0ahost=z",
    "https:///h",
    "https://a:b@h/x",
    "h:x",
  ].map((each) => ({ url: each }));
  const names = ["..", ".git", ".", "a/b", "-x", "n".repeat(256), "dot.", "space "];
  const others = [{}, { repo: "a/b", url }, { repo: "../x" }, { repo: "a/.." }];
  for (const wanted of [...unsafe, ...names.map((name) => ({ url, name })), ...others]) {
    await assert.rejects(host.clone(wanted), refusal("unsafe_source", /./), JSON.stringify(wanted));
  }
  host.assertHolds();
});

test("only a folder root takes a clone", async () => {
  const host = openHost();
  mkdirSync(join(host.root, "inner"));
  const url = "https://github.com/ada/notes.git";
  const others = [
    host.repository,
    join(host.root, "inner"),
    host.home,
    "/",
    join(host.root, "none"),
  ];
  for (const rootPath of others) {
    await assert.rejects(host.clone({ rootPath, url }), refusal("not_found", /not a folder root/));
  }
  assert.equal(
    (await host.clone({ rootPath: `${host.root}/`, url })).path,
    join(host.root, "notes"),
  );
});

test("what is there is never overwritten: a directory, a file, a link to nowhere", async () => {
  const host = openHost();
  const url = "https://github.com/ada/notes.git";
  mkdirSync(join(host.root, "directory"));
  writeFileSync(join(host.root, "file"), "mine");
  symlinkSync("/nowhere", join(host.root, "link"));
  for (const name of ["directory", "file", "link"]) {
    await assert.rejects(host.clone({ url, name }), refusal("already_exists", /already there/));
  }
  host.assertHolds("directory", "file", "link");
  assert.equal(readFileSync(join(host.root, "file"), "utf8"), "mine");
});

test("a clone on its way shows how far it is, and keeps its name from others", async () => {
  const host = openHost();
  const url = "https://github.com/ada/large.git";
  github.hold(true);
  const cloning = host.clone({ url });
  try {
    const receiving = () => host.operations.list().find(({ step }) => step === "receiving objects");
    await until("it receives", () => receiving() !== undefined);
    assert.equal(receiving()?.state, "running");
    assert.ok(Number.isInteger(receiving()?.percent));
    assert.equal(existsSync(join(host.root, "large")), false);
    await assert.rejects(host.clone({ url }), refusal("already_exists", /being cloned right now/));
    // Somebody else uses the name in the meantime.
    mkdirSync(join(host.root, "large", "theirs"), { recursive: true });
  } finally {
    github.hold(false);
  }
  await assert.rejects(cloning, refusal("already_exists", /already there/));
  assert.deepEqual(readdirSync(join(host.root, "large")), ["theirs"]);
  host.assertHolds("large");
});

test("a clone ends with its daemon, and at its deadline, and leaves nothing", async () => {
  const url = "https://github.com/ada/large.git";
  github.hold(true);
  try {
    const host = openHost();
    const cloning = host.clone({ url });
    const refused = assert.rejects(cloning, refusal("interrupted", /was stopped/));
    await until("it has begun", () => readdirSync(host.notes).length === 1);
    await host.clones.stop();
    await refused;
    host.assertHolds();

    const late = openHost();
    const wanted = { rootPath: late.root, url };
    await assert.rejects(
      late.clones.clone(wanted, AbortSignal.timeout(800)),
      refusal("clone_failed", /did not finish in time/),
    );
    late.assertHolds();
  } finally {
    github.hold(false);
  }
});

test("a failure is reported in our words: no answer of the server's, no credentials", async () => {
  const host = openHost();
  const redirected = `[url "https://ada:hunter2@github.com/"]\n\tinsteadOf = https://github.com/\n`;
  writeFileSync(join(host.home, ".gitconfig"), host.settings + redirected);
  const unsafe = /inner workings|hunter2|Repository not found/;
  const told: string[] = [];
  const attempt = async (url: string) => {
    const error = await host.clone({ url }).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof CommandRefusal);
    told.push(error.message);
  };
  await attempt("https://github.com/acme/secret.git");
  github.fail(500);
  await attempt("https://github.com/ada/notes.git");
  github.fail(undefined);
  told.push(...host.operations.list().map(({ step, subject }) => `${step} ${subject}`));
  assert.doesNotMatch(told.join("\n"), unsafe);
  host.assertHolds();
});
