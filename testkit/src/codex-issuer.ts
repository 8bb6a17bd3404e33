// The issuer of ChatGPT logins on loopback, for the real codex in tests: device codes, tokens, and the
// account's workspace and usage. A test approves or denies a code, as a person in a browser would.
import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { writeCodexHome } from "./codex-home.ts";

export interface CodexAccount {
  email: string;
  /** A name that codex knows, such as `plus` or `pro`. */
  plan: string;
}

/** One login that was completed. */
export interface Grant extends CodexAccount {
  /** Refreshes that were answered with new tokens. */
  refreshes: number;
  /** Uses of a refresh token that was already replaced. Each is refused. */
  reuses: number;
  revoked: boolean;
}

export interface CodexIssuer extends AsyncDisposable {
  url: string;
  /** Points an app-server at this issuer. */
  environment: Record<string, string>;
  /** Writes a codex home whose model runs with the account of this issuer. */
  writeHome: (home: string, modelUrl: string) => void;
  /** Codes that wait for approval, in order. */
  waiting: () => string[];
  approve: (userCode: string, account: CodexAccount) => void;
  deny: (userCode: string) => void;
  /** Polls of a code so far. */
  pollsOf: (userCode: string) => number;
  /** Completed logins, in order. */
  grants: Grant[];
  /**
   * The grant of an Authorization header; undefined if the token is unknown, expired or revoked. The scripted
   * model records the header of each request, so this says whose account a prompt ran with.
   */
  grantOf: (authorization: string | undefined) => Grant | undefined;
  /** Requests that are no polls, as `METHOD /path`. */
  requests: string[];
  settings: IssuerSettings;
}

/** A test changes them at any time. */
export interface IssuerSettings {
  hasDeviceLogin: boolean;
  /** Life of new access tokens. Codex refreshes a token shortly before it expires. */
  accessTokenSeconds: number;
  /** Refuses every refresh, as if the person had ended the login elsewhere. */
  refusesRefresh: boolean;
  /** Waits before a refresh is answered; the token is replaced at once. */
  refreshDelayMs: number;
  /** Codex accepts https only. */
  workspaceOrigin: string;
  /** Percent of the quota that are used. */
  utilization: number;
}

interface DeviceCode {
  deviceId: string;
  polls: number;
  /** undefined while nobody has decided. */
  decision?: CodexAccount | "denied";
}

type Reply = [status: number, body: object];

const clientId = "stand-in";

