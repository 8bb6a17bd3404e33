import assert from "node:assert/strict";
import { test } from "node:test";
import { childEnvironment } from "./environment.ts";

test("what the daemon starts gets named variables and nothing else (T2)", () => {
  const own = {
    HOME: "/srv/ada",
    PATH: "/usr/bin",
    LC_ALL: "C.UTF-8",
    HAWSER_TOKEN: "hwp_secret",
    HAWSER_HOME: "/srv/ada/.hawser",
    AWS_SECRET_ACCESS_KEY: "secret",
    ANTHROPIC_API_KEY: "secret",
    NODE_OPTIONS: "--require /tmp/evil.js",
    LD_PRELOAD: "/tmp/evil.so",
    GIT_SSH_COMMAND: "evil",
    SSH_AUTH_SOCK: "/run/agent",
    NODE_EXTRA_CA_CERTS: "/etc/ssl/company.pem",
    HTTPS_PROXY: "http://proxy.example:3128",
    no_proxy: "hawser.example",
  };
  assert.deepEqual(childEnvironment({ HAWSER_AGENT: "7" }, own), {
    HOME: "/srv/ada",
    PATH: "/usr/bin",
    LC_ALL: "C.UTF-8",
    NODE_EXTRA_CA_CERTS: "/etc/ssl/company.pem",
    HTTPS_PROXY: "http://proxy.example:3128",
    no_proxy: "hawser.example",
    HAWSER_AGENT: "7",
  });
});
