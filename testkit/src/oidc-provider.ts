// An OpenID Connect provider on a loopback port: the real one from npm. Its pages ask nothing: whoever `person` is
// signs in at once, so a browser or `logIn` follows redirects only.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider, type ClientAuthMethod, type KoaContextWithOIDC } from "oidc-provider";

export interface OidcPerson {
  subject: string;
  /** For example email, email_verified, name and groups. */
  claims: Record<string, unknown>;
}

export interface OidcProvider extends AsyncDisposable {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Who signs in next; null if the person refuses at the provider. */
  person: OidcPerson | null;
  /** Whether people who sign in from now on get refresh tokens. */
  issuesRefreshTokens: boolean;
  /** Sets what the provider asserts about a person from now on. */
  know(person: OidcPerson): void;
  /** Paths of all requests, in order. */
  paths: string[];
  /** Follows the provider's redirects as a browser does, and returns the first address outside of the provider. */
  logIn(url: string): Promise<URL>;
  /** Runs `work`, and returns the refresh tokens that were issued meanwhile. */
  refreshTokens(work: () => Promise<unknown>): Promise<string[]>;
  /** Lets requests for tokens wait until the result is called. */
  holdTokens(): () => void;
  /** Ends everything that people have granted: their refresh tokens are refused from now on. */
  revokeGrants(): Promise<void>;
}

export interface OidcProviderOptions {
  redirectUris: string[];
  /** By default the id token contains only the subject, and the rest has to be asked for. */
  areClaimsInIdToken?: boolean;
  clientAuthMethod?: ClientAuthMethod;
}

export async function startOidcProvider({
  redirectUris,
  areClaimsInIdToken = false,
  clientAuthMethod = "client_secret_post",
}: OidcProviderOptions): Promise<OidcProvider> {
  const people = new Map<string, OidcPerson>();
  const grantIds: string[] = [];
  const clientId = "hawser";
  const clientSecret = randomBytes(24).toString("base64url");
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const engine = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: redirectUris,
        grant_types: ["authorization_code", "refresh_token"],
        token_endpoint_auth_method: clientAuthMethod,
      },
    ],
    clientAuthMethods: [clientAuthMethod],
    jwks: { keys: [signingKey()] },
    cookies: { keys: [randomBytes(16).toString("hex")] },
    claims: {
      openid: ["sub", "groups"],
      email: ["email", "email_verified"],
      profile: ["name"],
    },
    conformIdTokenClaims: !areClaimsInIdToken,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, subject) => ({
      accountId: subject,
      claims: () => ({ ...people.get(subject)?.claims, sub: subject }),
    }),
    // The provider would issue refresh tokens only to people who were asked for their consent, and end them with the
    // browser's session.
    issueRefreshToken: () => provider.issuesRefreshTokens,
    expiresWithSession: () => false,
    async loadExistingGrant({ oidc }) {
      const grant = new engine.Grant({
        clientId: oidc.client!.clientId,
        accountId: oidc.session!.accountId!,
      });
      grant.addOIDCScope("openid email profile offline_access");
      grantIds.push(await grant.save());
      return grant;
    },
    ttl: { AccessToken: 3600, IdToken: 3600, RefreshToken: 86_400, Grant: 86_400, Session: 86_400, Interaction: 600 }, // oxfmt-ignore
  });

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { person } = provider;
    if (person) people.set(person.subject, person);
    const result = person
      ? { login: { accountId: person.subject } }
      : { error: "access_denied", error_description: "The person has refused." };
    await engine.interactionFinished(request, response, result);
  }

  const answer = engine.callback();
  let held = Promise.resolve();
  server.on("request", (request, response) => {
    const { pathname } = new URL(request.url!, issuer);
    provider.paths.push(pathname);
    if (pathname.startsWith("/interaction/")) void interact(request, response);
    else if (pathname === "/token") void held.then(() => answer(request, response));
    else void answer(request, response);
  });

  const provider: OidcProvider = {
    issuer,
    clientId,
    clientSecret,
    person: null,
    issuesRefreshTokens: true,
    know: (person) => void people.set(person.subject, person),
    paths: [],
    logIn: (url) => followRedirects(url, issuer),
    async refreshTokens(work) {
      const issued: string[] = [];
      const note = ({ body }: KoaContextWithOIDC) => {
        const { refresh_token: token } = body as { refresh_token?: string };
        if (token !== undefined) issued.push(token);
      };
      engine.on("grant.success", note);
      try {
        await work();
      } finally {
        engine.off("grant.success", note);
      }
      return issued;
    },
    holdTokens() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    async revokeGrants() {
      for (const id of grantIds.splice(0)) {
        await (await engine.Grant.find(id))?.destroy();
        await engine.RefreshToken.revokeByGrantId(id);
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
  return provider;
}

function signingKey() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: "key", use: "sig", alg: "RS256" } as const;
}

async function followRedirects(start: string, issuer: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = new URL(start);
  while (url.origin === issuer) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { headers: { cookie }, redirect: "manual" });
    const location = response.headers.get("location");
    if (location === null) {
      throw new Error(`${url.pathname} answered ${response.status}: ${await response.text()}`);
    }
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === "") cookies.delete(name!);
      else cookies.set(name!, value!);
    }
    url = new URL(location, url);
  }
  return url;
}
