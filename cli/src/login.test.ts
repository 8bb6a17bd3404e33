// `hawser login` and `hawser logout` as processes, against a real node.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { createCaller } from "@hawser/testkit/caller.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { joinPerson, type JoinedPerson } from "@hawser/testkit/joined-person.ts";
import { mainFile } from "@hawser/testkit/main-file.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import {
  refusal,
  startScriptedService,
  type ScriptedAnswer,
} from "@hawser/testkit/scripted-service.ts";
import { until } from "@hawser/testkit/until.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";

const main = mainFile("cli");
const folder = mkdtempSync(join(tmpdir(), "hawser-login-"));
let world: World;
let person: JoinedPerson;
before(async () => {
  world = await startWorld();
  person = await joinPerson(world.caller, { baseUrl: world.baseUrl, email: "kim@people.example" });
});
after(async () => {
  await world[Symbol.asyncDispose]();
  removeDirectory(folder);
});

let homes = 0;
function newHome(): string {
  const home = join(folder, `home${++homes}`);
  mkdirSync(home);
  return home;
}
const loginFile = (home: string) => join(home, ".hawser-server/login.json");

/** `errors()`: what it has printed on standard error. */
function start(home: string, args: string[], environment: Record<string, string> = {}) {
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env["PATH"], HOME: home, ...environment },
    cwd: home,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 120_000,
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => (errors += part));
  const ended = (async () => {
    const [out, [code]] = await Promise.all([
      text(child.stdout),
      once(child, "close") as Promise<[number | null]>,
    ]);
    return { code, out, errors };
  })();
  return { child, ended, errors: () => errors };
}
const run = (home: string, ...args: string[]) => start(home, args).ended;

/** Waits until the code is shown, and answers it in the browser. */
async function answer(shown: () => string, how: "approve" | "refuse"): Promise<string> {
  const code = /^ {2}([A-Z]{4}-[A-Z]{4})$/m;
  await until("a code is shown", () => code.test(shown()), 60_000);
  const [, userCode] = code.exec(shown())!;
  const { organizationId } = world.organizations[0];
  const body = { code: userCode, ...(how === "approve" && { organizationId }) };
  const reply = await person.send(`/api/sign-in/device/${how}`, body);
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  return userCode!;
}

async function logIn(home: string, environment?: Record<string, string>) {
  const login = start(home, ["login", world.baseUrl, "--name", "kim's laptop"], environment);
  const userCode = await answer(login.errors, "approve");
  const { code, out, errors } = await login.ended;
  assert.equal(code, 0, errors);
  return { userCode, out, errors };
}

test("a person logs in without a key, calls with it, and logs out", async () => {
  const home = newHome();
  const { userCode, out, errors } = await logIn(home);
  assert.match(errors, new RegExp(`^ {2}${world.baseUrl}/device\\?code=${userCode}$`, "m"));
  assert.match(out, /as kim@people\.example, in the organization/);
  assert.equal(statSync(loginFile(home)).mode & 0o777, 0o600);
  assert.equal(statSync(join(home, ".hawser-server")).mode & 0o777, 0o700);
  const stored = JSON.parse(readFileSync(loginFile(home), "utf8")) as Record<string, string>;
  assert.ok(!`${out}${errors}`.includes(stored["key"]!));

  const me = await run(home, "call", "whoami");
  assert.equal(me.code, 0, me.errors);
  assert.equal(JSON.parse(me.out).user.userId, person.userId);
  const { apiKeys } = await world.caller.list_api_keys({});
  const made = apiKeys.find(({ apiKeyId }) => apiKeyId === stored["apiKeyId"]);
  assert.equal(made?.name, "kim's laptop");

  const again = await run(home, "login", world.baseUrl);
  assert.deepEqual([again.code, /logged in to .* already/.test(again.errors)], [2, true]);

  const out1 = await run(home, "logout");
  assert.equal(out1.code, 0, out1.errors);
  assert.equal(existsSync(loginFile(home)), false);
  const { status } = await createCaller(world.baseUrl, stored["key"]!).try("whoami");
  assert.equal(status, 401);
  assert.equal((await run(home, "logout")).code, 1);
});

test("a refused login ends with a sentence, and stores nothing", async () => {
  const home = newHome();
  const login = start(home, ["login", world.baseUrl]);
  await answer(login.errors, "refuse");
  const { code, errors } = await login.ended;
  assert.equal(code, 1);
  assert.match(errors, /It was refused in the browser/);
  assert.equal(existsSync(loginFile(home)), false);
});

test("Ctrl-C ends the wait", async () => {
  const login = start(newHome(), ["login", world.baseUrl]);
  await until("the login waits", () => login.errors().includes("Waiting until"), 60_000);
  login.child.kill("SIGINT");
  assert.equal((await login.ended).code, 130);
});

