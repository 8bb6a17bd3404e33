// The settings of a node, as an operator writes them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, describeSettings, readConfig, readEdgeConfig } from "./config.ts";

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

test("metrics have an address by default, and none if they are off", () => {
  assert.equal(readConfig(database).metricsListen?.port, 9090);
  const off = readConfig({ ...database, HAWSER_METRICS_LISTEN: "off" });
  assert.equal(off.metricsListen, undefined);
});

for (const [environment, problem] of [
  [
    { HAWSER_DATABASE_URL: "nonsense" },
    "HAWSER_DATABASE_URL: must be an address such as postgres:",
  ],
  [{ HAWSER_LISTEN: "8080" }, "HAWSER_LISTEN: must be host:port, such as 127.0.0.1:8080"],
  [{ HAWSER_LISTEN: "127.0.0.1:99999" }, "HAWSER_LISTEN: must have a port of at most 65535"],
  [{ HAWSER_METRICS_LISTEN: "no" }, "HAWSER_METRICS_LISTEN: must be host:port, such as"],
  [{ HAWSER_RATE_BURST: "many" }, "HAWSER_RATE_BURST: must be a number"],
  [{ HAWSER_RATE_BURST: "0" }, "HAWSER_RATE_BURST: must be at least 1"],
  [{ HAWSER_RATE_PER_SECOND: "0" }, "HAWSER_RATE_PER_SECOND: must be above 0"],
  [{ HAWSER_DRAIN_SECONDS: "900" }, "HAWSER_DRAIN_SECONDS: must be at most 300"],
  [{ HAWSER_HOST_TOKEN_SECONDS: "1.5" }, "HAWSER_HOST_TOKEN_SECONDS: must be a whole number"],
  [{ HAWSER_LOG_LEVEL: "loud" }, "HAWSER_LOG_LEVEL: must be one of debug, info, warn"],
  ...[
    "10.1.0.0",
    "10.1.0.0/33",
    "10.1.0.0/",
    "fd00::/129",
    "net/8",
    "10.1.0.0/8/8",
    "10.1.0.0/-1",
  ].map(
    (network) =>
      [
        { HAWSER_WEBHOOK_NETWORKS: `fd00::/8,${network}` },
        `HAWSER_WEBHOOK_NETWORKS: must be networks such as 10.1.0.0/16; ${network} is none`,
      ] as const,
  ),
  [{ HAWSER_AGENT_PACKAGES: "mirror" }, "HAWSER_AGENT_PACKAGES: must be an https:// address"],
  [
    { HAWSER_EXPOSURE_DOMAIN: "https://exposures.example" },
    "HAWSER_EXPOSURE_DOMAIN: must be a domain such as exposures.example",
  ],
  [
    { HAWSER_NODE_LISTEN: "0.0.0.0:9000" },
    "HAWSER_NODE_LISTEN: must be the address at which the other nodes reach this one",
  ],
] as const) {
  test(`${JSON.stringify(environment)} is refused with words for an operator`, () => {
    assert.throws(
      () => readConfig({ ...database, ...environment }),
      (error) => error instanceof ConfigError && error.message.includes(problem),
    );
  });
}

test("networks for webhooks are a list, and none by default", () => {
  const networks = (text?: string) =>
    readConfig({ ...database, ...(text !== undefined && { HAWSER_WEBHOOK_NETWORKS: text }) })
      .webhookNetworks;
  assert.deepEqual(networks(), []);
  assert.deepEqual(networks("10.1.0.0/16, fd00::/8"), ["10.1.0.0/16", "fd00::/8"]);
});

test("a setting that is missing is named, and --help shows defaults", () => {
  const required = (name: string) => ({ message: new RegExp(`\\n  ${name}: is required$`) });
  assert.throws(() => readConfig({}), required("HAWSER_DATABASE_URL"));
  assert.throws(() => readEdgeConfig({}), required("HAWSER_EDGE_FILE"));
  assert.match(describeSettings(), /HAWSER_DATABASE_URL \(required\)\n/);
  assert.match(describeSettings(), /HAWSER_LISTEN \(default 127\.0\.0\.1:8080\)\n/);
});

test("exposures have a domain, or loopback ports of a node at loopback, or no address", () => {
  const door = (environment: Record<string, string>) =>
    readConfig({ ...database, ...environment }).exposures.door;
  const remote = { HAWSER_BASE_URL: "https://hawser.example" };
  assert.equal(door({}), "loopback");
  assert.equal(door(remote), undefined);
  assert.deepEqual(door({ ...remote, HAWSER_EXPOSURE_DOMAIN: "exposures.example" }), {
    domain: "exposures.example",
    listen: { host: "127.0.0.1", port: 8082 },
  });
});
