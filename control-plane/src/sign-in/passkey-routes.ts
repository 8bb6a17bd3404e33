// Adding, using and removing passkeys.
import { Refusal, notFound } from "@hawser/contract";
import type { Context } from "hono";
import { hashSecret } from "../access/secret-text.ts";
import type { SystemDatabase, SystemTransaction } from "../postgres/database.ts";
import type { Challenges, Purpose } from "./challenges.ts";
import { attemptCookie, attemptCookieOf, readCookie } from "./cookies.ts";
import { deviceOf, type Door } from "./door.ts";
import * as store from "./passkey-store.ts";
import type { Passkey, Passkeys } from "./passkeys.ts";
import { requests } from "./requests.ts";
import { createSignIn, deviceName } from "./sign-ins.ts";

/** How long a person may take to confirm with the device. */
const attemptSeconds = 300;
const mostPasskeys = 20;

export function addPasskeyRoutes({
  door,
  accounts,
  challenges,
  baseUrl,
}: {
  door: Door;
  accounts: SystemDatabase;
  challenges: Challenges;
  baseUrl: string;
}): void {
  const { system } = accounts;
  const { origin } = new URL(baseUrl);
  let loaded: Promise<Passkeys | undefined> | undefined;

  /** The library is loaded when the first person uses a passkey. */
  async function passkeys(): Promise<Passkeys> {
    loaded ??= import("./passkeys.ts").then(({ createPasskeys }) => createPasskeys(origin));
    const made = await loaded;
    if (made) return made;
    throw new Refusal(
      "passkeys_unavailable",
      "Passkeys need a service whose address has a name. Open it by its name; a service on this machine is also localhost.",
    );
  }

  function begin(c: Context, purpose: Purpose, challenge: string) {
    const sealed = challenges.seal(purpose, challenge, attemptSeconds);
    c.header("Set-Cookie", attemptCookieOf(sealed, attemptSeconds), { append: true });
  }

  function challengeOf(c: Context, purpose: Purpose): string {
    const sealed = readCookie(c.req.header("cookie"), attemptCookie);
    const challenge = sealed && challenges.open(purpose, sealed);
    if (!challenge) throw notConfirmed();
    return challenge;
  }

  /** Call it with what the good answer of a challenge causes: another answer of the same is refused. */
  async function spend(tx: SystemTransaction, challenge: string) {
    const values = [hashSecret(challenge), 2 * attemptSeconds];
    if (!(await tx.first(store.spendChallenge, ...values))) throw notConfirmed();
  }

  // A passkey gives lasting access, so it is added with a fresh sign-in only.
  door.post(requests.beginPasskey, async (c) => {
    const person = await door.freshAccountOf(c);
    const rows = await system.rows(store.selectPasskeysOf, person.user_id);
    const { options, challenge } = await (
      await passkeys()
    ).beginRegistration({
      userId: person.user_id,
      email: person.email,
      name: null,
      passkeys: rows.map(passkeyOf),
    });
    begin(c, "new_passkey", challenge);
    return { options };
  });

  door.post(requests.addPasskey, async (c, { response }) => {
    const { user_id: userId } = await door.freshAccountOf(c);
    const challenge = challengeOf(c, "new_passkey");
    const made = await (await passkeys()).finishRegistration(response, challenge);
    if (!made) throw notConfirmed();
    const added = await accounts.systemTransaction(async (tx) => {
      await spend(tx, challenge);
      return tx.first(
        store.insertPasskey,
        made.credentialId,
        userId,
        made.publicKey,
        made.counter,
        made.transports,
        deviceName(deviceOf(c)),
        mostPasskeys,
      );
    });
    if (!added) {
      throw new Refusal(
        "limit_reached",
        `You have ${mostPasskeys} passkeys, or this one already. Remove one first.`,
      );
    }
    return { passkeyId: made.credentialId };
  });

  door.post(requests.removePasskey, async (c, { passkeyId }) => {
    const { user_id: userId } = await door.freshAccountOf(c);
    await accounts.systemTransaction(async (tx) => {
      const account = await tx.first(store.lockAccount, userId);
      const removed = await tx.first(store.deletePasskey, userId, passkeyId);
      if (!removed) throw notFound("passkey");
      if (account?.has_password) return;
      const [left] = await tx.rows(store.selectPasskeysOf, userId);
      const needing = left ? undefined : await tx.first(store.selectBreakGlassOf, userId);
      if (needing) throw lastWay(needing.name);
    });
    return { passkeyId, removed: true };
  });

  door.post(requests.beginPasskeySignIn, async (c) => {
    const { options, challenge } = await (await passkeys()).beginSignIn();
    begin(c, "passkey", challenge);
    return { options };
  });

  door.post(requests.passkey, async (c, { response }) => {
    const challenge = challengeOf(c, "passkey");
    const made = await passkeys();
    const id = made.credentialIdOf(response);
    const row = id === undefined ? undefined : await system.first(store.selectPasskey, id);
    const used = row && (await made.finishSignIn(response, challenge, passkeyOf(row)));
    if (!row || !used) throw notConfirmed();
    const token = await accounts.systemTransaction(async (tx) => {
      await spend(tx, challenge);
      const { credential_id: credentialId, counter, user_id: userId } = row;
      const isFirst = await tx.first(store.usePasskey, credentialId, counter, used.counter);
      if (!isFirst) throw notConfirmed();
      return createSignIn(tx, { userId, way: "passkey", device: deviceOf(c) });
    });
    return door.enter(c, row.user_id, token);
  });
}

function passkeyOf(row: store.PasskeyRow): Passkey {
  return {
    credentialId: row.credential_id,
    publicKey: row.public_key,
    counter: row.counter,
    transports: row.transports,
  };
}

const lastWay = (organization: string) =>
  new Refusal(
    "last_owner",
    `This passkey is the only way into ${organization} if its identity provider fails. Add another passkey first.`,
  );

const notConfirmed = () =>
  new Refusal(
    "unauthenticated",
    "The passkey was not accepted: the request is too old, was answered before, or this service does not know the passkey. Try again.",
  );
