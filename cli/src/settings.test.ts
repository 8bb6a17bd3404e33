import assert from "node:assert/strict";
import { chownSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { isRoot } from "@hawser/testkit/clean-user.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { dataDirectory, readLogin, writeSettings } from "./settings.ts";
import { removeStoredLogin, storeLogin } from "./stored-login.ts";

const place = mkdtempSync(join(tmpdir(), "hawser-settings-"));
after(() => removeDirectory(place));
beforeEach(() => {
  delete process.env["HAWSER_URL"];
  delete process.env["HAWSER_KEY"];
});

test("the data directory of another user is refused", { skip: !isRoot }, () => {
  const theirs = join(place, "theirs");
  mkdirSync(theirs);
  chownSync(theirs, 65_534, 65_534);
  assert.throws(() => dataDirectory(theirs), /belongs to another user/);
});

test("an own data directory is used, and one that does not exist", () => {
  for (const directory of [place, join(place, "new")]) {
    assert.equal(dataDirectory(directory), directory);
  }
});

const ports = { http: 7433, nats: 1, websocket: 2, monitor: 3 };

function serviceIn(name: string): string {
  const data = join(place, name);
  writeSettings(data, { url: "http://127.0.0.1:7433", ports, key: "hwk_owner" });
  return data;
}

test("HAWSER_KEY alone calls this machine's service with that key, never with the owner's", () => {
  const data = serviceIn("keys");
  const url = "http://127.0.0.1:7433";
  assert.deepEqual(readLogin(data), { url, key: "hwk_owner", isOwn: true });
  process.env["HAWSER_KEY"] = "hwk_narrow";
  assert.deepEqual(readLogin(data), { url, key: "hwk_narrow", isOwn: true });
  // A shell variable that a failed command left empty.
  process.env["HAWSER_KEY"] = "";
  assert.throws(() => readLogin(data), /HAWSER_KEY is empty/);
});

test("HAWSER_URL needs a key of its own", () => {
  const data = serviceIn("urls");
  process.env["HAWSER_URL"] = "https://hawser.example";
  assert.throws(() => readLogin(data), /HAWSER_KEY is not/);
  process.env["HAWSER_KEY"] = "hwk_other";
  const login = { url: "https://hawser.example", key: "hwk_other", isOwn: false };
  assert.deepEqual(readLogin(data), login);
});

test("commands reach an own service at its local address, also if it has a public one", () => {
  const data = join(place, "public");
  const publicUrl = "https://hawser.example";
  writeSettings(data, { url: publicUrl, publicUrl, listenHost: "0.0.0.0", ports, key: "hwk_own" });
  assert.deepEqual(readLogin(data), { url: "http://127.0.0.1:7433", key: "hwk_own", isOwn: true });
});

test("a login precedes this machine's own service, and the environment precedes both", () => {
  const data = serviceIn("logged-in");
  const stored = { url: "https://hawser.example", key: "hwk_mine", isOwn: false };
  storeLogin(data, { ...stored, apiKeyId: "key_1" });
  assert.deepEqual(readLogin(data), stored);
  process.env["HAWSER_KEY"] = "hwk_narrow";
  assert.deepEqual(readLogin(data), { ...stored, key: "hwk_narrow" });
  process.env["HAWSER_URL"] = "https://other.example";
  assert.equal(readLogin(data).url, "https://other.example");
  delete process.env["HAWSER_URL"];
  delete process.env["HAWSER_KEY"];
  removeStoredLogin(data);
  assert.equal(readLogin(data).key, "hwk_owner");
});