test("a browser is opened on a desktop, and never with --no-browser or over SSH", async () => {
  const programs = newHome();
  const opened = join(programs, "opened");
  writeFileSync(join(programs, "xdg-open"), `#!/bin/sh\necho "$1" >> '${opened}'\n`, {
    mode: 0o755,
  });
  const PATH = `${programs}${delimiter}${process.env["PATH"]}`;
  const begin = async (args: string[], environment: Record<string, string>) => {
    const login = start(newHome(), ["login", world.baseUrl, ...args], { PATH, ...environment });
    await until("the login waits", () => login.errors().includes("Waiting until"), 60_000);
    login.child.kill("SIGINT");
    await login.ended;
    return /^ {2}(http.*)$/m.exec(login.errors())![1];
  };
  await begin([], {});
  await begin([], { DISPLAY: ":0", SSH_CONNECTION: "10.0.0.1 1 10.0.0.2 22" });
  await begin(["--no-browser"], { DISPLAY: ":0" });
  const page = await begin([], { WAYLAND_DISPLAY: "wayland-0" });
  await until(
    "a browser is opened",
    () => existsSync(opened) && readFileSync(opened, "utf8").endsWith("\n"),
  );
  assert.equal(readFileSync(opened, "utf8"), `${page}\n`);
});

test("an address without Hawser is refused before anything is shown", async () => {
  const home = newHome();
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const none = await run(home, "login", nobody);
  assert.deepEqual([none.code, /No service answers/.test(none.errors)], [3, true], none.errors);
  const open = await run(home, "login", "http://hawser.example");
  assert.deepEqual([open.code, /is not safe/.test(open.errors)], [2, true], open.errors);
  await using former = await startScriptedService(
    refusal(404, { code: "unknown_path", retry: "never" }),
  );
  const older = await run(home, "login", former.url);
  assert.deepEqual([older.code, /is older than this command/.test(older.errors)], [1, true]);
});

test("a false service opens no page of another one, and writes no lines of this program", async () => {
  const programs = newHome();
  const opened = join(programs, "opened");
  writeFileSync(join(programs, "xdg-open"), `#!/bin/sh\ntouch '${opened}'\n`, { mode: 0o755 });
  const environment = {
    PATH: `${programs}${delimiter}${process.env["PATH"]}`,
    DISPLAY: ":0",
  };
  const begun = {
    deviceCode: "hwd_1",
    userCode: "BCDF-GHJK",
    verificationUrl: "https://true.example/device\nLogged in.\u001b[2J",
    intervalSeconds: 1,
    expiresInSeconds: 600,
  };
  const json =
    (body: object): ScriptedAnswer =>
    (response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  await using liar = await startScriptedService(json(begun), json({ state: "refused" }));
  const login = await start(newHome(), ["login", liar.url], environment).ended;
  assert.match(
    login.errors,
    /at another address than http:\/\/127\.0\.0\.1:\d+, which gets the key/,
  );
  assert.doesNotMatch(login.errors, /^Logged in/m);
  assert.ok(!login.errors.includes("\u001b"));
  assert.equal(existsSync(opened), false);
  await using junk = await startScriptedService(json({ ...begun, userCode: "A\nB" }));
  const none = await start(newHome(), ["login", junk.url], environment).ended;
  assert.deepEqual([none.code, /is not Hawser's/.test(none.errors)], [3, true], none.errors);
});

test("a logout that cannot revoke keeps the key, unless it is forced", async () => {
  const home = newHome();
  await logIn(home);
  const stored = JSON.parse(readFileSync(loginFile(home), "utf8")) as Record<string, string>;
  const url = `http://127.0.0.1:${await freePort()}`;
  writeFileSync(loginFile(home), JSON.stringify({ ...stored, url }), { mode: 0o600 });
  const failed = await run(home, "logout");
  assert.deepEqual([failed.code, /still stored here/.test(failed.errors)], [3, true]);
  assert.ok(existsSync(loginFile(home)));
  const forced = await run(home, "logout", "--force");
  assert.equal(forced.code, 0);
  assert.match(forced.out, new RegExp(`Revoke the key ${stored["apiKeyId"]}`));
  assert.equal(existsSync(loginFile(home)), false);
});

test("a key that was revoked elsewhere is forgotten", async () => {
  const home = newHome();
  await logIn(home);
  const { apiKeyId } = JSON.parse(readFileSync(loginFile(home), "utf8")) as { apiKeyId: string };
  await world.caller.revoke_api_key({ apiKeyId });
  assert.equal((await run(home, "logout")).code, 0);
});
