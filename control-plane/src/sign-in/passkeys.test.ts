// Passkeys of Chromium's own device, made and used in a real page (T29).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { openBrowser, type BrowserPage } from "@hawser/testkit/browser.ts";
import {
  addVirtualAuthenticator,
  type VirtualAuthenticator,
} from "@hawser/testkit/virtual-authenticator.ts";
import { isoCBOR } from "@simplewebauthn/server/helpers";
import { createPasskeys, type Passkey, type Passkeys } from "./passkeys.ts";

const servers: Server[] = [];
let browser: BrowserPage;
let device: VirtualAuthenticator;
let origin: string;
let passkeys: Passkeys;
const ada = { userId: "usr_ada", email: "ada@example.com", name: "Ada Lovelace", passkeys: [] };

async function servePage(): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>x</title>");
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

before(async () => {
  origin = await servePage();
  passkeys = createPasskeys(origin)!;
  browser = await openBrowser({ username: "", password: "" });
  await browser.page.goto(origin);
  device = await addVirtualAuthenticator(browser.page);
});
beforeEach(() => device.forget());
after(async () => {
  await browser[Symbol.asyncDispose]();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

/** What a page sends, of which tests change parts. */
interface Sent {
  id: string;
  rawId: string;
  response: Record<string, unknown>;
}

async function beginRegistration(user: Parameters<Passkeys["beginRegistration"]>[0]) {
  const { options, challenge } = await passkeys.beginRegistration(user);
  return { response: (await device.register(options)) as Sent, challenge };
}

async function register(): Promise<Passkey> {
  const { response, challenge } = await beginRegistration(ada);
  const passkey = await passkeys.finishRegistration(response, challenge);
  assert.ok(passkey);
  return passkey;
}

async function beginSignIn(at = passkeys) {
  const { options, challenge } = await at.beginSignIn();
  return { response: (await device.signIn(options)) as Sent, challenge };
}

test("a person registers a passkey, and signs in with it without a name", async () => {
  const passkey = await register();
  assert.ok(passkey.publicKey.length > 32);
  assert.deepEqual(passkey.transports, ["internal"]);
  const { response, challenge } = await beginSignIn();
  assert.equal(passkeys.credentialIdOf(response), passkey.credentialId);
  const first = await passkeys.finishSignIn(response, challenge, passkey);
  assert.ok(first && first.counter > passkey.counter);
  const again = await beginSignIn();
  const next = { ...passkey, ...first };
  assert.ok((await passkeys.finishSignIn(again.response, again.challenge, next))!.counter > first.counter); // oxfmt-ignore
});

test("the options demand a passkey that the device keeps, its owner's consent, and no attestation", async () => {
  const { options, challenge } = await passkeys.beginRegistration(ada);
  const { rp, user, authenticatorSelection, attestation, pubKeyCredParams } = options as Record<string, unknown>; // oxfmt-ignore
  assert.deepEqual(rp, { name: "Hawser", id: "localhost" });
  assert.deepEqual(user, {
    id: Buffer.from("usr_ada").toString("base64url"),
    name: "ada@example.com",
    displayName: "Ada Lovelace",
  });
  assert.deepEqual(authenticatorSelection, {
    residentKey: "required",
    requireResidentKey: true,
    userVerification: "required",
  });
  assert.equal(attestation, "none");
  assert.deepEqual((pubKeyCredParams as { alg: number }[]).map(({ alg }) => alg), [-8, -7, -257]); // oxfmt-ignore
  assert.ok(Buffer.from(challenge, "base64url").length >= 32);
  const signIn = await passkeys.beginSignIn();
  const asked = signIn.options as Record<string, unknown>;
  assert.deepEqual([asked["userVerification"], asked["rpId"]], ["required", "localhost"]);
  assert.equal(asked["allowCredentials"], undefined);
  assert.notEqual(challenge, (await passkeys.beginRegistration(ada)).challenge);
});

test("a response to another challenge is refused", async () => {
  const { challenge: other } = await passkeys.beginSignIn();
  const registration = await beginRegistration(ada);
  assert.equal(await passkeys.finishRegistration(registration.response, other), undefined);
  const passkey = await register();
  const { response, challenge } = await beginSignIn();
  assert.equal(await passkeys.finishSignIn(response, other, passkey), undefined);
  assert.equal(await passkeys.finishSignIn(response, "", passkey), undefined);
  assert.ok(await passkeys.finishSignIn(response, challenge, passkey));
});

test("a response of a page of another origin is refused, although its host is the same", async () => {
  const other = await servePage();
  await browser.page.goto(other);
  const registration = await beginRegistration(ada);
  const signIn = await beginSignIn();
  await browser.page.goto(origin);
  const { response, challenge } = registration;
  assert.equal(await passkeys.finishRegistration(response, challenge), undefined);
  const there = createPasskeys(other)!;
  const passkey = await there.finishRegistration(response, challenge);
  assert.ok(passkey, "only the origin differs");
  assert.equal(await passkeys.finishSignIn(signIn.response, signIn.challenge, passkey), undefined);
  assert.ok(await there.finishSignIn(signIn.response, signIn.challenge, passkey));
});

test("a response for another name is refused", async () => {
  const { response, challenge } = await beginRegistration(ada);
  const elsewhere = createPasskeys("https://hawser.example")!;
  assert.equal(await elsewhere.finishRegistration(response, challenge), undefined);
});

test("a count that goes back or stands still is refused: the passkey was copied", async () => {
  const passkey = await register();
  const { response, challenge } = await beginSignIn();
  const { counter } = (await passkeys.finishSignIn(response, challenge, passkey))!;
  const same = { ...passkey, counter };
  assert.equal(await passkeys.finishSignIn(response, challenge, same), undefined);
  const later = { ...passkey, counter: counter + 100 };
  const next = await beginSignIn();
  assert.equal(await passkeys.finishSignIn(next.response, next.challenge, later), undefined);
  await device.setCounter(later.counter);
  const recent = await beginSignIn();
  assert.ok(await passkeys.finishSignIn(recent.response, recent.challenge, later));
});

test("an excluded passkey's device does not register a second time", async () => {
  const passkey = await register();
  const user = { ...ada, passkeys: [passkey] };
  await assert.rejects(beginRegistration(user), /InvalidStateError/);
});

test("a sign-in is refused with another person's passkey, and with a changed response", async () => {
  const other = await register();
  await device.forget();
  const passkey = await register();
  const { response, challenge } = await beginSignIn();
  assert.equal(await passkeys.finishSignIn(response, challenge, other), undefined);
  const renamed = { ...other, credentialId: passkey.credentialId };
  assert.equal(await passkeys.finishSignIn(response, challenge, renamed), undefined);
  for (const part of ["signature", "authenticatorData", "clientDataJSON"]) {
    const bytes = Buffer.from(response.response[part] as string, "base64url");
    bytes[bytes.length - 1]! ^= 1;
    const changed = { ...response.response, [part]: bytes.toString("base64url") };
    const sent = { ...response, response: changed };
    assert.equal(await passkeys.finishSignIn(sent, challenge, passkey), undefined, part);
  }
  assert.ok(await passkeys.finishSignIn(response, challenge, passkey));
});

test("a response has to name the passkey that it was made with", async () => {
  const registration = await beginRegistration(ada);
  const renamed = { id: "AAAA", rawId: "AAAA" };
  const registered = { ...registration.response, ...renamed };
  assert.equal(await passkeys.finishRegistration(registered, registration.challenge), undefined);
  const passkey = await passkeys.finishRegistration(registration.response, registration.challenge);
  const { response, challenge } = await beginSignIn();
  const signedIn = { ...response, ...renamed };
  assert.equal(await passkeys.finishSignIn(signedIn, challenge, passkey!), undefined);
});

test("a person whom the device has not verified is refused", async () => {
  const passkey = await register();
  const { options, challenge } = await passkeys.beginSignIn();
  await device.setVerified(false);
  const response = await device.signIn({ ...options, userVerification: "discouraged" });
  await device.setVerified(true);
  assert.equal(passkeys.credentialIdOf(response), passkey.credentialId);
  assert.equal(await passkeys.finishSignIn(response, challenge, passkey), undefined);
});

test("what was made in a frame of another site's page is refused", async () => {
  const { response, challenge } = await beginRegistration(ada);
  const text = Buffer.from(response.response["clientDataJSON"] as string, "base64url").toString();
  const clientDataJSON = Buffer.from(
    JSON.stringify({ ...(JSON.parse(text) as object), crossOrigin: true }),
  ).toString("base64url");
  // Without an attestation nothing signs the client's data of a registration.
  const framed = { ...response, response: { ...response.response, clientDataJSON } };
  assert.equal(await passkeys.finishRegistration(framed, challenge), undefined);
  assert.ok(await passkeys.finishRegistration(response, challenge));
});

test("a registration with certificates is refused, so that no address in them is asked", async () => {
  const { options, challenge } = await passkeys.beginRegistration(ada);
  const response = (await device.register({ ...options, attestation: "direct" })) as Sent;
  const bytes = Buffer.from(response.response["attestationObject"] as string, "base64url");
  const decoded = isoCBOR.decodeFirst<Map<string, unknown>>(new Uint8Array(bytes));
  assert.ok((decoded.get("attStmt") as Map<string, unknown>).has("x5c"));
  assert.equal(await passkeys.finishRegistration(response, challenge), undefined);
  const format = (fmt: string) => {
    decoded.set("fmt", fmt).set("attStmt", new Map());
    const attestationObject = Buffer.from(isoCBOR.encode(decoded as never)).toString("base64url");
    return { ...response, response: { ...response.response, attestationObject } };
  };
  for (const other of ["apple", "tpm", "unknown"]) {
    assert.equal(await passkeys.finishRegistration(format(other), challenge), undefined, other);
  }
  assert.ok(await passkeys.finishRegistration(format("none"), challenge));
});

test("passkeys belong to a name, so an address has none", () => {
  for (const address of ["http://127.0.0.1:8080", "https://192.0.2.1", "http://[::1]:8080"]) {
    assert.equal(createPasskeys(address), undefined, address);
  }
  assert.ok(createPasskeys("https://hawser.example:8443/"));
});

test("anything else than a response is refused, at once and without an error", async () => {
  const passkey = await register();
  const good = await beginSignIn();
  const { response: registration } = await beginRegistration(ada);
  const long = "A".repeat(1_000_000);
  const deep = nested(100_000);
  // A list in a list, and so on: the decoder of devices' data must not exhaust the stack.
  const deepCbor = Buffer.alloc(24_000, 0x81).toString("base64url");
  const { id, rawId } = good.response;
  const shell = { id, rawId, type: "public-key" };
  const part = { clientDataJSON: "e30", attestationObject: "oA", authenticatorData: "AA", signature: "AA" }; // oxfmt-ignore
  const garbage: unknown[] = [
    null, undefined, 0, 1, NaN, "", "x", long, true, [], {}, [good.response], deep,
    { id: long }, { ...shell, response: null }, { ...shell, response: deep }, { ...shell, response: part },
    { ...shell, id: 1, response: part }, { ...shell, rawId: "AAAA", response: part },
    ...[good.response, registration].flatMap((response) =>
      ["clientDataJSON", "attestationObject", "authenticatorData", "signature"].flatMap((name) =>
        [null, 1, "", "{", "bnVsbA", "MQ", deepCbor, long, deep, "é", "A".repeat(8_000)].map((value) => ({
          ...response, response: { ...response.response, [name]: value },
        })).filter((_, at) => at >= 0 && name in response.response))),
    Object.create(null), new Map(), () => {}, Symbol("x"), 1n,
  ]; // oxfmt-ignore
  const startedAt = process.cpuUsage();
  for (const json of garbage) {
    assert.equal(await passkeys.finishRegistration(json, good.challenge), undefined);
    assert.equal(await passkeys.finishSignIn(json, good.challenge, passkey), undefined);
    assert.doesNotThrow(() => passkeys.credentialIdOf(json));
  }
  assert.ok(process.cpuUsage(startedAt).user < 2_000_000);
  const broken = { ...passkey, publicKey: createHash("sha256").digest() };
  assert.equal(await passkeys.finishSignIn(good.response, good.challenge, broken), undefined);
  assert.ok(await passkeys.finishSignIn(good.response, good.challenge, passkey));
});

function nested(depth: number): object {
  let value: object = {};
  for (let at = 0; at < depth; at++) value = { response: value };
  return value;
}
