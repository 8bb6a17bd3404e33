// The MCP project's own conformance suite against our door. It knows no API keys, so it talks to
// a forwarder that adds one and otherwise passes on what it is sent.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync } from "node:fs";
import { createServer, request as forward, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { requestCounter } from "@hawser/testkit/caller.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld();

// The package has no entry but its command line.
const binary = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"),
);

interface Check {
  id: string;
  status: string;
}

for (const suite of ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"]) {
  scenario(`The server passes the conformance scenario ${suite}`, [], async ({ world, caller }) => {
    await using forwarder = await startForwarder(world.baseUrl, caller.key);
    const { code, output, checks } = await conformance(forwarder.url, suite);
    assert.equal(code, 0, output);
    assert.ok(checks.length > 0, output);
    for (const check of checks) {
      assert.ok(["SUCCESS", "INFO"].includes(check.status), JSON.stringify(check));
    }
    assert.ok(
      checks.some(({ status }) => status === "SUCCESS"),
      output,
    );
    assert.ok(forwarder.forwarded() > 0);
  });
}

async function conformance(url: string, suite: string) {
  const directory = mkdtempSync(join(tmpdir(), "hawser-conformance-"));
  try {
    const args = ["server", "--url", url, "--scenario", suite, "--output-dir", directory];
    const child = spawn(process.execPath, [binary, ...args], { cwd: directory });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    }
    const [code] = (await once(child, "close")) as [number | null];
    const checks = globSync("**/checks.json", { cwd: directory }).flatMap(
      (file) => JSON.parse(readFileSync(join(directory, file), "utf8")) as Check[],
    );
    return { code, output, checks };
  } finally {
    removeDirectory(directory);
  }
}

/**
 * Adds the key. Where Host and Origin name the forwarder they are made to name the node; whatever
 * else they name reaches the node unchanged, so that its own checks are the ones that answer.
 */
async function startForwarder(baseUrl: string, key: string) {
  const counted = requestCounter.getStore();
  const target = new URL(baseUrl);
  let forwarded = 0;
  const server: Server = createServer((incoming, outgoing) => {
    forwarded += 1;
    if (counted) counted.requests += 1;
    const own = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` };
    headers.host = headers.host?.replace(own, target.host);
    if (headers.origin) headers.origin = headers.origin.replace(own, target.host);
    const { method = "GET", url = "/" } = incoming;
    const upstream = forward(new URL(url, target), { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    upstream.on("error", (error) => outgoing.destroy(error));
    incoming.pipe(upstream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/mcp`,
    forwarded: () => forwarded,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
