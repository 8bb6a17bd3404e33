// Requests to providers that answer late, endlessly, or not with HTTP.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer as createHttpsServer } from "node:https";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { makeCertificate } from "@hawser/testkit/certificate-authority.ts";
import { startScriptedIssuer } from "@hawser/testkit/scripted-issuer.ts";
import { createAddresses } from "../webhooks/addresses.ts";
import { createProviders, type ProviderSettings } from "./provider.ts";

const redirectUri = "http://127.0.0.1:9/sign-in/callback";
const addresses = createAddresses(["127.0.0.1/32"]);
const settingsOf = (issuer: string): ProviderSettings => ({
  issuer,
  clientId: "hawser",
  clientSecret: "secret",
  groupsClaim: null,
});

/** Discovery with a server that only knows sockets. */
async function beginAt(answer: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const began = performance.now();
  try {
    await createProviders({ addresses }).begin(settingsOf(`http://127.0.0.1:${port}`), redirectUri);
    return assert.fail("the sign-in has begun");
  } catch (error) {
    const { code, detail } = error as { code: string; detail: string | null };
    return { code, detail, tookMs: performance.now() - began };
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

const late: Record<string, (socket: Socket) => void> = {
  "never answers": () => {},
  "sends a header now and then": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    every(500, socket, "x: 1\r\n");
  },
  "sends one byte of its answer now and then": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
    every(500, socket, " ");
  },
};

function every(ms: number, socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), ms);
  socket.on("close", () => clearInterval(timer));
}

suite("an operation is given up after ten seconds", { concurrency: true }, () => {
  for (const [what, answer] of Object.entries(late)) {
    test(`if the provider ${what}`, async () => {
      const { tookMs, ...refusal } = await beginAt(answer);
      assert.deepEqual(refusal, { code: "unreachable", detail: "timeout" });
      assert.ok(tookMs > 9_500 && tookMs < 12_000, `${tookMs} ms`);
    });
  }

  test("with all its requests", async () => {
    await using issuer = await startScriptedIssuer();
    issuer.answers.token = (response) => {
      const tokens = { access_token: "a", token_type: "bearer", refresh_token: "next" };
      setTimeout(() => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(tokens)), 7_000); // oxfmt-ignore
    };
    issuer.answers.userinfo = () => undefined;
    const began = performance.now();
    const settings = { ...settingsOf(issuer.issuer), groupsClaim: "groups" };
    const refreshed = await createProviders({ addresses }).refresh(settings, "token", "ada");
    const tookMs = performance.now() - began;
    assert.ok(tookMs > 9_500 && tookMs < 12_000, `${tookMs} ms`);
    // The provider has replaced the refresh token, so the new one is reported although the groups are not known.
    assert.deepEqual(refreshed, { state: "valid", refreshToken: "next", groups: null });
  });
});

