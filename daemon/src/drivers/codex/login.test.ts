// Logins of the real codex with accounts of an issuer on loopback.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { agentProgram } from "@hawser/testkit/agent-programs.ts";
import { openCodexBench } from "@hawser/testkit/codex-bench.ts";
import { startCodexIssuer, type CodexIssuer } from "@hawser/testkit/codex-issuer.ts";
import { never, startSession } from "@hawser/testkit/conformance/recording.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { startScriptedModel, type ScriptedModel } from "@hawser/testkit/scripted-model.ts";
import { until } from "@hawser/testkit/until.ts";
import { listAgentProcesses } from "../agent-processes.ts";
import { AgentNotReady } from "../driver.ts";
import { LoginFailed, type LoginAttempt, type LoginPlace, type LoginProgram } from "../login.ts";
import { createCodexLogin, type CodexLoginSettings } from "./login.ts";

const ada = { email: "ada@example.com", plan: "pro" };
const grace = { email: "grace@example.com", plan: "plus" };

let folder: string;
let path: string;
let issuer: CodexIssuer;
let model: ScriptedModel;
let login: LoginProgram;
let starts = 0;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "hawser-codex-login-"));
  path = await agentProgram("codex");
  issuer = await startCodexIssuer();
  model = await startScriptedModel();
  login = create();
});
after(async () => {
  await issuer[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  removeDirectory(folder);
});

const create = (more: Partial<CodexLoginSettings> = {}) =>
  createCodexLogin({
    program: () => ({ path, version: "0.166.0" }),
    environment: { HOME: folder, ...issuer.environment },
    newStartId: () => `${folder}.${++starts}`,
    ...more,
  });

let places = 0;
function makePlace(): LoginPlace {
  const home = join(folder, `home-${++places}`);
  const temporary = join(folder, `tmp-${places}`);
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(temporary);
  issuer.writeHome(home, model.url);
  return { home, temporary };
}

const begin = (place: LoginPlace) => login.begin(place, null, never);

async function logIn(place: LoginPlace, account = ada) {
  const attempt = await begin(place);
  issuer.approve(attempt.userCode!, account);
  return attempt.done;
}

const credentials = ({ home }: LoginPlace) => join(home, "auth.json");

const processesOf = ({ home }: LoginPlace) =>
  listAgentProcesses().filter(({ directory }) => directory === home);

/** The attempt fails with such a sentence, which contains no code, and its process has ended. */
async function assertFails(place: LoginPlace, attempt: LoginAttempt, sentence: RegExp) {
  await assert.rejects(attempt.done, (error: Error) => {
    assert.ok(error instanceof LoginFailed);
    assert.match(error.message, sentence);
    assert.ok(!error.message.includes(attempt.userCode!));
    return true;
  });
  assert.deepEqual(processesOf(place), []);
}

const beginFails = (program: LoginProgram, place: LoginPlace, message: RegExp) =>
  assert.rejects(program.begin(place, null, never), (error: Error) => {
    assert.ok(error instanceof LoginFailed);
    assert.match(error.message, message);
    assert.deepEqual(processesOf(place), []);
    return true;
  });

test("a login waits for its approval, and prompts then run with the account", async () => {
  const place = makePlace();
  assert.equal(await login.readAccount(place, never), undefined);
  const attempt = await begin(place);
  assert.equal(attempt.flow, "device_code");
  assert.equal(attempt.authorizationUrl, `${issuer.url}/codex/device`);
  assert.deepEqual(issuer.waiting(), [attempt.userCode]);
  assert.deepEqual(
    processesOf(place).map(({ startId }) => startId),
    [attempt.startId],
  );
  assert.deepEqual(login.liveStarts(), [attempt.startId]);
  await until("codex has polled twice", () => issuer.pollsOf(attempt.userCode!) >= 2);
  assert.equal(existsSync(credentials(place)), false);

  issuer.approve(attempt.userCode!, ada);
  assert.deepEqual(await attempt.done, { account: "ada@example.com", plan: "pro" });
  assert.equal(statSync(credentials(place)).mode & 0o777, 0o600);
  assert.deepEqual(processesOf(place), []);
  assert.deepEqual(login.liveStarts(), []);
  await attempt.cancel();
  assert.deepEqual(await login.readAccount(place, never), {
    account: "ada@example.com",
    plan: "pro",
  });

  const environment = { HOME: folder, ...issuer.environment };
  await using bench = await openCodexBench({ home: place.home, environment });
  issuer.settings.utilization = 42;
  const recording = await startSession(bench);
  await recording.play([{ text: "Hello." }]);
  assert.equal(issuer.grantOf(model.requests.at(-1)!.authorization)?.email, "ada@example.com");
  assert.equal((await bench.driver().readUtilization!(never))?.percent, 42);
});

test("a second login replaces the first", async () => {
  const place = makePlace();
  await logIn(place, ada);
  assert.deepEqual(await logIn(place, grace), { account: "grace@example.com", plan: "plus" });
  assert.equal((await login.readAccount(place, never))?.account, "grace@example.com");
});

test("a denied, cancelled or expired login keeps the earlier one", async () => {
  const place = makePlace();
  await logIn(place);
  const denied = await begin(place);
  issuer.deny(denied.userCode!);
  await assertFails(place, denied, /refused the login/);
  const cancelled = await begin(place);
  await cancelled.cancel();
  await assertFails(place, cancelled, /was cancelled/);
  const expired = await create({ codeMs: 100 }).begin(place, null, never);
  await assertFails(place, expired, /not approved within 15 minutes/);
  assert.equal((await login.readAccount(place, never))?.account, "ada@example.com");
  assert.equal(issuer.grants.at(-1)!.revoked, false);
});

test("a cancelled login leaves no process, and a later approval logs nobody in", async () => {
  const place = makePlace();
  const attempt = await begin(place);
  await attempt.cancel();
  await assertFails(place, attempt, /was cancelled/);
  const grants = issuer.grants.length;
  issuer.approve(attempt.userCode!, ada);
  assert.equal(await login.readAccount(place, never), undefined);
  assert.equal(issuer.grants.length, grants);
  assert.equal(existsSync(credentials(place)), false);
});

test("a login fails if codex is killed during it", async () => {
  const place = makePlace();
  const attempt = await begin(place);
  process.kill(processesOf(place)[0]!.pid, "SIGKILL");
  await assertFails(place, attempt, /Codex ended during the login/);
  assert.equal(await login.readAccount(place, never), undefined);
});

test("a login cannot begin if the service has no device codes, or cannot be reached", async () => {
  const place = makePlace();
  issuer.settings.hasDeviceLogin = false;
  try {
    await beginFails(login, place, /does not offer a login by device code/);
  } finally {
    issuer.settings.hasDeviceLogin = true;
  }
  const away = { ...issuer.environment, CODEX_APP_SERVER_LOGIN_ISSUER: "http://127.0.0.1:9" };
  await beginFails(create({ environment: away }), place, /could not reach/);
  const missing = create({ program: () => undefined });
  await assert.rejects(missing.begin(place, null, never), AgentNotReady);
});

test("an aborted begin leaves no process", async () => {
  const place = makePlace();
  const stop = new AbortController();
  const beginning = login.begin(place, null, stop.signal);
  await until("codex is starting", () => processesOf(place).length > 0);
  stop.abort();
  await assert.rejects(beginning, { name: "AbortError" });
  await until("codex has ended", () => processesOf(place).length === 0);
  await until("its start is forgotten", () => login.liveStarts().length === 0);
});

test("credentials that codex has written but does not accept are logged out", async () => {
  const place = makePlace();
  issuer.settings.workspaceOrigin = "http://workspace.invalid";
  try {
    const attempt = await begin(place);
    issuer.approve(attempt.userCode!, ada);
    await assertFails(place, attempt, /did not confirm the login/);
  } finally {
    issuer.settings.workspaceOrigin = "https://workspace.invalid";
  }
  assert.equal(existsSync(credentials(place)), false);
  assert.equal(issuer.grants.at(-1)!.revoked, true);
});

test("logging out ends the login at the issuer and removes the credentials", async () => {
  const place = makePlace();
  await logIn(place);
  const grant = issuer.grants.at(-1)!;
  await login.logOut(place, never);
  assert.equal(grant.revoked, true);
  assert.equal(existsSync(credentials(place)), false);
  assert.equal(await login.readAccount(place, never), undefined);
  assert.deepEqual(processesOf(place), []);
  // Neither without a login nor without a program does it throw.
  await login.logOut(place, never);
  await create({ program: () => undefined }).logOut(place, never);
});

test("a login that was ended elsewhere is no login, and an unreachable service is an error", async () => {
  const place = makePlace();
  await logIn(place);
  issuer.settings.workspaceOrigin = "http://workspace.invalid";
  try {
    await assert.rejects(login.readAccount(place, never), AgentNotReady);
  } finally {
    issuer.settings.workspaceOrigin = "https://workspace.invalid";
  }
  issuer.grants.at(-1)!.revoked = true;
  assert.equal(await login.readAccount(place, never), undefined);
});