export async function startCodexIssuer(): Promise<CodexIssuer> {
  const settings: IssuerSettings = {
    hasDeviceLogin: true,
    accessTokenSeconds: 3600,
    refusesRefresh: false,
    refreshDelayMs: 0,
    workspaceOrigin: "https://workspace.invalid",
    utilization: 10,
  };
  const codes = new Map<string, DeviceCode>();
  /** Authorization codes that were not exchanged yet. */
  const exchanges = new Map<string, { account: CodexAccount; verifier: string }>();
  const accessTokens = new Map<string, { grant: Grant; expiresAt: number }>();
  const refreshTokens = new Map<string, { grant: Grant; replaced: boolean }>();
  const grants: Grant[] = [];
  const requests: string[] = [];
  let url = "";

  const grantOf = (authorization: string | undefined) => {
    const found = accessTokens.get(authorization?.replace(/^Bearer /, "") ?? "");
    const isValid = found && !found.grant.revoked && Date.now() < found.expiresAt;
    return isValid ? found.grant : undefined;
  };

  const codeOf = (userCode: string) => {
    const code = codes.get(userCode);
    if (!code) throw new Error(`The issuer has no code ${userCode}.`);
    return code;
  };

  function startDevice(body: Record<string, unknown>): Reply {
    if (!settings.hasDeviceLogin) return [404, {}];
    if (body["client_id"] !== clientId) return refuse(400, "invalid_client");
    const userCode = `${randomLetters(4)}-${randomLetters(5)}`;
    const deviceId = randomUUID();
    codes.set(userCode, { deviceId, polls: 0 });
    return [200, { device_auth_id: deviceId, user_code: userCode, interval: "1" }];
  }

  function poll(body: Record<string, unknown>): Reply {
    const code = codes.get(String(body["user_code"]));
    if (!code || code.deviceId !== body["device_auth_id"]) return refuse(400, "unknown_code");
    code.polls += 1;
    if (code.decision === undefined) return refuse(403, "authorization_pending");
    if (code.decision === "denied") return refuse(400, "access_denied");
    const [authorizationCode, verifier] = [randomUUID(), randomUUID()];
    exchanges.set(authorizationCode, { account: code.decision, verifier });
    const challenge = { code_challenge: "not-checked", code_verifier: verifier };
    return [200, { authorization_code: authorizationCode, ...challenge }];
  }

  function exchange(form: URLSearchParams): Reply {
    const code = form.get("code") ?? "";
    const found = exchanges.get(code);
    const isRight =
      form.get("client_id") === clientId &&
      form.get("redirect_uri") === `${url}/deviceauth/callback` &&
      form.get("code_verifier") === found?.verifier;
    if (!found || !isRight) return refuse(400, "invalid_grant");
    exchanges.delete(code);
    const grant = { ...found.account, refreshes: 0, reuses: 0, revoked: false };
    grants.push(grant);
    return [200, issueTokens(grant)];
  }

  async function refresh(body: Record<string, unknown>): Promise<Reply> {
    const found = refreshTokens.get(String(body["refresh_token"]));
    if (!found || found.grant.revoked) return refuse(401, "refresh_token_invalidated");
    if (settings.refusesRefresh) return refuse(401, "refresh_token_expired");
    if (found.replaced) {
      found.grant.reuses += 1;
      return refuse(401, "refresh_token_reused");
    }
    found.replaced = true;
    found.grant.refreshes += 1;
    const tokens = issueTokens(found.grant);
    await sleep(settings.refreshDelayMs);
    return [200, tokens];
  }

  function issueTokens(grant: Grant) {
    const issuedAt = Math.floor(Date.now() / 1000);
    const expiresAt = issuedAt + settings.accessTokenSeconds;
    const token = makeToken({
      jti: randomUUID(),
      sub: grant.email,
      email: grant.email,
      iat: issuedAt,
      exp: expiresAt,
      "https://api.openai.com/auth": {
        chatgpt_account_id: workspaceOf(grant),
        chatgpt_plan_type: grant.plan,
        chatgpt_user_id: grant.email,
      },
    });
    const refreshToken = randomUUID();
    accessTokens.set(token, { grant, expiresAt: expiresAt * 1000 });
    refreshTokens.set(refreshToken, { grant, replaced: false });
    return { id_token: token, access_token: token, refresh_token: refreshToken };
  }

  function revoke(body: Record<string, unknown>): Reply {
    const token = String(body["token"]);
    const grant = (refreshTokens.get(token) ?? accessTokens.get(token))?.grant;
    if (grant) grant.revoked = true;
    return [200, {}];
  }

  function describeWorkspace(grant: Grant): object {
    const workspace = {
      id: workspaceOf(grant),
      name: "Workspace",
      structure: "workspace",
      plan_type: grant.plan,
      can_access_with_session: true,
      is_deactivated: false,
      is_fedramp_compliant_workspace: false,
      sso_connection_name: null,
      profile_picture_url: null,
      workspace_backend_origin: settings.workspaceOrigin,
      account_routing_override: "NO_CONSTRAINT",
    };
    const { id } = workspace;
    return { accounts: [workspace], default_account_id: id, account_ordering: [id] };
  }

  function describeUsage(grant: Grant): object {
    const period = (used: number, seconds: number) => ({
      used_percent: used,
      limit_window_seconds: seconds,
      reset_after_seconds: 3600,
      reset_at: Math.floor(Date.now() / 1000) + 3600,
    });
    const isUsedUp = settings.utilization >= 100;
    return {
      plan_type: grant.plan,
      rate_limit: {
        allowed: !isUsedUp,
        limit_reached: isUsedUp,
        primary_window: period(settings.utilization, 5 * 3600),
        secondary_window: period(0, 7 * 24 * 3600),
      },
      credits: { has_credits: false, unlimited: false, balance: "0" },
    };
  }

  async function reply(request: IncomingMessage, path: string, text: string): Promise<Reply> {
    const describe = (of: (grant: Grant) => object): Reply => {
      const grant = grantOf(request.headers.authorization);
      return grant ? [200, of(grant)] : refuse(401, "token_expired");
    };
    switch (`${request.method} ${path}`) {
      case "POST /api/accounts/deviceauth/usercode":
        return startDevice(fieldsOf(text));
      case "POST /api/accounts/deviceauth/token":
        return poll(fieldsOf(text));
      case "POST /oauth/token":
        // Codex exchanges a code with a form, and refreshes with JSON.
        return text.startsWith("{") ? refresh(fieldsOf(text)) : exchange(new URLSearchParams(text));
      case "POST /oauth/revoke":
        return revoke(fieldsOf(text));
      case "GET /backend-api/wham/accounts/check":
        return describe(describeWorkspace);
      case "GET /backend-api/wham/usage":
        return describe(describeUsage);
      default:
        return refuse(404, "not_found");
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://issuer");
    if (!pathname.endsWith("/deviceauth/token")) requests.push(`${request.method} ${pathname}`);
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const [status, body] = await reply(request, pathname, Buffer.concat(pieces).toString());
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    environment: {
      CODEX_APP_SERVER_LOGIN_ISSUER: url,
      CODEX_APP_SERVER_LOGIN_CLIENT_ID: clientId,
      CODEX_REFRESH_TOKEN_URL_OVERRIDE: `${url}/oauth/token`,
      CODEX_REVOKE_TOKEN_URL_OVERRIDE: `${url}/oauth/revoke`,
    },
    writeHome(home, modelUrl) {
      writeCodexHome(home, modelUrl);
      const file = join(home, "config.toml");
      const top = `chatgpt_base_url = "${url}/backend-api"\n`;
      // The last table of the file is the model provider.
      writeFileSync(file, `${top}${readFileSync(file, "utf8")}requires_openai_auth = true\n`);
    },
    waiting: () => [...codes].flatMap(([code, { decision }]) => (decision ? [] : [code])),
    approve: (userCode, account) => void (codeOf(userCode).decision = account),
    deny: (userCode) => void (codeOf(userCode).decision = "denied"),
    pollsOf: (userCode) => codeOf(userCode).polls,
    grants,
    grantOf,
    requests,
    settings,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const refuse = (status: number, code: string): Reply => [
  status,
  { error: { code, message: code } },
];

const fieldsOf = (text: string) => JSON.parse(text) as Record<string, unknown>;

const workspaceOf = ({ email }: CodexAccount) => `workspace-of-${email}`;

const randomLetters = (count: number) =>
  Array.from(randomBytes(count), (byte) => String.fromCharCode(65 + (byte % 26))).join("");

/** A JSON Web Token without a signature, which codex does not check. */
function makeToken(claims: object): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${encode({ alg: "none", typ: "JWT" })}.${encode(claims)}.none`;
}
