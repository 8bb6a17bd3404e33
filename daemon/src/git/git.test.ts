// How git is run: within its limits, in an environment of ours, and with no credentials in its words.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { GitError, createGit } from "./git.ts";

const place = mkdtempSync(join(tmpdir(), "hawser-git-"));
after(() => rmSync(place, { recursive: true, force: true }));

const home = join(place, "home");
mkdirSync(home);
writeFileSync(join(home, ".gitconfig"), "[user]\nname = Ada\nemail = ada@acme.example\n");
const own = { HOME: home, PATH: process.env["PATH"] };

function createRepository(name: string): string {
  const directory = join(place, name);
  mkdirSync(directory);
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", directory, ...args], { env: own, stdio: "ignore" });
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(join(directory, "a.txt"), "one\n");
  git("add", ".");
  git("commit", "--quiet", "--message=first");
  return directory;
}

/** A search path with a git of our own in front of it. */
function withProgram(name: string, text: string, program = "git"): NodeJS.ProcessEnv {
  const bin = join(place, name);
  mkdirSync(bin);
  writeFileSync(join(bin, program), `#!/bin/sh\n${text}\n`);
  chmodSync(join(bin, program), 0o755);
  return { ...own, PATH: `${bin}:${own.PATH}` };
}

const failure = (work: Promise<unknown>): Promise<GitError> =>
  work.then(
    () => assert.fail("it worked"),
    (error: unknown) => (assert.ok(error instanceof GitError, String(error)), error),
  );

test("operands and revisions are never read as options", async () => {
  const git = createGit(own);
  const directory = createRepository("operands");
  const evil = `--output=${join(place, "written")}`;
  for (const call of [{ revisions: [evil] }, { operands: [evil] }]) {
    await git.runIn(directory, "diff", { ...call, deadlineMs: 5_000 }).catch(() => {});
    assert.throws(() => readFileSync(join(place, "written")), { code: "ENOENT" });
  }
  assert.throws(() => git.run("clone", { options: ["x"], deadlineMs: 1 }), /"x" is no option/);
  assert.throws(() => git.run("clone", { options: ["--"], deadlineMs: 1 }), /is no option/);
});

test("the environment is an allow-list", async () => {
  const environment = withProgram("environment", `env > ${join(place, "seen")}`);
  const git = createGit({
    ...environment,
    HAWSER_SECRET: "x",
    GIT_DIR: "/x",
    GIT_EXTERNAL_DIFF: "x",
  });
  await git.run("clone", { deadlineMs: 5_000 });
  const names = readFileSync(join(place, "seen"), "utf8")
    .split("\n")
    .map((line) => line.replace(/=.*/, ""))
    // The shell's own.
    .filter((name) => name !== "" && !["PWD", "OLDPWD", "SHLVL", "_"].includes(name));
  assert.deepEqual(names.sort(), [
    "GIT_ALLOW_PROTOCOL",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_OPTIONAL_LOCKS",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_TERMINAL_PROMPT",
    "HOME",
    "LC_ALL",
    "PATH",
  ]);
});

test("a git that hangs is ended at its deadline, with what it started", async () => {
  const pids = join(place, "pids");
  const git = createGit(withProgram("hangs", `sleep 60 & echo $$ $! > ${pids}; wait`));
  const error = await failure(git.run("clone", { deadlineMs: 300 }));
  assert.equal(error.reason, "out_of_time");
  for (const pid of readFileSync(pids, "utf8").trim().split(" ").map(Number)) {
    assert.ok(!isAlive(pid), `process ${pid} is left`);
  }
});

