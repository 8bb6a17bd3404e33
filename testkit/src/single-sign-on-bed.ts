// Single sign-on for tests: a database with two organizations, real nodes, and real OpenID Connect providers whose
// login page is driven by HTTP.
import { createCaller, type Caller } from "./caller.ts";
import { startOidcProvider, type OidcPerson, type OidcProvider } from "./oidc-provider.ts";
import { createTestOrganization, type TestOrganization } from "./organization.ts";
import { openTestBrowser, type Reply, type TestBrowser } from "./signed-in-browser.ts";
import { startTwoNodes, type TwoNodes } from "./two-nodes.ts";

export interface SingleSignOnBed extends TwoNodes {
  acme: TestOrganization;
  globex: TestOrganization;
  /** Calls with a key of the organization that has every permission. */
  keys(organization?: TestOrganization): Caller;
  /** A provider that knows the addresses of both organizations. */
  startProvider(): Promise<OidcProvider>;
  /** Makes a provider that of an organization, with further fields of update_sign_in_settings. */
  configure(provider: OidcProvider, more?: object, organization?: TestOrganization): Promise<void>;
  browser(): TestBrowser;
  /** A browser in which a new person has accepted an invitation with a password. */
  join(
    email: string,
    role?: string,
    organization?: TestOrganization,
  ): Promise<TestBrowser & { userId: string }>;
  /** Begins at the service, and signs the person in at the provider. Returns the address to come back with. */
  leave(
    browser: TestBrowser,
    provider: OidcProvider,
    person: OidcPerson | null,
    more?: object,
  ): Promise<URL>;
  /** Follows the provider's redirect back to the service. */
  comeBack(browser: TestBrowser, callback: URL): Promise<Reply>;
  /** Both. Returns the address that the service leads to: `/` or `/sign-in?error=CODE`. */
  signIn(
    browser: TestBrowser,
    provider: OidcProvider,
    person: OidcPerson | null,
    more?: object,
  ): Promise<string | null>;
}

export const bedPassword = "correct horse battery";

export async function startSingleSignOnBed(): Promise<SingleSignOnBed> {
  const two = await startTwoNodes({
    HAWSER_WEBHOOK_NETWORKS: "127.0.0.0/8",
    HAWSER_LOG_LEVEL: "debug",
  });
  const { service, masterKey, nodes } = two;
  const { database } = service;
  const acme = await createTestOrganization(database, "Acme", "ada@acme.example");
  const globex = await createTestOrganization(database, "Globex", "grace@globex.example");
  const { baseUrl } = nodes[0];
  const providers: OidcProvider[] = [];
  const redirectUri = (organization: TestOrganization, at = baseUrl) =>
    `${at}/api/sign-in/provider/callback/${organization.organizationId}`;
  const keys = (organization = acme) => createCaller(baseUrl, organization.keys.owner);

  const bed: SingleSignOnBed = {
    service,
    masterKey,
    nodes,
    acme,
    globex,
    keys,
    async startProvider() {
      const provider = await startOidcProvider({
        redirectUris: [acme, globex].map((each) => redirectUri(each)),
      });
      providers.push(provider);
      return provider;
    },
    async configure({ issuer, clientId, clientSecret }, more = {}, organization = acme) {
      const settings = { issuer, clientId, clientSecret, ...more };
      await keys(organization).update_sign_in_settings(settings);
    },
    browser: () => openTestBrowser(baseUrl),
    async join(email, role = "member", organization = acme) {
      const browser = openTestBrowser(baseUrl);
      const { url } = await keys(organization).create_invitation({ email, role });
      const body = { invitation: new URL(url).hash.slice(1), password: bedPassword };
      const reply = await browser.send("/api/sign-in/invitations/accept", body);
      if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
      return { ...browser, userId: reply.body["userId"] as string };
    },
    async leave(browser, provider, person, more = {}) {
      provider.person = person;
      const body = { organizationId: acme.organizationId, ...more };
      const begun = await browser.send("/api/sign-in/provider/begin", body);
      if (begun.status !== 200) throw new Error(JSON.stringify(begun.body));
      return provider.logIn(begun.body["url"] as string);
    },
    comeBack: (browser, { pathname, search }) =>
      browser.send(`${pathname}${search}`, undefined, {
        origin: undefined,
        "sec-fetch-site": "cross-site",
      }),
    async signIn(browser, provider, person, more) {
      const callback = await bed.leave(browser, provider, person, more);
      return (await bed.comeBack(browser, callback)).headers.get("location");
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(providers.map((each) => each[Symbol.asyncDispose]()));
      await two[Symbol.asyncDispose]();
    },
  };
  return bed;
}
