// What people do around signing in, before they are callers of any organization. Only pages of this service may send
// these requests (N24, N25).
import { Refusal, formatId } from "@hawser/contract";
import { Hono, type Context } from "hono";
import type { Log } from "../log.ts";
import type { SystemDatabase } from "../postgres/database.ts";
import { query } from "../postgres/statement.ts";
import { callId, respond } from "../transports/rest.ts";
import { createInvitations } from "./accept-invitation.ts";
import { createChallenges } from "./challenges.ts";
import { createCheckPassword } from "./check-password.ts";
import { createKnownBrowsers, noSessionCookie } from "./cookies.ts";
import { createDoor, deviceOf, tokenOf } from "./door.ts";
import { addPasskeyRoutes } from "./passkey-routes.ts";
import { selectPasskeysOf } from "./passkey-store.ts";
import { createPasswords } from "./password.ts";
import { requests, signInPath } from "./requests.ts";
import { createSignIn, shownSignIn, type SignIns } from "./sign-ins.ts";
import * as store from "./store.ts";

export interface SignInParts {
  accounts: SystemDatabase;
  signIns: SignIns;
  /** For the cookies that show known browsers, and those with challenges. */
  secret: Buffer;
  baseUrl: string;
  /** The time of the database, which is the same on every node. */
  now: () => number;
  log: Log;
}

export function signInRoutes(parts: SignInParts): Hono {
  const { accounts, signIns, secret, baseUrl, now, log } = parts;
  const app = new Hono();
  const known = createKnownBrowsers(secret);
  const passwords = createPasswords();
  const checkPassword = createCheckPassword({ accounts, passwords, known, secret });
  const invitations = createInvitations(accounts, passwords);
  const door = createDoor({ app, signIns, known, baseUrl, log });

  door.get("", async (c) => {
    const person = await door.personOf(c);
    const [reached, passkeys] = await accounts.system.together(
      query(store.selectReached, person.user_id),
      query(selectPasskeysOf, person.user_id),
    );
    return {
      user: { userId: formatId("user", person.user_id), email: person.email },
      signInId: shownSignIn(person.sign_in_id),
      expiresAt: person.expires_at,
      hasPassword: person.has_password,
      passkeys: passkeys.map((row) => ({
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
    const { email, user_id: userId } = await door.personOf(c);
    await checkPassword({ email, password, cookies: c.req.header("cookie") });
    return enterWithPassword(c, userId);
  });

  // Ends every other sign-in: whoever has the former password may have one.
  door.post(requests.changePassword, async (c, { password, newPassword }) => {
    const { email, user_id: userId } = await door.personOf(c);
    const account = await checkPassword({ email, password, cookies: c.req.header("cookie") });
    const hash = await passwords.hash(newPassword, { isKnown: true });
    const token = await accounts.systemTransaction(async (tx) => {
      const changed = await tx.first(store.updatePassword, userId, account.password_hash, hash);
      if (!changed) {
        throw new Refusal("unauthenticated", "The password was changed meanwhile. Sign in again.");
      }
      await tx.rows(store.endSignInsOf, userId);
      return createSignIn(tx, { userId, way: "password", device: deviceOf(c) });
    });
    signIns.forget(userId);
    return door.enter(c, userId, token);
  });

  door.post(requests.out, async (c) => {
    const token = tokenOf(c);
    if (token !== undefined) await signIns.end(token);
    c.header("Set-Cookie", noSessionCookie);
    return { signedOut: true };
  });

  door.post(requests.readInvitation, async (_c, { invitation }) => {
    const row = await invitations.read(invitation);
    return {
      organization: row.organization_name,
      email: row.email,
      name: row.name,
      role: row.role,
      createdBy: row.created_by,
      expiresAt: row.expires_at,
    };
  });

  door.post(requests.acceptInvitation, async (c, { invitation, password, key }) => {
    const person = await signIns.personOf(tokenOf(c));
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

  addPasskeyRoutes({ door, accounts, challenges: createChallenges(secret, now), baseUrl });

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
