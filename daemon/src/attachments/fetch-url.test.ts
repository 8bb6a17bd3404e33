// Addresses that callers give: what is read, and what is never asked.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeCertificate } from "@hawser/testkit/certificate-authority.ts";
import { UrlRefused, fetchUrl, type UrlGuard } from "./fetch-url.ts";
import { isPublicAddress } from "./public-address.ts";

let folder: string;
let server: Server;
let port: number;
let ca: string;
let connections = 0;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "hawser-fetch-"));
  const made = makeCertificate(folder, ["localhost", "127.0.0.1"]);
  ca = readFileSync(made.authorityFile, "utf8");
  server = createServer({ key: made.key, cert: made.certificate }, (request, response) => {
    if (request.url === "/moved") return response.writeHead(302, { location: "/file" }).end();
    if (request.url === "/slow") return response.write("x");
    if (request.url === "/endless") {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", more);
      return more();
    }
    response.end("the file");
  });
  server.on("connection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
after(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

const open = (): UrlGuard => ({ mayReach: () => true, ports: [port], ca });
const get = (url: string, guard: UrlGuard, signal = AbortSignal.timeout(5_000)) =>
  fetchUrl({ url, path: join(folder, "out"), longest: 1_000_000, signal }, guard);

test("what is there is read into the file", async () => {
  assert.equal(await get(`https://localhost:${port}/file`, open()), 8);
  assert.equal(readFileSync(join(folder, "out"), "utf8"), "the file");
  rmSync(join(folder, "out"));
});

test("what it may not read is refused, and leaves nothing", async (t) => {
  const at = (path: string) => `https://localhost:${port}${path}`;
  const late = () => AbortSignal.timeout(300);
  const cases: [
    name: string,
    url: string,
    pattern: RegExp,
    guard?: UrlGuard | undefined,
    soon?: true,
  ][] = [
    ["not https", `http://localhost:${port}/file`, /Only https/],
    ["another port", "https://localhost/file", /Port 443/],
    ["a password", `https://a:b@localhost:${port}/file`, /password/],
    ["a redirect", at("/moved"), /Redirects are not followed/],
    ["endless", at("/endless"), /larger than/],
    ["slow", at("/slow"), /too long/, undefined, true],
    ["a certificate nobody trusts", at("/file"), /could not be read/, { ...open(), ca: "" }],
  ];
  for (const [name, url, pattern, guard = open(), soon] of cases) {
    await t.test(name, async () => {
      await assert.rejects(get(url, guard, soon && late()), (error) => {
        assert.ok(error instanceof UrlRefused);
        assert.match(error.message, pattern);
        return true;
      });
      assert.equal(existsSync(join(folder, "out")), false);
    });
  }
});

test("an address inside is never connected to, by name or by number", async () => {
  const before = connections;
  const guard = { mayReach: isPublicAddress, ports: [port], ca };
  for (const host of [
    "localhost",
    "127.0.0.1",
    "[::1]",
    "2130706433",
    "0x7f.1",
    "[::ffff:7f00:1]",
  ]) {
    await assert.rejects(get(`https://${host}:${port}/file`, guard), /does not lead|could not be/);
  }
  assert.equal(connections, before);
});

test("every address that a name has must be one outside", async () => {
  const asked: string[] = [];
  const guard = { ...open(), mayReach: (address: string) => (asked.push(address), false) };
  await assert.rejects(get(`https://localhost:${port}/file`, guard), /does not lead/);
  assert.ok(asked.length > 0, "looked at when the connection is made");
});

test("which addresses are outside", () => {
  for (const address of ["1.1.1.1", "172.32.0.1", "192.167.0.1", "2606:4700::1111"]) {
    assert.equal(isPublicAddress(address), true, address);
  }
  const inside =
    "0.0.0.0 10.1.2.3 100.64.0.1 127.8.8.8 169.254.169.254 172.16.0.1 192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 fe80::1 fc00::1 ::ffff:10.0.0.1 64:ff9b::a00:1 2002:a00:1:: 2001:db8::1 ff02::1 nonsense";
  for (const address of inside.split(" ")) assert.equal(isPublicAddress(address), false, address);
});
