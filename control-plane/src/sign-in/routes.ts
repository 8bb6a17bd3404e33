// What people do around signing in, before they are callers of any organization. Only pages of this service may send
// these requests (N24, N25).
import { Refusal, formatId } from "@hawser/contract";
import { Hono, type Context } from "hono";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Log } from "../log.ts";
import type { Database, SystemDatabase } from "../postgres/database.ts";
import { query } from "../postgres/statement.ts";
import { callId, respond } from "../transports/rest.ts";
import { createInvitations } from "./accept-invitation.ts";
import { createChallenges } from "./challenges.ts";
import { createCheckPassword } from "./check-password.ts";
import { addDeviceLoginRoutes } from "./device-login-routes.ts";
import { createKnownBrowsers, noSessionCookie } from "./cookies.ts";
import { createDoor, deviceOf, tokenOf } from "./door.ts";
import { addPasskeyRoutes } from "./passkey-routes.ts";
import { deletePasskeysOf, selectPasskeysOf } from "./passkey-store.ts";
import { linkRequests } from "./link-requests.ts";
import { createLinks } from "./links.ts";
import { createPasswords } from "./password.ts";
import type { Providers } from "./provider.ts";
import { addProviderRoutes } from "./provider-routes.ts";
import { addPhoneRoutes } from "./phone-routes.ts";
import { requests, signInPath } from "./requests.ts";
import type { Sealing } from "./sealing.ts";
import { createSignIn, shownSignIn, type SignIns } from "./sign-ins.ts";
import * as store from "./store.ts";

export interface SignInParts {
  accounts: SystemDatabase;
  database: Pick<Database, "tenantTransaction">;
  signIns: SignIns;
  providers: Providers;
  sealing: Sealing;
  /** For the cookies that show known browsers, and those with challenges. */
  secret: Buffer;
  baseUrl: string;
  /** Makes the keys of programs that a person has approved. */
  dispatchAs: Dispatcher["dispatchAs"];
  /** The time of the database, which is the same on every node. */
  now: () => number;
  log: Log;
}

