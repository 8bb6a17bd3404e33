// The daemon's directory: private, replaced atomically, and reported when it is damaged.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { StateError, openState } from "./state.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-state-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const credentials = {
  serverUrl: "https://hawser.example",
  instanceId: "ins_1",
  seed: "SU",
  token: "t",
  commandKey: "k",
};

test("credentials are kept, replaced and forgotten, readable by their owner only", () => {
  const path = join(directory, "kept", "deep");
  const state = openState(path);
  assert.equal(state.readCredentials(), undefined);
  state.saveCredentials(credentials);
  state.saveCredentials({ ...credentials, token: "u" });
  assert.deepEqual(openState(path).readCredentials(), { ...credentials, token: "u" });
  assert.equal(statSync(join(path, "credentials.json")).mode & 0o777, 0o600);
  state.forgetCredentials();
  state.forgetCredentials();
  assert.equal(state.readCredentials(), undefined);
});

test("a directory that others can read is closed to them", () => {
  const path = join(directory, "open");
  mkdirSync(path);
  chmodSync(path, 0o755);
  openState(path);
  assert.equal(statSync(path).mode & 0o777, 0o700);
});

test("damaged credentials are an error that says what to do", () => {
  const path = join(directory, "damaged");
  const state = openState(path);
  for (const text of ["", "{", "{}", JSON.stringify({ ...credentials, seed: 1 })]) {
    writeFileSync(join(path, "credentials.json"), text);
    assert.throws(() => state.readCredentials(), StateError);
  }
});

test("the machine id stays, and differs between directories of one machine", () => {
  const [one, other] = ["one", "other"].map((name) => join(directory, name));
  assert.equal(openState(one!).machineId, openState(one!).machineId);
  assert.notEqual(openState(one!).machineId, openState(other!).machineId);
});

test("an id that would lead elsewhere names no journal", () => {
  const state = openState(join(directory, "journals"));
  assert.throws(() => state.journalPath("../x"), StateError);
});