const odd: Record<string, [answer: string, code: string]> = {
  "an upgrade": ["HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "unreachable"],
  "endless interim answers": ["HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100_000), "unreachable"],
  "something else than HTTP": ["SSH-2.0-x\r\n", "unreachable"],
  "a page": ["HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>", "answer_unreadable"],
  nothing: ["HTTP/1.1 204 No Content\r\n\r\n", "answer_unreadable"],
  "a status that does not exist": ["HTTP/1.1 999 X\r\ncontent-length: 0\r\n\r\n", "unreachable"],
  "an error of its own": ["HTTP/1.1 503 X\r\ncontent-length: 0\r\n\r\n", "unreachable"],
  "too many requests": ["HTTP/1.1 429 X\r\ncontent-length: 0\r\n\r\n", "unreachable"],
};
for (const [what, [text, expected]] of Object.entries(odd)) {
  test(`a provider that answers with ${what}: ${expected}`, async () => {
    const startedAt = process.cpuUsage();
    const { code, tookMs } = await beginAt((socket) => socket.write(text));
    assert.equal(code, expected);
    assert.ok(tookMs < 5_000, `${tookMs} ms`);
    assert.ok(process.cpuUsage(startedAt).user < 1_000_000);
  });
}

test("of an answer of 10 MB only the first is read", async () => {
  let written = 0;
  const { code, detail } = await beginAt((socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 10000000\r\n\r\n");
    const more = () => {
      if (socket.destroyed || written >= 10_000_000) return;
      written += 65_536;
      if (socket.write(Buffer.alloc(65_536, " "))) setImmediate(more);
      else socket.once("drain", more);
    };
    more();
  });
  assert.deepEqual([code, detail], ["answer_unreadable", "too large"]);
  assert.ok(written < 9_000_000, `${written} bytes`);
});

test("a provider with a large document is asked each time, and one of many is forgotten", async () => {
  await using issuer = await startScriptedIssuer();
  const providers = createProviders({ addresses });
  issuer.answers.discovery = () => ({ ...issuer.document, more: "x".repeat(100_000) });
  for (let at = 0; at < 2; at++) await providers.begin(settingsOf(issuer.issuer), redirectUri);
  assert.equal(issuer.paths.length, 2);

  issuer.answers.discovery = () => issuer.document;
  issuer.paths.length = 0;
  const clients = Array.from({ length: 201 }, (_, at) => `client-${at}`);
  for (const clientId of [...clients, clients.at(-1)!, clients[0]!]) {
    await providers.begin({ ...settingsOf(issuer.issuer), clientId }, redirectUri);
  }
  assert.equal(issuer.paths.length, 202);
});

/** An issuer with https, whose certificate is for provider.example only. */
async function startSecureIssuer(change: (document: Record<string, string>) => object) {
  const directory = await mkdtemp(join(tmpdir(), "hawser-issuer-"));
  const { authorityFile, key, certificate } = makeCertificate(directory, ["provider.example"]);
  const server = createHttpsServer({ key, cert: certificate }, (request, response) => {
    const issuer = `https://${request.headers.host}`;
    response.end(JSON.stringify(change({ issuer, authorization_endpoint: `${issuer}/authorize` })));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    authority: await readFile(authorityFile, "utf8"),
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true });
    },
  };
}

test("a provider's certificate has to be trusted, and for its name", async () => {
  await using issuer = await startSecureIssuer((document) => document);
  const named = createAddresses(["127.0.0.1/32"], () => Promise.resolve(["127.0.0.1"]));
  const begin = (name: string) =>
    createProviders({ addresses: named }).begin(
      settingsOf(`https://${name}:${issuer.port}`),
      redirectUri,
    );
  const code = "unreachable";
  await assert.rejects(begin("provider.example"), { code, detail: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" }); // oxfmt-ignore
  const authorities = getCACertificates("default");
  setDefaultCACertificates([...authorities, issuer.authority]);
  try {
    const { url } = await begin("provider.example");
    assert.ok(url.startsWith(`https://provider.example:${issuer.port}/authorize?`));
    for (const name of ["other.example", "127.0.0.1"]) {
      await assert.rejects(begin(name), { code, detail: "ERR_TLS_CERT_ALTNAME_INVALID" });
    }
  } finally {
    setDefaultCACertificates(authorities);
  }
});

test("an issuer with https does not lead to http, not even in the operator's networks", async () => {
  await using insecure = await startScriptedIssuer();
  await using issuer = await startSecureIssuer((document) => ({
    ...document,
    token_endpoint: `${insecure.issuer}/token`,
  }));
  const named = createAddresses(["127.0.0.1/32"], () => Promise.resolve(["127.0.0.1"]));
  const authorities = getCACertificates("default");
  setDefaultCACertificates([...authorities, issuer.authority]);
  try {
    const settings = settingsOf(`https://provider.example:${issuer.port}`);
    const providers = createProviders({ addresses: named });
    const { pending } = await providers.begin(settings, redirectUri);
    const callback = new URL(`${redirectUri}?code=x&state=${pending.state}`);
    const finished = providers.finish(settings, callback, pending);
    await assert.rejects(finished, { code: "address_not_allowed" });
    assert.deepEqual(insecure.paths, []);
  } finally {
    setDefaultCACertificates(authorities);
  }
});

test("if one of a name's addresses does not answer, the next is tried", async () => {
  await using issuer = await startScriptedIssuer();
  const both = createAddresses(["127.0.0.0/8"], () => Promise.resolve(["127.0.0.2", "127.0.0.1"]));
  const named = issuer.issuer.replace("127.0.0.1", "both.example");
  issuer.answers.discovery = () => ({ ...issuer.document, issuer: named });
  await createProviders({ addresses: both }).begin(settingsOf(named), redirectUri);
  assert.equal(issuer.paths.length, 1);
});
