// Logins with the real Claude Code against the stand-in of the accounts' issuer.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmdirSync,
  statSync,
  utimesSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { agentProgram } from "@hawser/testkit/agent-programs.ts";
import { startClaudeIssuer, type ClaudeIssuer } from "@hawser/testkit/claude-issuer.ts";
import { listProcesses } from "@hawser/testkit/processes.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { until } from "@hawser/testkit/until.ts";
import { listAgentProcesses } from "../agent-processes.ts";
import { AgentNotReady } from "../driver.ts";
import { LoginFailed, type LoginAttempt, type LoginPlace, type LoginProgram } from "../login.ts";
import { createClaudeLogin, type ClaudeLoginSettings } from "./login.ts";
import { untilRefreshed } from "./refresh-lock.ts";

const never = new AbortController().signal;
const ada = { email: "ada@example.test", plan: "claude_max" as const };
const bob = { email: "bob@example.test", plan: "claude_pro" as const };

let folder: string;
let program: string;
let issuer: ClaudeIssuer;
let login: LoginProgram;
let made = 0;

function createLogin(more: Partial<ClaudeLoginSettings> = {}): LoginProgram {
  // A key of the host must not take the place of the login.
  const others = { HOME: join(folder, "user"), ANTHROPIC_API_KEY: "of-the-host" };
  const environment = { ...issuer.environment, ...others };
  return createClaudeLogin({
    program: () => ({ path: program, version: "2.1.197" }),
    environment,
    ...more,
  });
}

function makePlace(): LoginPlace {
  const [home, temporary] = [join(folder, `home-${++made}`), join(folder, `tmp-${made}`)];
  for (const path of [home, temporary]) mkdirSync(path, { mode: 0o700 });
  return { home, temporary };
}

async function logIn(place: LoginPlace, person: typeof ada | typeof bob) {
  const attempt = await login.begin(place, null, never);
  attempt.submit!(issuer.authorize(attempt.authorizationUrl, person));
  return attempt.done;
}

/** Checks that the attempt fails with this message and that no process of it is left. */
async function assertFails(attempt: LoginAttempt, message: RegExp): Promise<void> {
  await assert.rejects(attempt.done, (error) => {
    assert.ok(error instanceof LoginFailed);
    assert.match(error.message, message);
    assert.match(error.message, /\. Start the login again/);
    assert.doesNotMatch(error.message, /code-|sk-ant/);
    return true;
  });
  assert.deepEqual(processesOf(attempt), []);
  assert.ok(!login.liveStarts().includes(attempt.startId));
}

const processesOf = ({ startId }: LoginAttempt) =>
  listAgentProcesses().filter((found) => found.startId === startId);
const credentialsOf = ({ home }: LoginPlace) => join(home, ".credentials.json");

before(async () => {
  program = await agentProgram("claude_code");
  folder = mkdtempSync(join(tmpdir(), "hawser-login-"));
  mkdirSync(join(folder, "user"));
  issuer = await startClaudeIssuer();
});
beforeEach(() => {
  login = createLogin();
  issuer.switches.exchangeStatus = undefined;
  issuer.switches.sendsRefreshToken = true;
  issuer.switches.answerDelayMs = 0;
  issuer.switches.expiresIn = 28_800;
});
after(async () => {
  await issuer[Symbol.asyncDispose]();
  removeDirectory(folder);
});

test("a login ends with the account and its plan, and its credentials are in the home", async () => {
  const place = makePlace();
  assert.equal(await login.readAccount(place, never), undefined);
  const attempt = await login.begin(place, "ada+work@example.test", never);
  assert.equal(attempt.flow, "paste_code");
  assert.equal(attempt.userCode, null);
  const { hostname, searchParams } = new URL(attempt.authorizationUrl);
  assert.equal(hostname, "claude.com");
  assert.equal(searchParams.get("login_hint"), "ada+work@example.test");
  assert.deepEqual(login.liveStarts(), [attempt.startId]);

  issuer.switches.answerDelayMs = 500;
  const before = issuer.requests.length;
  const code = issuer.authorize(attempt.authorizationUrl);
  attempt.submit!(`  ${code}\n`);
  await until("the code is exchanged", () => issuer.requests.length > before);
  const [secret] = code.split("#");
  const all = listProcesses();
  assert.ok(all.some(({ environment }) => environment.includes(`CLAUDE_CONFIG_DIR=${place.home}`)));
  for (const { command, environment } of all) {
    assert.ok(![command, ...environment].some((text) => text.includes(secret!)));
  }
  assert.deepEqual(await attempt.done, { account: "ada+work@example.test", plan: "max" });

  assert.equal(statSync(credentialsOf(place)).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(join(folder, "user")), []);
  assert.deepEqual(processesOf(attempt), []);
  assert.deepEqual(login.liveStarts(), []);
  await attempt.cancel();
  assert.ok(existsSync(credentialsOf(place)));
});

