// No credential in an address survives (T10).
import assert from "node:assert/strict";
import { test } from "node:test";
import { redactCredentials, showRemote } from "./redact.ts";

for (const [text, shown] of [
  ["https://ada:hunter2@h/r.git", "https://h/r.git"],
  ["https://hunter2@h/r.git", "https://h/r.git"],
  ["https://ada:hun@ter2@h/r.git", "https://h/r.git"],
  ["https://ada:hun/ter2@h/r.git", "https://h/r.git"],
  ["https://:hunter2@h:8443/r.git", "https://h:8443/r.git"],
  ["HTTPS://ada:hunter2@h/r.git", "HTTPS://h/r.git"],
  ["ssh://ada:hunter2@h/r.git", "ssh://h/r.git"],
  ["ssh://git@h/r.git", "ssh://git@h/r.git"],
  ["https://h:8443/@scope/r.git", "https://h:8443/@scope/r.git"],
  ["https://h/@scope/r.git", "https://h/@scope/r.git"],
  [
    "fatal: 'https://a:hunter2@h/' and 'http://b:hunter2@h/'",
    "fatal: 'https://h/' and 'http://h/'",
  ],
] as const) {
  test(`${text} is shown as ${shown}`, () => assert.equal(redactCredentials(text), shown));
}

for (const [address, shown] of [
  ["git@h:r.git", "git@h:r.git"],
  ["ada:hunter2@h:r.git", "h:r.git"],
  ["/srv/r.git", "/srv/r.git"],
  ["https://h/r.git?token=hunter2", "https://h/r.git"],
  ["", null],
  ["https://h/\u001b[31m", null],
] as const) {
  test(`the remote ${JSON.stringify(address)} is shown as ${shown}`, () =>
    assert.equal(showRemote(address), shown));
}
