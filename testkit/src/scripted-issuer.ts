// An OpenID Connect issuer that a test makes lie: it answers whatever the test sets, and signs id tokens correctly,
// wrongly or not at all.
import { createHmac, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Returns JSON for the answer, or writes the answer itself and returns undefined. */
export type ScriptedAnswer = (response: ServerResponse) => unknown;

export interface ScriptedIssuer extends AsyncDisposable {
  issuer: string;
  /** The discovery document that is right. */
  document: Record<string, unknown>;
  /** The public key of the right signing key. */
  publicKey: KeyObject;
  /** Answers by path: `discovery`, `keys`, `token` and `userinfo`. A test replaces them. */
  answers: Record<"discovery" | "keys" | "token" | "userinfo", ScriptedAnswer>;
  /** Paths of all requests, in order. */
  paths: string[];
  /** A signed token. RS256 with the right key by default. */
  signToken: (claims: object, by?: { alg?: string; key?: KeyObject | Buffer }) => string;
}

const discoveryPath = "/.well-known/openid-configuration";

export async function startScriptedIssuer(): Promise<ScriptedIssuer> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const document = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    userinfo_endpoint: `${issuer}/userinfo`,
    scopes_supported: ["openid", "offline_access"],
    token_endpoint_auth_methods_supported: ["client_secret_post"],
  };
  const scripted: ScriptedIssuer = {
    issuer,
    document,
    publicKey,
    answers: {
      discovery: () => document,
      keys: () => ({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "key", use: "sig" }] }),
      token: () => ({}),
      userinfo: () => ({}),
    },
    paths: [],
    signToken: (claims, { alg = "RS256", key = privateKey } = {}) => {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
      const text = `${part({ alg, kid: "key" })}.${part(claims)}`;
      if (alg === "none") return `${text}.`;
      const signature = alg.startsWith("HS")
        ? createHmac("sha256", key).update(text).digest()
        : sign("sha256", Buffer.from(text), key);
      return `${text}.${signature.toString("base64url")}`;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
  server.on("request", (request, response) => {
    const path = request.url!;
    scripted.paths.push(path);
    request.resume();
    const name = path === discoveryPath ? "discovery" : path.slice(1);
    const value = scripted.answers[name as keyof ScriptedIssuer["answers"]](response);
    if (value === undefined) return;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
  });
  return scripted;
}
