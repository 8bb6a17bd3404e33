// `hawser demo` from the package, as a user with an empty home: real PostgreSQL, nats-server, daemon and agents,
// which the host downloads from a package server. Afterwards nothing of it is left.
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, cpSync, existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeCleanUser, type CleanUser } from "@hawser/testkit/clean-user.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { startPackageServer, type PackageServer } from "@hawser/testkit/package-server.ts";
import { packagedProduct } from "@hawser/testkit/packaged-product.ts";
import { until } from "@hawser/testkit/until.ts";

let user: CleanUser;
let packages: PackageServer;

before(async () => {
  const product = await packagedProduct();
  packages = await startPackageServer();
  product.serve(packages);
  // Codex runs commands with the login shell of the user, and those of dash fail in its sandbox.
  user = await makeCleanUser({ shell: "/bin/bash" });
  cpSync(product.directory, join(user.home, "package"), { recursive: true });
  copyFileSync(process.execPath, join(user.home, "node"));
  chmodSync(join(user.home, "node"), 0o755);
  await user.run("mkdir tmp");
});
after(async () => {
  await user[Symbol.asyncDispose]();
  await packages[Symbol.asyncDispose]();
});

const patienceMs = 400_000;
const hawser = "./node package/bin/hawser.cjs";
const environment = () => ({
  npm_config_registry: packages.url,
  HAWSER_AGENT_PACKAGES: packages.url,
  TMPDIR: join(user.home, "tmp"),
});
const log = () =>
  existsSync(join(user.home, "demo.log")) ? readFileSync(join(user.home, "demo.log"), "utf8") : "";

/** Starts a command of the user, whose output goes to a file. */
const start = (line: string) =>
  user.run(
    `rm -f demo.log; ( ${line}; echo "exit $?" ) > demo.log 2>&1 < /dev/null &`,
    environment(),
  );

async function untilLogged(part: RegExp): Promise<void> {
  try {
    await until(
      `the demo prints ${part}`,
      () => part.test(log()) || /^exit /m.test(log()),
      patienceMs,
    );
    assert.match(log(), part);
  } catch (cause) {
    throw new Error(`The demo does not print ${part}. It prints:\n${log()}`, { cause });
  }
}

async function assertNothingLeft(): Promise<void> {
  await until("no process of the demo is left", () => user.processes().length === 0, 20_000);
  assert.deepEqual(readdirSync(join(user.home, "tmp")), []);
  const names = readdirSync(user.home).filter(
    (name) => !["node", "package", "tmp", "demo.log"].includes(name),
  );
  const settings = names.filter((name) =>
    /^\.(?:config|claude|codex|hawser|local|cache|npmrc)/.test(name),
  );
  assert.deepEqual(settings, []);
}

test("the demo leads through a session with each of the three real agents, and removes everything", async () => {
  await start(`${hawser} demo --yes`);
  await untilLogged(/^exit 0$/m);
  for (const kind of ["opencode", "claude_code", "codex"]) {
    assert.match(log(), new RegExp(`hello from ${kind} > hello.txt`));
  }
  assert.equal(log().match(/^ {2}\$ hawser call answer_permission /gm)?.length, 3, log());
  assert.equal(log().match(/^ {2}I have written hello\.txt\.$/gm)?.length, 3, log());
  assert.equal(log().match(/"path": "hello\.txt"/g)?.length, 3, log());
  await assertNothingLeft();
});

test("a signal in the middle of the demo ends it with code 130, and removes everything", async () => {
  await start(`${hawser} demo --yes --kinds codex & echo "pid $!"; wait $!`);
  await untilLogged(/hawser call start_session/);
  const [, pid] = /^pid (\d+)$/m.exec(log())!;
  await user.run(`kill -INT ${pid}`);
  await untilLogged(/^exit 130$/m);
  await assertNothingLeft();
});

test("a signal while the demo starts ends it with code 130, and removes everything", async () => {
  await start(`${hawser} demo --yes --kinds opencode & echo "pid $!"; wait $!`);
  await untilLogged(/^ {2}PostgreSQL \S+ runs\.$/m);
  const [, pid] = /^pid (\d+)$/m.exec(log())!;
  await user.run(`kill -INT ${pid}`);
  await untilLogged(/^exit 130$/m);
  assert.match(log(), /^Removed\.$/m);
  assert.doesNotMatch(log(), /AbortError/);
  await assertNothingLeft();
});

test("a demo whose agents cannot be downloaded says why, and removes everything", async () => {
  const nowhere = `http://127.0.0.1:${await freePort()}`;
  await start(`HAWSER_AGENT_PACKAGES=${nowhere} ${hawser} demo --yes --kinds opencode`);
  await untilLogged(/^exit 1$/m);
  assert.match(log(), new RegExp(`opencode cannot be used: The download from ${nowhere}/`));
  assert.match(log(), /No agent could be installed\./);
  await assertNothingLeft();
});

test("without a terminal the demo asks for --yes, and an unknown agent is refused", async () => {
  const asked = await user.run(`${hawser} demo`, environment());
  assert.equal(asked.code, 2, asked.output);
  assert.match(asked.output, /no terminal to press Enter in\. Run hawser demo --yes\./);
  const unknown = await user.run(`${hawser} demo --yes --kinds clippy`, environment());
  assert.equal(unknown.code, 2);
  assert.match(unknown.output, /There is no agent "clippy"/);
});