export function signInRoutes(parts: SignInParts): Hono {
  const { accounts, signIns, secret, baseUrl, dispatchAs, now, log } = parts;
  const app = new Hono();
  const known = createKnownBrowsers(secret);
  const passwords = createPasswords();
  const checkPassword = createCheckPassword({ accounts, passwords, known, secret });
  const invitations = createInvitations(accounts, passwords);
  const links = createLinks(accounts, passwords);
  const door = createDoor({ app, signIns, known, baseUrl, log });

  door.get("", async (c) => {
    const person = await door.personOf(c);
    const [reached, passkeys] = await accounts.system.together(
      query(store.selectReached, person.user_id, person.organization_id),
      query(selectPasskeysOf, person.user_id),
    );
    // A provider's sign-in shows nothing of the account.
    const isOfProvider = person.organization_id !== null;
    return {
      user: { userId: formatId("user", person.user_id), email: person.email },
      signInId: shownSignIn(person.sign_in_id),
      expiresAt: person.expires_at,
      isOfProvider,
      hasPassword: !isOfProvider && person.has_password,
      passkeys: (isOfProvider ? [] : passkeys).map((row) => ({
        passkeyId: row.credential_id,
        device: row.device,
        createdAt: row.created_at,
        lastUsedAt: row.last_used_at,
      })),
      organizations: reached.map((row) => ({
        organizationId: formatId("organization", row.organization_id),
        name: row.organization_name,
        role: row.role,
        memberName: row.name,
      })),
    };
  });

  door.post(requests.password, async (c, { email, password }) => {
    const account = await checkPassword({ email, password, cookies: c.req.header("cookie") });
    return enterWithPassword(c, account.user_id);
  });

  // Shows who it is, for what needs a fresh sign-in.
  door.post(requests.confirm, async (c, { password }) => {
    const { email, user_id: userId } = await door.accountOf(c);
    await checkPassword({ email, password, cookies: c.req.header("cookie") });
    return enterWithPassword(c, userId);
  });

  // Ends every other sign-in: whoever has the former password may have one.
  door.post(requests.changePassword, async (c, { password, newPassword, removePasskeys }) => {
    const { email, user_id: userId } = await door.accountOf(c);
    const account = await checkPassword({ email, password, cookies: c.req.header("cookie") });
    const hash = await passwords.hash(newPassword, { isKnown: true });
    const { token, passkeys } = await accounts.systemTransaction(async (tx) => {
      const changed = await tx.first(store.updatePassword, userId, account.password_hash, hash);
      if (!changed) {
        throw new Refusal("unauthenticated", "The password was changed meanwhile. Sign in again.");
      }
      await tx.rows(store.endSignInsOf, userId);
      if (removePasskeys) await tx.rows(deletePasskeysOf, userId);
      const { length } = await tx.rows(selectPasskeysOf, userId);
      const made = await createSignIn(tx, { userId, way: "password", device: deviceOf(c) });
      return { token: made, passkeys: length };
    });
    signIns.forget(userId);
    return { ...(await door.enter(c, userId, token)), passkeys };
  });

  door.post(requests.out, async (c) => {
    // Nobody signs somebody else out by mistake.
    await door.findPerson(c);
    const token = tokenOf(c);
    if (token !== undefined) await signIns.end(token);
    c.header("Set-Cookie", noSessionCookie);
    return { signedOut: true };
  });

  door.post(requests.readInvitation, async (_c, { invitation }) => {
    const row = await invitations.read(invitation);
    return {
      organization: row.organization_name,
      organizationId: formatId("organization", row.organization_id),
      email: row.email,
      name: row.name,
      role: row.role,
      createdBy: row.created_by,
      expiresAt: row.expires_at,
    };
  });

  door.post(requests.acceptInvitation, async (c, { invitation, password, key }) => {
    const signedIn = await door.findPerson(c);
    // A provider's sign-in is no account, so it gets a new one like a browser without a sign-in.
    const person = signedIn?.organization_id === null ? signedIn : undefined;
    const device = deviceOf(c);
    const acceptance = { secret: invitation, person, password, key, device, callId: callId(c) };
    const { userId, organizationId, token } = await invitations.accept(acceptance);
    signIns.forget(userId);
    if (token !== undefined) await door.enter(c, userId, token);
    return {
      userId: formatId("user", userId),
      organizationId: formatId("organization", organizationId),
    };
  });

  door.post(linkRequests.readLink, async (_c, { link }) => {
    const row = await links.read(link);
    return {
      organization: row.organization_name,
      email: row.email,
      expiresAt: row.expires_at,
      hasPassword: row.has_password,
    };
  });

  door.post(linkRequests.useLink, async (c, { link, password }) => {
    const use = { secret: link, password, device: deviceOf(c), callId: callId(c) };
    const { userId, token } = await links.use(use);
    signIns.forget(userId);
    return door.enter(c, userId, token);
  });

  addPasskeyRoutes({ door, accounts, challenges: createChallenges(secret, now), baseUrl });
  addProviderRoutes({ ...parts, app, door, invitations });
  addPhoneRoutes({ door, accounts, secret });
  addDeviceLoginRoutes({ door, accounts, signIns, secret, baseUrl, dispatchAs });

  app.all(`${signInPath}/*`, (c) => respond(c, { refusal: notServed() }));
  return app;

  async function enterWithPassword(c: Context, userId: string) {
    const token = await accounts.systemTransaction((tx) =>
      createSignIn(tx, { userId, way: "password", device: deviceOf(c) }),
    );
    return door.enter(c, userId, token);
  }
}

const notServed = () =>
  new Refusal(
    "unknown_path",
    "Nothing is served at this path, or not for this method. GET /api/openapi.json lists the paths.",
  );