/** Ended and not yet reaped by whoever inherited it counts as gone. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

test("a caller that gives up ends it too", async () => {
  const git = createGit(withProgram("aborted", "exec sleep 60"));
  const signal = AbortSignal.timeout(100);
  assert.equal(
    (await failure(git.run("clone", { deadlineMs: 60_000, signal }))).reason,
    "out_of_time",
  );
  assert.equal(
    (await failure(git.run("clone", { deadlineMs: 60_000, signal }))).reason,
    "out_of_time",
  );
});

test("a git that prints without end is ended at its limit", async () => {
  const git = createGit(withProgram("prints", "exec yes"));
  const call = { deadlineMs: 10_000, outputLimitBytes: 100_000 };
  assert.equal((await failure(git.run("clone", call))).reason, "too_much_output");
});

test("a host without git says so", async () => {
  const git = createGit({ PATH: join(place, "nowhere") });
  assert.equal(await git.version(), undefined);
  assert.equal((await failure(git.run("clone", { deadlineMs: 1_000 }))).reason, "git_missing");
  const error = await failure(git.runIn(place, "status", { deadlineMs: 1_000 }));
  assert.equal(error.reason, "git_missing");
});

test("the version is asked for once, and again when the program has changed", async () => {
  const count = join(place, "asked");
  const environment = withProgram("version", `echo x >> ${count}; echo git version 2.30.9`);
  const git = createGit(environment);
  assert.equal((await git.version())!.text, "2.30.9");
  await git.version();
  assert.equal(readFileSync(count, "utf8"), "x\n");
  // Too old for settings in the environment.
  const error = await failure(git.runIn(place, "status", { deadlineMs: 1_000 }));
  assert.equal(error.reason, "git_outdated");
  writeFileSync(join(place, "version", "git"), "#!/bin/sh\necho git version 2.51.0.windows.1\n");
  assert.equal((await git.version())!.text, "2.51.0");
});

test("a directory inside a repository does not count as the repository", async () => {
  const directory = createRepository("outer");
  mkdirSync(join(directory, "inner"));
  const error = await failure(
    createGit(own).runIn(join(directory, "inner"), "status", { deadlineMs: 5_000 }),
  );
  assert.match(error.message, /not a git repository/);
});

test("git's message about an address with a secret is reported without the secret", async () => {
  const git = createGit(own);
  const address = "https://ada:hunter2@127.0.0.1:9/x.git";
  const clone = git.run("clone", { operands: [address, join(place, "clone")], deadlineMs: 5_000 });
  const { message } = await failure(clone);
  assert.match(message, /^Git said: fatal: unable to access 'https:\/\/127\.0\.0\.1:9\/x\.git/);
});

test("only https and ssh are spoken", async () => {
  const git = createGit(own);
  const repository = createRepository("far");
  for (const address of [repository, `file://${repository}`, "http://127.0.0.1:9/x", "ext::true"]) {
    const operands = [address, join(place, "clone")];
    const { message } = await failure(git.run("clone", { operands, deadlineMs: 5_000 }));
    assert.match(message, /transport '\w+' not allowed/, address);
  }
});

test("a repository's helpers are not asked for credentials, and the user's are", async () => {
  const seen = join(place, "helpers");
  const helper = (name: string) => {
    const path = join(place, name);
    writeFileSync(path, `#!/bin/sh\necho ${name} >> ${seen}\necho username=a\necho password=b\n`);
    chmodSync(path, 0o755);
    return path;
  };
  await using far = await startLockedServer();
  writeFileSync(join(home, ".gitconfig"), `[credential]\nhelper = ${helper("users")}\n`, {
    flag: "a",
  });
  const directory = createRepository("helpers-repository");
  const set = (name: string, value: string) =>
    execFileSync("git", ["-C", directory, "config", name, value], { env: own });
  set("credential.helper", helper("theirs"));
  set(`credential.${far.origin}.helper`, helper("theirs-for-this-address"));
  set("core.askPass", helper("asked"));
  set("remote.origin.url", `${far.origin}/x.git`);
  const environment = { ...own, GIT_SSL_CAINFO: far.certificate };
  const fetch = ["-C", directory, "fetch", "origin"];
  const plain = { env: { ...environment, GIT_TERMINAL_PROMPT: "0" }, timeout: 5_000 };
  await assert.rejects(promisify(execFile)("git", fetch, plain));
  assert.match(readFileSync(seen, "utf8"), /theirs/, "plain git asks the repository's helper");
  rmSync(seen);
  await failure(
    createGit(environment).runIn(directory, "fetch", { operands: ["origin"], deadlineMs: 5_000 }),
  );
  // Git asked for credentials, and reported that they were wrong.
  assert.equal(readFileSync(seen, "utf8"), "users\nusers\n");
});

/** A server that lets nobody in. */
async function startLockedServer() {
  const key = join(place, "key.pem");
  const certificate = join(place, "certificate.pem");
  const request = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -keyout ${key} -out ${certificate}`;
  execFileSync("openssl", request.split(" "), { stdio: "ignore" });
  const server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) });
  server.on("request", (_request, response) => {
    response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    certificate,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