test("a code that is incomplete or of another login is not sent", async () => {
  const before = issuer.requests.length;
  const [first, second] = await Promise.all([
    login.begin(makePlace(), null, never),
    login.begin(makePlace(), null, never),
  ]);
  const code = issuer.authorize(second.authorizationUrl, ada);
  first.submit!(code);
  await assertFails(first, /^The code belongs to another login\./);
  second.submit!(code.replace(/#.*/, ""));
  await assertFails(second, /^The code is not complete\./);
  assert.equal(issuer.requests.length, before);
});

test("a code that the issuer refuses fails the login, and so does a failing issuer", async () => {
  const wrong = await login.begin(makePlace(), null, never);
  wrong.submit!(issuer.authorize(wrong.authorizationUrl).replace(/^code-[^#]*/, "code-mistyped"));
  await assertFails(wrong, /^Anthropic did not accept the code\./);
  issuer.switches.exchangeStatus = 500;
  const failing = await login.begin(makePlace(), null, never);
  failing.submit!(issuer.authorize(failing.authorizationUrl));
  await assertFails(failing, /^Anthropic's login service failed\./);
});

test("a login that is too old or does not reach the issuer fails", async () => {
  const old = await createLogin({ attemptMs: 10 }).begin(makePlace(), null, never);
  await assertFails(old, /^The login was not completed in time\./);
  const { NODE_EXTRA_CA_CERTS: _, ...untrusting } = issuer.environment;
  const cases: [environment: Record<string, string>, message: RegExp][] = [
    [{ HTTPS_PROXY: "http://127.0.0.1:9" }, /^The host did not reach Anthropic's login service\./],
    [untrusting, /^The host does not trust the certificate/],
  ];
  for (const [more, message] of cases) {
    const environment = { ...more, HOME: join(folder, "user") };
    const attempt = await createLogin({ environment }).begin(makePlace(), null, never);
    attempt.submit!(issuer.authorize(attempt.authorizationUrl));
    await assertFails(attempt, message);
  }
});

test("a login that cannot be refreshed is not believed", async () => {
  issuer.switches.sendsRefreshToken = false;
  const place = makePlace();
  const attempt = await login.begin(place, null, never);
  attempt.submit!(issuer.authorize(attempt.authorizationUrl));
  await assertFails(attempt, /^Claude Code completed the login but is not logged in\./);
  assert.equal(issuer.grants.at(-1)?.revoked, false);
});

test("a failed login keeps the one before, a second one replaces it, and logging out revokes", async () => {
  const place = makePlace();
  assert.deepEqual(await logIn(place, ada), { account: ada.email, plan: "max" });
  const credentials = readFileSync(credentialsOf(place), "utf8");
  issuer.switches.exchangeStatus = 400;
  await assert.rejects(logIn(place, bob), LoginFailed);
  assert.equal(readFileSync(credentialsOf(place), "utf8"), credentials);
  assert.equal((await login.readAccount(place, never))?.account, ada.email);
  issuer.switches.exchangeStatus = undefined;
  assert.deepEqual(await logIn(place, bob), { account: bob.email, plan: "pro" });

  await login.logOut(place, never);
  assert.equal(existsSync(credentialsOf(place)), false);
  const [replaced, last] = issuer.grants.slice(-2);
  assert.deepEqual([last?.email, last?.revoked], [bob.email, true]);
  // Claude Code revokes only the login that it has.
  assert.deepEqual([replaced?.email, replaced?.revoked], [ada.email, false]);
});

// The program refreshes an earlier login at its start, at a moment of its own. The test holds the lock instead.
test("while a login is refreshed, no process is ended and no code is passed", async () => {
  const place = makePlace();
  const lock = join(place.home, ".oauth_refresh.lock");
  const cancelled = await login.begin(place, null, never);
  mkdirSync(lock);
  const cancelling = cancelled.cancel();
  await sleep(500);
  assert.equal(processesOf(cancelled).length, 1);
  rmdirSync(lock);
  await cancelling;
  await assertFails(cancelled, /^The login was cancelled\./);

  const attempt = await login.begin(place, null, never);
  mkdirSync(lock);
  const asked = issuer.requests.length;
  attempt.submit!(issuer.authorize(attempt.authorizationUrl, ada));
  await sleep(500);
  assert.equal(issuer.requests.length, asked);
  rmdirSync(lock);
  assert.equal((await attempt.done).account, ada.email);
});

test("a lock that a killed process has left holds nothing up", async () => {
  const { home } = makePlace();
  const lock = join(home, ".oauth_refresh.lock");
  mkdirSync(lock);
  const aMinuteAgo = Date.now() / 1000 - 60;
  utimesSync(lock, aMinuteAgo, aMinuteAgo);
  await untilRefreshed(home);
});

test("a start that is given up leaves no process", async () => {
  const given = new AbortController();
  const begun = login.begin(makePlace(), null, given.signal);
  const [startId] = login.liveStarts();
  const own = () => listAgentProcesses().filter((found) => found.startId === startId);
  await until("it has started", () => own().length > 0);
  given.abort(new Error("Given up."));
  await assert.rejects(begun, /Given up/);
  assert.deepEqual(own(), []);
});

test("a program that is missing or does nothing is not ready", async () => {
  const missing = createLogin({ program: () => undefined });
  await assert.rejects(missing.begin(makePlace(), null, never), AgentNotReady);
  const broken = createLogin({ program: () => ({ path: "/bin/false", version: "1" }) });
  await assert.rejects(broken.begin(makePlace(), null, never), AgentNotReady);
  for (const each of [missing, broken]) {
    await assert.rejects(each.readAccount(makePlace(), never), AgentNotReady);
    await each.logOut(makePlace(), never);
  }
});
