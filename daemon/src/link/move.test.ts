// What makes a host leave the address that it knows, and what does not.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { nkeyFromSeed } from "@hawser/host-protocol";
import { startSmallControlPlane } from "@hawser/testkit/small-control-plane.ts";
import { until } from "@hawser/testkit/until.ts";
import { silentLog } from "../log.ts";
import { openState, type Credentials } from "../state/state.ts";
import { pairHost } from "./doors.ts";
import { startMover } from "./move.ts";

async function open(
  t: TestContext,
  changed: (control: { baseUrl: string }) => Partial<Credentials> = () => ({}),
) {
  const control = await startSmallControlPlane();
  t.after(() => control[Symbol.asyncDispose]());
  const state = openState(`${control.directory}/state`);
  await pairHost(state, control.baseUrl, "hwp_0123456789abcdef0123456789abcdef");
  await control.startFabric();
  let kept = { ...state.readCredentials()!, ...changed(control) };
  const host = { isOnline: true, isBusy: false, moved: 0, problems: 0 };
  const mover = startMover({
    key: nkeyFromSeed(kept.seed),
    credentials: () => kept,
    save: (more) => void (kept = { ...kept, ...more }),
    commandKeys: () => [kept.commandKey],
    isOnline: () => host.isOnline,
    isBusy: () => host.isBusy,
    onProblem: () => host.problems++,
    onMoved: () => host.moved++,
    log: silentLog,
  });
  t.after(() => mover.stop());
  return { control, mover, host, credentials: () => kept };
}

test("an address that admits everybody, but cannot prove the service, is not used", async (t) => {
  const { mover, host, credentials } = await open(t);
  const before = credentials().serverUrl;
  // Another service. It gives every host a token.
  await using hostile = await startSmallControlPlane();
  mover.announced(hostile.baseUrl);
  await until("the host has tried it", () => mover.problem() !== undefined);
  assert.match(mover.problem()!, /^The service is to be used at .*does not prove that this host's/);
  assert.ok(hostile.renewals > 0);
  assert.deepEqual([credentials().serverUrl, host.moved], [before, 0]);
  assert.equal(credentials().formerServerUrl, undefined);
  // The service takes it back.
  mover.announced(undefined);
  assert.deepEqual([mover.problem(), credentials().nextServerUrl], [undefined, undefined]);
});

test("a host never moves from https to http, nor to http of another machine", async (t) => {
  const encrypted = await open(t, () => ({ serverUrl: "https://hawser.example" }));
  encrypted.mover.announced(encrypted.control.baseUrl);
  assert.match(encrypted.mover.problem()!, /never moves from https:\/\/ to http:\/\//);
  const local = await open(t);
  for (const address of ["http://hawser.example", "ftp://127.0.0.1", "nonsense"]) {
    local.mover.announced(address);
    assert.match(local.mover.problem()!, /stays with/, address);
  }
  await wait(2_500);
  assert.equal(local.control.renewals + encrypted.control.renewals, 0, "nothing was tried");
  assert.equal(encrypted.credentials().nextServerUrl, undefined);
  assert.equal(local.credentials().nextServerUrl, undefined);
});

test("a host moves to an announced address that proves the service and admits the host", async (t) => {
  const dead = "http://127.0.0.1:1";
  const { control, mover, host, credentials } = await open(t, () => ({ serverUrl: dead }));
  const { token } = credentials();
  mover.announced(`${control.baseUrl}/`);
  await until("it moves", () => host.moved === 1, 20_000);
  const moved = credentials();
  assert.deepEqual(
    [moved.serverUrl, moved.formerServerUrl, moved.nextServerUrl],
    [control.baseUrl, dead, undefined],
  );
  assert.notEqual(moved.token, token);
});

test("an address that the service does not name as its own is not used", async (t) => {
  const { control, mover, host } = await open(t, () => ({ serverUrl: "http://127.0.0.1:1" }));
  mover.announced(control.baseUrl.replace("127.0.0.1", "localhost"));
  await until("the host has tried it", () => mover.problem() !== undefined, 20_000);
  assert.match(mover.problem()!, /The service behind http:\/\/localhost:\d+ says that its address/);
  assert.equal(host.moved, 0);
});

test("the former address is tried only without a link, and not while the host is busy", async (t) => {
  const dead = "http://127.0.0.1:1";
  const { control, host, credentials } = await open(t, ({ baseUrl }) => ({
    serverUrl: dead,
    formerServerUrl: baseUrl,
  }));
  await wait(2_500);
  assert.equal(control.renewals, 0, "it is online");
  host.isBusy = true;
  host.isOnline = false;
  await wait(5_000);
  assert.equal(control.renewals, 0, "it is busy");
  host.isBusy = false;
  await until("it returns", () => host.moved === 1, 90_000);
  const { serverUrl, formerServerUrl } = credentials();
  assert.deepEqual([serverUrl, formerServerUrl], [control.baseUrl, dead]);
});
