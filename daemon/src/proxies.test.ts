// A host behind a company's proxy, which also replaces certificates: pairing, the link and downloads work
// with the variables that every program of the machine uses.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { makeCertificate } from "@hawser/testkit/certificate-authority.ts";
import { startConnectProxy } from "@hawser/testkit/connect-proxy.ts";
import { mainFile } from "@hawser/testkit/main-file.ts";
import { startSmallControlPlane } from "@hawser/testkit/small-control-plane.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { until } from "@hawser/testkit/until.ts";
import { openState } from "./state/state.ts";

const main = mainFile("daemon");

function start(t: TestContext, environment: Record<string, string>, args: string[]) {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env["PATH"], ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => stopProcess(child, "SIGKILL"));
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return {
    output: () => output,
    ended: once(child, "close").then(([code]) => ({ code: Number(code), output })),
  };
}

async function listen(t: TestContext, server: Server | ReturnType<typeof createTlsServer>) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const pairing = ["--token", "hwp_0123456789abcdef0123456789abcdef"];

test("a host pairs and links through a proxy, with the certificates of its own authority", async (t) => {
  await using control = await startSmallControlPlane();
  const name = "hawser.example";
  const { authorityFile, key, certificate } = makeCertificate(control.directory, [name]);
  const target = Number(new URL(control.baseUrl).port);
  const tls = createTlsServer({ key, cert: certificate }, (socket) => {
    const service = connect(target, "127.0.0.1");
    socket.pipe(service).pipe(socket);
    for (const each of [socket, service]) {
      each.on("error", () => {});
      each.on("close", () => [socket, service].forEach((one) => one.destroy()));
    }
  });
  await using proxy = await startConnectProxy([name], await listen(t, tls));
  const state = join(control.directory, "state");
  const pair = [main, "pair", "--server", `https://${name}`, ...pairing, "--state", state];
  const environment = { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: authorityFile };
  const { NODE_EXTRA_CA_CERTS: _, ...unsure } = environment;
  assert.equal((await start(t, {}, pair).ended).code, 1, "without the proxy");
  assert.equal((await start(t, unsure, pair).ended).code, 1, "without the authority");
  const paired = await start(t, environment, pair).ended;
  assert.equal(paired.code, 0, paired.output);
  await control.startFabric();
  const daemon = start(t, environment, [main, "run", "--state", state]);
  await until("the daemon said hello", () => control.told.length > 0, 60_000).catch(() => {
    throw new Error(daemon.output());
  });
  assert.equal(openState(state).readCredentials()!.serverUrl, `https://${name}`);
});

test("a service on this machine is reached without the proxy", async (t) => {
  await using control = await startSmallControlPlane();
  await using proxy = await startConnectProxy([], 1);
  const state = join(control.directory, "state");
  const pair = [main, "pair", "--server", control.baseUrl, ...pairing, "--state", state];
  for (const environment of [
    { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url },
    { http_proxy: proxy.url, NO_PROXY: "registry.example" },
  ]) {
    const paired = await start(t, environment, pair).ended;
    assert.equal(paired.code, 0, paired.output);
  }
  await control.startFabric();
  start(t, { HTTP_PROXY: proxy.url }, [main, "run", "--state", state]);
  await until("the daemon said hello", () => control.told.length > 0, 60_000);
});

test("a package of an agent is downloaded through the proxy", async (t) => {
  await using control = await startSmallControlPlane();
  const name = "registry.example";
  const { authorityFile, key, certificate } = makeCertificate(control.directory, [name]);
  const bytes = Buffer.from("a package");
  const registry = createServer({ key, cert: certificate }, (_, response) => response.end(bytes));
  await using proxy = await startConnectProxy([name], await listen(t, registry));
  const file = join(control.directory, "package.tgz");
  const wanted = {
    url: `https://${name}/agent.tgz`,
    file,
    size: bytes.length,
    sha512: createHash("sha512").update(bytes).digest("base64"),
  };
  const script = `
    import { useProxies } from ${JSON.stringify(join(import.meta.dirname, "proxies.ts"))};
    import { download } from ${JSON.stringify(join(import.meta.dirname, "installs/download.ts"))};
    useProxies();
    const signal = AbortSignal.timeout(30_000);
    await download({ ...${JSON.stringify(wanted)}, onBytes() {}, signal });
    process.exit(0);`;
  const environment = { https_proxy: proxy.url, NODE_EXTRA_CA_CERTS: authorityFile };
  const done = await start(t, environment, ["--input-type=module", "-e", script]).ended;
  assert.equal(done.code, 0, done.output);
  assert.deepEqual(readFileSync(file), bytes);
});
