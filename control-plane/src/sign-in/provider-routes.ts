// Signing in with the provider of an organization: the browser leaves for the provider, and comes back with a code.
// What has to match then is in a sealed cookie of this browser, and counts once (T21).
import { Refusal, parseId } from "@hawser/contract";
import type { Context, Hono } from "hono";
import { hashSecret } from "../access/secret-text.ts";
import { createTokenBuckets } from "../dispatch/token-bucket.ts";
import type { Log } from "../log.ts";
import { DatabaseUnavailable, type Database, type SystemDatabase } from "../postgres/database.ts";
import { callId } from "../transports/rest.ts";
import type { Invitations } from "./accept-invitation.ts";
import { noStateCookie, readCookie, stateCookie, stateCookieOf } from "./cookies.ts";
import { addressOf, deviceOf, tokenOf, type Door } from "./door.ts";
import { applyGroupRole } from "./group-role.ts";
import { spendChallenge } from "./passkey-store.ts";
import { NotAdmitted, admitArrival, type Purpose } from "./provider-arrival.ts";
import type { Assertion, PendingSignIn, Providers } from "./provider.ts";
import { createProviderPlaces } from "./provider-places.ts";
import { ProviderRefusal } from "./provider-refusal.ts";
import { callbackPath, providerOf, redirectUriOf } from "./provider-settings.ts";
import * as store from "./provider-store.ts";
import { requests, signInPath } from "./requests.ts";
import type { Sealing } from "./sealing.ts";
import type { SignInError } from "./sign-in-error.ts";
import { createProviderSignIn, type SignIns } from "./sign-ins.ts";

export interface ProviderParts {
  app: Hono;
  door: Door;
  accounts: SystemDatabase;
  database: Pick<Database, "tenantTransaction">;
  signIns: SignIns;
  invitations: Pick<Invitations, "read">;
  providers: Providers;
  sealing: Sealing;
  baseUrl: string;
  now: () => number;
  log: Log;
}

/** What a browser brings back, sealed. */
interface State {
  organizationId: string;
  settingsId: string;
  pending: PendingSignIn;
  purpose: Purpose;
  /** The only person who may be signed in; null for anybody. */
  renews: string | null;
  /** Whether the provider was asked to ask nothing. */
  isSilent: boolean;
  /** By the clock of the database. */
  untilMs: number;
}

/** How long a person may take at the provider. */
const stateSeconds = 600;
const statePlace = "state";

/**
 * Sign-ins that browsers without a sign-in begin, for each address and in total: each can become a row for 20 minutes,
 * on each node 31,000 at most.
 */
const begun = { perSecond: 5, burst: 100 };
const begunByAll = { perSecond: 25, burst: 500 };

