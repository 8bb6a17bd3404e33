// A stand-in on loopback for the issuer of Claude's logins, for the real Claude Code: it exchanges codes for
// tokens, refreshes and revokes them, and reports the account. Claude Code reaches it through a proxy, under
// Anthropic's names, with a certificate of its own authority. Every other name is refused, so that a test
// never reaches the real issuer. All tokens are random texts that are made here.
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdtempSync } from "node:fs";
import { request as requestFrom, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { makeCertificate } from "./certificate-authority.ts";
import { startConnectProxy } from "./connect-proxy.ts";
import { removeDirectory } from "./remove-directory.ts";

export interface ClaudeIssuer extends AsyncDisposable {
  /** The environment with which Claude Code reaches and trusts the stand-in. */
  environment: Record<string, string>;
  /** Does what the person does in the browser. Returns the text that the page shows: `CODE#STATE`. */
  authorize(url: string, person?: Partial<Person>): string;
  /** One for each completed login, the oldest first. */
  grants: readonly Grant[];
  /** API keys that the models accept instead of a login. */
  apiKeys: Set<string>;
  /** Every request so far, as `POST host/path`. */
  requests: string[];
  /** A test changes how the issuer answers by changing these. */
  switches: Switches;
}

export interface Person {
  email: string;
  /** The organization's type, such as `claude_max`. Claude Code reports it as `max`. */
  plan: "claude_max" | "claude_pro" | "claude_team" | "claude_enterprise";
}

export interface Grant extends Person {
  refreshes: number;
  /** How often a refresh token was sent that an earlier refresh had replaced. The first revokes the grant. */
  reuses: number;
  revoked: boolean;
}

export interface Switches {
  /** Status with which every exchange of a code fails; undefined if it may succeed. */
  exchangeStatus: number | undefined;
  /** Whether the answer to an exchange contains a refresh token. */
  sendsRefreshToken: boolean;
  /** Time between making tokens and sending them. A process that is ended meanwhile loses them. */
  answerDelayMs: number;
  /** Lifetime of access tokens in seconds. Below 300, Claude Code refreshes them before every turn. */
  expiresIn: number;
}

export interface ClaudeIssuerOptions {
  /** Where requests to Anthropic's models are passed; undefined to refuse them. */
  modelUrl?: string;
}

interface Authorized extends Person {
  state: string | null;
  challenge: string | null;
  redirect: string | null;
  scope: string | null;
}

interface IssuedGrant extends Grant {
  /** Access tokens, with the time at which each expires. */
  access: Map<string, number>;
  refreshToken: string;
  replaced: Set<string>;
}

interface TokenRequest {
  grant_type?: string;
  client_id?: string;
  code?: string;
  code_verifier?: string;
  redirect_uri?: string;
  state?: string;
  refresh_token?: string;
  scope?: string;
  token?: string;
}

const tokenHost = "platform.claude.com";
const apiHost = "api.anthropic.com";
const clientId = "9d1c250a-e61b-44d9-88ed-5944d1962f5e";
const organization = { uuid: uuidOf("Example"), name: "Example" };

export async function startClaudeIssuer({
  modelUrl,
}: ClaudeIssuerOptions = {}): Promise<ClaudeIssuer> {
  await using startup = new AsyncDisposableStack();
  const place = mkdtempSync(join(tmpdir(), "hawser-issuer-"));
  startup.defer(() => removeDirectory(place));
  const { authorityFile, key, certificate } = makeCertificate(place, [tokenHost, apiHost]);
  // An agent may run as another OS user.
  chmodSync(place, 0o755);
  chmodSync(authorityFile, 0o644);

  const authorized = new Map<string, Authorized>();
  const grants: IssuedGrant[] = [];
  const apiKeys = new Set<string>();
  const requests: string[] = [];
  const closing = new AbortController();
  const switches: Switches = {
    exchangeStatus: undefined,
    sendsRefreshToken: true,
    answerDelayMs: 0,
    expiresIn: 28_800,
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const host = request.headers.host ?? "";
    const { pathname } = new URL(request.url ?? "/", `https://${host}`);
    const what = `${request.method} ${host}${pathname}`;
    requests.push(what);
    if (what === `POST ${tokenHost}/v1/oauth/token`) return answerToken(request, response);
    if (what === `POST ${tokenHost}/v1/oauth/token/revoke`) {
      const { token } = JSON.parse(await text(request)) as TokenRequest;
      for (const grant of grants) if (grant.refreshToken === token) grant.revoked = true;
      return send(response, 200, {});
    }
    if (host !== apiHost) return send(response, 404, {});
    const grant = liveGrant(request.headers.authorization);
    const isAdmitted = grant || apiKeys.has(String(request.headers["x-api-key"]));
    if (isAdmitted && pathname.startsWith("/v1/messages") && modelUrl !== undefined) {
      return passOn(request, response, new URL(request.url ?? "/", modelUrl));
    }
    if (!grant) {
      const error = { type: "authentication_error", message: "The access token is not valid." };
      return send(response, 401, { type: "error", error });
    }
    if (pathname === "/api/oauth/profile") return send(response, 200, profileOf(grant));
    if (pathname === "/api/oauth/claude_cli/roles") {
      const { name } = organization;
      const roles = { organization_role: "admin", workspace_role: null };
      return send(response, 200, { organization_name: name, ...roles });
    }
    send(response, 404, { type: "error", error: { type: "not_found_error", message: pathname } });
  }

  async function answerToken(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await text(request)) as TokenRequest;
    const isExchange = body.grant_type === "authorization_code";
    if (isExchange && switches.exchangeStatus !== undefined) {
      return send(response, switches.exchangeStatus, { error: "chosen_by_the_test" });
    }
    const tokens = body.client_id === clientId && (isExchange ? exchange(body) : refresh(body));
    if (!tokens) return send(response, 400, { error: "invalid_grant" });
    await sleep(switches.answerDelayMs, undefined, { signal: closing.signal });
    send(response, 200, tokens);
  }

  function exchange(body: TokenRequest): object | undefined {
    const asked = authorized.get(body.code ?? "");
    // A code is valid for one try.
    authorized.delete(body.code ?? "");
    const challenge = hash(body.code_verifier ?? "").toString("base64url");
    const isValid =
      asked?.challenge === challenge &&
      asked.state === body.state &&
      asked.redirect === body.redirect_uri;
    if (!isValid) return undefined;
    const counts = { refreshes: 0, reuses: 0, revoked: false };
    const tokens = {
      access: new Map(),
      refreshToken: newToken("ort"),
      replaced: new Set<string>(),
    };
    const grant = { email: asked.email, plan: asked.plan, ...counts, ...tokens };
    grants.push(grant);
    const { refresh_token, ...others } = tokensOf(grant, asked.scope);
    return switches.sendsRefreshToken ? { ...others, refresh_token } : others;
  }

  function refresh({ refresh_token: sent = "", scope }: TokenRequest): object | undefined {
    const reused = grants.find(({ replaced }) => replaced.has(sent));
    if (reused) {
      reused.reuses++;
      reused.revoked = true;
    }
    const grant = grants.find(({ refreshToken, revoked }) => refreshToken === sent && !revoked);
    if (!grant) return undefined;
    grant.refreshes++;
    grant.replaced.add(sent);
    grant.refreshToken = newToken("ort");
    return tokensOf(grant, scope);
  }

  /** Makes a new access token. */
  function tokensOf(grant: IssuedGrant, scope: string | null | undefined) {
    const { expiresIn } = switches;
    const access = newToken("oat");
    grant.access.set(access, Date.now() + expiresIn * 1000);
    return {
      token_type: "Bearer",
      access_token: access,
      expires_in: expiresIn,
      refresh_token: grant.refreshToken,
      scope,
      account: { uuid: uuidOf(grant.email), email_address: grant.email },
      organization,
    };
  }

  function liveGrant(authorization = ""): IssuedGrant | undefined {
    const token = authorization.replace(/^Bearer /, "");
    return grants.find(({ access, revoked }) => !revoked && (access.get(token) ?? 0) > Date.now());
  }

  const server = createServer({ key, cert: certificate }, (request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!closing.signal.aborted) console.error(error);
      response.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  startup.defer(async () => {
    closing.abort();
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  });
  const hosts = [tokenHost, apiHost];
  const proxy = startup.use(await startConnectProxy(hosts, (server.address() as AddressInfo).port));
  const owned = startup.move();
  return {
    environment: {
      HTTPS_PROXY: proxy.url,
      NODE_EXTRA_CA_CERTS: authorityFile,
      // The scripted model and other stand-ins are reached without the proxy.
      NO_PROXY: "127.0.0.1,localhost",
    },
    authorize(url, { email, plan = "claude_max" } = {}) {
      const asked = new URL(url).searchParams;
      const state = asked.get("state");
      const code = `code-${randomBytes(12).toString("hex")}`;
      authorized.set(code, {
        email: email ?? asked.get("login_hint") ?? "person@example.test",
        plan,
        state,
        challenge: asked.get("code_challenge"),
        redirect: asked.get("redirect_uri"),
        scope: asked.get("scope"),
      });
      return `${code}#${state}`;
    },
    grants,
    apiKeys,
    requests,
    switches,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function profileOf({ email, plan }: Person) {
  const createdAt = "2025-01-01T00:00:00Z";
  return {
    account: { uuid: uuidOf(email), email, display_name: "Person", created_at: createdAt },
    organization: {
      uuid: organization.uuid,
      organization_type: plan,
      rate_limit_tier: "default_claude_ai",
      billing_type: "stripe_subscription",
      has_extra_usage_enabled: false,
      subscription_created_at: createdAt,
      seat_tier: null,
      cc_onboarding_flags: {},
    },
  };
}

function passOn(request: IncomingMessage, response: ServerResponse, target: URL): void {
  const { method, headers } = request;
  const onward = requestFrom(target, { method, headers: { ...headers, host: target.host } });
  onward.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function hash(value: string): Buffer {
  return createHash("sha256").update(value).digest();
}

function uuidOf(name: string): string {
  const digits = hash(name).toString("hex");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");
}

function newToken(kind: "oat" | "ort"): string {
  return `sk-ant-${kind}01-${randomBytes(16).toString("hex")}`;
}
