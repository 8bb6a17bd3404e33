// Signing in with the provider of an organization: the browser leaves for the provider, and comes back with a code.
// What has to match then is in a sealed cookie of this browser, and counts once (T21).
import { Refusal, parseId } from "@hawser/contract";
import type { Context, Hono } from "hono";
import { hashSecret } from "../access/secret-text.ts";
import type { Log } from "../log.ts";
import { DatabaseUnavailable, type Database, type SystemDatabase } from "../postgres/database.ts";
import { callId } from "../transports/rest.ts";
import type { Invitations } from "./accept-invitation.ts";
import { noStateCookie, readCookie, stateCookie, stateCookieOf } from "./cookies.ts";
import { deviceOf, tokenOf, type Door } from "./door.ts";
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
  /** By the clock of the database. */
  untilMs: number;
}

/** How long a person may take at the provider. */
const stateSeconds = 600;
const statePlace = "state";

export function addProviderRoutes(parts: ProviderParts): void {
  const { app, door, accounts, database, signIns, invitations, providers, sealing, baseUrl } =
    parts;
  const { now, log } = parts;
  const places = createProviderPlaces();

  door.get("/ways", async (c) => {
    const id = parseId("organization", c.req.query("organization") ?? "");
    const row = id === null ? undefined : await accounts.system.first(store.selectProvider, id);
    return { provider: row !== undefined, required: row?.required ?? false };
  });

  door.post(requests.beginProvider, async (c, { organizationId, invitation, connect, again }) => {
    const id = parseId("organization", organizationId);
    const row = id === null ? undefined : await accounts.system.first(store.selectProvider, id);
    if (!row) throw noProvider();
    const purpose = await purposeOf(c, { connect, invitation }, row);
    const redirectUri = redirectUriOf(baseUrl, row.organization_id);
    const begun = await places
      .run(row.organization_id, () =>
        providers.begin(providerOf(sealing, row), redirectUri, { again: again ?? false }),
      )
      .catch((error: unknown) => {
        throw error instanceof ProviderRefusal
          ? new Refusal("provider_failed", error.message)
          : error;
      });
    const state: State = {
      organizationId: row.organization_id,
      settingsId: row.settings_id,
      pending: begun.pending,
      purpose,
      untilMs: now() + stateSeconds * 1000,
    };
    const sealed = sealing.seal(statePlace, JSON.stringify(state)).toString("base64url");
    c.header("Set-Cookie", stateCookieOf(sealed, stateSeconds), { append: true });
    return { url: begun.url };
  });

  // The provider's page sends the browser here, so `Origin` and `Sec-Fetch-Site` say nothing: the cookie does.
  app.get(`${signInPath}${callbackPath}/:organizationId`, async (c) => {
    c.header("Referrer-Policy", "no-referrer");
    c.header("Cache-Control", "no-store");
    c.header("Set-Cookie", noStateCookie, { append: true });
    try {
      await comeBack(c);
    } catch (error) {
      return c.redirect(`/sign-in?error=${errorOf(c, error)}`, 303);
    }
    return c.redirect("/", 303);
  });

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

  async function comeBack(c: Context): Promise<void> {
    const { organizationId, settingsId, pending, purpose } = await spendState(c);
    const row = await accounts.system.first(store.selectProvider, organizationId);
    if (row?.settings_id !== settingsId) throw new NotAdmitted("settings_changed");
    const { pathname, search } = new URL(c.req.url);
    const callback = new URL(`${pathname}${search}`, baseUrl);
    const assertion = await places.run(organizationId, () =>
      providers.finish(providerOf(sealing, row), callback, pending),
    );
    const person = await signIns.personOf(tokenOf(c));
    const userId = await accounts.systemTransaction(async (tx) => {
      const settings = await tx.first(store.selectProvider, organizationId);
      if (settings?.settings_id !== settingsId) throw new NotAdmitted("settings_changed");
      const account = person?.organization_id === null ? person : undefined;
      return admitArrival(tx, { settings, assertion, purpose, person: account, callId: callId(c) });
    });
    await followGroups(row, assertion, userId, callId(c));
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
        assertion,
      });
    });
    signIns.forget(userId);
    if (token !== undefined) await door.enterOrganization(c, token);
  }

  /** The state of this browser, the first time that it comes back with it. Nothing is sent to a provider before. */
  async function spendState(c: Context): Promise<State> {
    const sealed = readCookie(c.req.header("cookie"), stateCookie);
    const text = sealed && sealing.open(statePlace, Buffer.from(sealed, "base64url"));
    if (!text) throw new NotAdmitted("expired");
    const state = JSON.parse(text) as State;
    const isMeant =
      state.untilMs > now() &&
      parseId("organization", c.req.param("organizationId") ?? "") === state.organizationId &&
      c.req.query("state") === state.pending.state;
    if (!isMeant) throw new NotAdmitted("expired");
    const values = [hashSecret(state.pending.state), 2 * stateSeconds];
    const isFirst = await accounts.system.first(spendChallenge, ...values);
    if (!isFirst) throw new NotAdmitted("expired");
    return state;
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
