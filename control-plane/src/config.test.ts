// The settings of a node, as an operator writes them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, readConfig } from "./config.ts";

const database = { HAWSER_DATABASE_URL: "postgres://127.0.0.1/hawser" };

for (const [environment, baseUrl] of [
  [{}, "http://127.0.0.1:8080"],
  [{ HAWSER_LISTEN: "[::1]:80" }, "http://[::1]:80"],
  [{ HAWSER_BASE_URL: "http://localhost:8080" }, "http://localhost:8080"],
  [
    { HAWSER_LISTEN: "0.0.0.0:8080", HAWSER_BASE_URL: "https://hawser.example/" },
    "https://hawser.example",
  ],
] as const) {
  test(`A20: ${JSON.stringify(environment)} announces ${baseUrl}`, () => {
    assert.equal(readConfig({ ...database, ...environment }).baseUrl, baseUrl);
  });
}

for (const environment of [
  { HAWSER_BASE_URL: "http://hawser.example" },
  { HAWSER_BASE_URL: "http://127.0.0.1.evil.example" },
  { HAWSER_BASE_URL: "ftp://127.0.0.1" },
  { HAWSER_LISTEN: "0.0.0.0:8080" },
  { HAWSER_LISTEN: "10.0.0.7:8080" },
]) {
  test(`A20: ${JSON.stringify(environment)} is refused: keys would travel unprotected`, () => {
    assert.throws(
      () => readConfig({ ...database, ...environment }),
      (error) => error instanceof ConfigError && /https:\/\/.*loopback/.test(error.message),
    );
  });
}