export function addProviderRoutes(parts: ProviderParts): void {
  const { app, door, accounts, database, signIns, invitations, providers, sealing, baseUrl } =
    parts;
  const { now, log } = parts;
  const places = createProviderPlaces();
  const ofAddress = createTokenBuckets(begun);
  const ofAll = createTokenBuckets(begunByAll);

  door.get("/ways", async (c) => {
    const id = parseId("organization", c.req.query("organization") ?? "");
    const row = id === null ? undefined : await accounts.system.first(store.selectProvider, id);
    return { provider: row !== undefined, required: row?.required ?? false };
  });

  door.post(requests.beginProvider, async (c, input) => {
    const id = parseId("organization", input.organizationId);
    const row = id === null ? undefined : await accounts.system.first(store.selectProvider, id);
    if (!row) throw noProvider();
    await limitStrangers(c);
    const purpose = await purposeOf(c, input, row);
    const renews = input.renews === undefined ? null : (parseId("user", input.renews) ?? "");
    const isSilent = input.silent === true && renews !== null;
    const begun = begin(c, row, { purpose, renews, isSilent }, input.again).catch(
      (error: unknown) => {
        throw error instanceof ProviderRefusal
          ? new Refusal("provider_failed", error.message)
          : error;
      },
    );
    return { url: await begun };
  });

  /** Gives the browser what it has to bring back. Returns the address at the provider. */
  async function begin(
    c: Context,
    row: store.SettingsRow,
    state: Pick<State, "purpose" | "renews" | "isSilent">,
    again = false,
  ): Promise<string> {
    const redirectUri = redirectUriOf(baseUrl, row.organization_id);
    const options = { again, silent: state.isSilent && !again };
    const begun = await places.run(row.organization_id, () =>
      providers.begin(providerOf(sealing, row), redirectUri, options),
    );
    const all: State = {
      ...state,
      organizationId: row.organization_id,
      settingsId: row.settings_id,
      pending: begun.pending,
      untilMs: now() + stateSeconds * 1000,
    };
    const sealed = sealing.seal(statePlace, JSON.stringify(all)).toString("base64url");
    c.header("Set-Cookie", stateCookieOf(sealed, stateSeconds), { append: true });
    return begun.url;
  }

  // The provider's page sends the browser here, so `Origin` and `Sec-Fetch-Site` say nothing: the cookie does.
  app.get(`${signInPath}${callbackPath}/:organizationId`, async (c) => {
    c.header("Referrer-Policy", "no-referrer");
    c.header("Cache-Control", "no-store");
    c.header("Set-Cookie", noStateCookie, { append: true });
    const state = stateOf(c);
    try {
      if (!state) throw new NotAdmitted("expired");
      return c.redirect(await comeBack(c, state), 303);
    } catch (error) {
      const page = (state?.renews ?? null) === null ? "/sign-in" : "/signed-in";
      return c.redirect(`${page}?error=${errorOf(c, error)}`, 303);
    }
  });

  /** Strangers keep nobody from renewing a sign-in. */
  async function limitStrangers(c: Context): Promise<void> {
    if (await signIns.personOf(tokenOf(c))) return;
    const wait = ofAddress.take(addressOf(c)).retryAfterMs ?? ofAll.take("all").retryAfterMs;
    if (wait === undefined) return;
    throw new Refusal("rate_limited", "Too many people begin to sign in. Wait a moment.", {
      retryAfterMs: Math.ceil(wait),
    });
  }

  async function purposeOf(
    c: Context,
    { connect, invitation }: { connect?: true | undefined; invitation?: string | undefined },
    row: store.SettingsRow,
  ): Promise<Purpose> {
    if (connect) {
      // A way to sign in gives lasting access, so it is added with a fresh sign-in only.
      const person = await door.freshAccountOf(c);
      const values = [row.organization_id, person.sign_in_id];
      // A cookie that somebody has stolen must not gain the new role.
      if (await accounts.system.first(store.selectRoleChange, ...values)) throw roleChanged();
      return { kind: "connect", userId: person.user_id };
    }
    if (invitation === undefined) return { kind: "sign_in" };
    const offered = await invitations.read(invitation);
    if (offered.organization_id !== row.organization_id) throw noProvider();
    return { kind: "invitation", hash: hashSecret(invitation).toString("hex") };
  }

  /** Returns where the browser goes on. */
  async function comeBack(c: Context, state: State): Promise<string> {
    const { organizationId, settingsId, pending, purpose, isSilent } = state;
    // A node of an earlier version has sealed none.
    const renews = state.renews ?? null;
    await spend(state);
    const row = await accounts.system.first(store.selectProvider, organizationId);
    if (row?.settings_id !== settingsId) throw new NotAdmitted("settings_changed");
    const { pathname, search } = new URL(c.req.url);
    const callback = new URL(`${pathname}${search}`, baseUrl);
    const finish = () => providers.finish(providerOf(sealing, row), callback, pending);
    const assertion = await places.run(organizationId, finish).catch((error: unknown) => {
      if (isSilent && error instanceof ProviderRefusal && error.needsPerson) return undefined;
      throw error;
    });
    if (!assertion) return begin(c, row, { purpose, renews, isSilent: false });
    const person = await signIns.personOf(tokenOf(c));
    const userId = await accounts.systemTransaction(async (tx) => {
      const settings = await tx.first(store.selectProvider, organizationId);
      if (settings?.settings_id !== settingsId) throw new NotAdmitted("settings_changed");
      const account = person?.organization_id === null ? person : undefined;
      const arrival = { settings, assertion, purpose, person: account, callId: callId(c) };
      const arrived = await admitArrival(tx, arrival);
      if (renews !== null && arrived !== renews) throw new NotAdmitted("other_account");
      return arrived;
    });
    await followGroups(row, assertion, userId, callId(c));
    // A provider that asked nothing, and does not say when the person proved who they are, has made nothing fresh.
    const authenticatedAt = assertion.authenticatedAt ?? (isSilent ? 0 : null);
    const token = await accounts.systemTransaction(async (tx) => {
      tx.later(store.noteTest, organizationId, settingsId);
      // Somebody who connects the provider stays signed in with the account.
      if (purpose.kind === "connect") return undefined;
      const device = deviceOf(c);
      return createProviderSignIn(tx, sealing, {
        userId,
        device,
        organizationId,
        settingsId,
        assertion: { ...assertion, authenticatedAt },
      });
    });
    signIns.forget(userId);
    if (token !== undefined) await door.enterOrganization(c, token);
    return renews === null ? "/" : "/signed-in";
  }

  /** What this browser brings back; undefined if it does not fit, or is too old. */
  function stateOf(c: Context): State | undefined {
    const sealed = readCookie(c.req.header("cookie"), stateCookie);
    const text = sealed && sealing.open(statePlace, Buffer.from(sealed, "base64url"));
    if (!text) return undefined;
    const state = JSON.parse(text) as State;
    const isMeant =
      state.untilMs > now() &&
      parseId("organization", c.req.param("organizationId") ?? "") === state.organizationId &&
      c.req.query("state") === state.pending.state;
    return isMeant ? state : undefined;
  }

  /** Throws NotAdmitted the second time. Nothing is sent to a provider before. */
  async function spend({ pending }: State): Promise<void> {
    const values = [hashSecret(pending.state), 2 * stateSeconds];
    const isFirst = await accounts.system.first(spendChallenge, ...values);
    if (!isFirst) throw new NotAdmitted("expired");
  }

  async function followGroups(
    { organization_id: organizationId, settings_id: settingsId, groups_claim }: store.SettingsRow,
    { issuer, subject, groups }: Assertion,
    userId: string,
    id: string,
  ): Promise<void> {
    if (groups_claim === null) return;
    const following = { organizationId, settingsId, userId, groups, callId: id };
    const role = await applyGroupRole(database, following);
    if (role === null) return;
    await accounts.system.rows(store.setGroupRole, organizationId, issuer, subject, role);
  }

  function errorOf(c: Context, error: unknown): SignInError {
    const about = { callId: callId(c) };
    if (error instanceof NotAdmitted) {
      log.info({ ...about, code: error.code }, "a person was not signed in with a provider");
      return error.code;
    }
    if (error instanceof ProviderRefusal) {
      const { code, detail } = error;
      log.info({ ...about, code, detail }, "a provider has signed nobody in");
      return code;
    }
    if (error instanceof Refusal && error.code === "rate_limited") return "unavailable";
    if (error instanceof DatabaseUnavailable) {
      log.warn({ ...about, err: error }, "database unavailable");
      return "unavailable";
    }
    log.error({ ...about, err: error }, "a sign-in with a provider failed");
    return "internal";
  }
}

const roleChanged = () =>
  new Refusal(
    "sign_in_again",
    "Your role in this organization has changed since you signed in. Confirm with POST /api/sign-in/confirm who you are, or sign in again, and then repeat it.",
  );

const noProvider = () =>
  new Refusal(
    "not_found",
    "This organization has no identity provider, or there is no such organization. Sign in otherwise.",
  );
