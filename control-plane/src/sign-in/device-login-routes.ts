// A program gets a key of a person who approves it in a browser: the program shows a code, the person compares it there
// and approves, and the program fetches the key, once. The key is made at that moment, with the sign-in that has approved
// it as the caller of create_api_key, so everything that holds for keys made in a browser holds here (decision 0084).
import { randomUUID } from "node:crypto";
import { Refusal, parseId } from "@hawser/contract";
import type { Context } from "hono";
import {
  hashSecret,
  looksLikeSecret,
  makeSecretText,
  secretPrefixes,
} from "../access/secret-text.ts";
import { insertEntry } from "../audit/store.ts";
import type { Caller } from "../dispatch/caller.ts";
import { auditValues } from "../dispatch/changes.ts";
import type { Answer, Dispatcher } from "../dispatch/dispatcher.ts";
import { createTokenBuckets } from "../dispatch/token-bucket.ts";
import type { SystemDatabase } from "../postgres/database.ts";
import { callId } from "../transports/rest.ts";
import { hashDeviceCode, makeDeviceCode, readDeviceCode, shownCode } from "./device-codes.ts";
import * as store from "./device-login-store.ts";
import { deviceRequests as requests } from "./device-requests.ts";
import { addressOf, tokenOf, type Door } from "./door.ts";
import { deviceName, type SignIns } from "./sign-ins.ts";
import type { PersonRow } from "./store.ts";
import { createWrongCounts } from "./wrong-counts.ts";

const codeSeconds = 600;
const intervalSeconds = 2;
/** A program that polls slightly sooner than `intervalSeconds` is not slowed down. */
const pauseMs = 1_500;

/** For each address: at most 330 programs in ten minutes, each of which is a row for that time. */
const begun = { perSecond: 0.5, burst: 30 };
/** For all addresses together. */
const begunByAll = { perSecond: 5, burst: 200 };
const unknownSecrets = { perSecond: 10, burst: 100 };
const wrongCodes = { most: 10, periodMs: 15 * 60_000 };
const wrongCodesOfAddress = { most: 100, periodMs: 15 * 60_000 };

export interface DeviceLoginParts {
  door: Door;
  accounts: SystemDatabase;
  signIns: Pick<SignIns, "callerOf" | "callerOfHash">;
  /** For the digests of codes. */
  secret: Buffer;
  baseUrl: string;
  dispatchAs: Dispatcher["dispatchAs"];
}

export function addDeviceLoginRoutes(parts: DeviceLoginParts): void {
  const { door, accounts, signIns, secret, baseUrl } = parts;
  const ofAddress = createTokenBuckets(begun);
  const ofAll = createTokenBuckets(begunByAll);
  const ofUnknown = createTokenBuckets(unknownSecrets);
  const ofPerson = createWrongCounts(wrongCodes);
  const fromAddress = createWrongCounts(wrongCodesOfAddress);

  door.program(requests.beginDeviceLogin, async (c, { name }) => {
    const wait = ofAddress.take(addressOf(c)).retryAfterMs ?? ofAll.take("all").retryAfterMs;
    if (wait !== undefined) throw tooMany("Too many programs ask for a key. Wait a moment.", wait);
    const deviceSecret = makeSecretText(secretPrefixes.deviceLogin);
    const code = await insert(hashSecret(deviceSecret), deviceName(name) || "unnamed");
    return {
      deviceCode: deviceSecret,
      userCode: shownCode(code),
      verificationUrl: `${baseUrl}/device?code=${shownCode(code)}`,
      intervalSeconds,
      expiresInSeconds: codeSeconds,
    };
  });

  /** Chance makes a code that is in use about once in a million times. */
  async function insert(hash: Buffer, name: string): Promise<string> {
    for (;;) {
      const code = makeDeviceCode();
      const values = [hash, hashDeviceCode(secret, code), name, codeSeconds];
      if (await accounts.system.first(store.insertDeviceLogin, ...values)) return code;
    }
  }

  door.program(requests.pollDeviceLogin, async (c, { deviceCode }) => {
    const asked =
      looksLikeSecret(secretPrefixes.deviceLogin, deviceCode) && (await ask(deviceCode));
    if (!asked) {
      const wait = ofUnknown.take(addressOf(c)).retryAfterMs;
      if (wait !== undefined) throw tooMany("Too many unknown codes came from here.", wait);
      return { state: "expired" };
    }
    const { state, name, approved_by: approvedBy, organization_id: organizationId } = asked;
    if (state === "over") return { state: "expired" };
    if (state === "refused") return { state };
    if (state === "too_soon") return { state: "slow_down" };
    if (approvedBy === null || organizationId === null) return { state: "pending" };
    const caller = await signIns.callerOfHash(approvedBy, organizationId);
    // The person has signed out, was removed, or got another role since.
    if (!caller?.signIn) return { state: "refused" };
    const { key, apiKey } = await makeKey({ ...caller, signIn: caller.signIn }, name);
    return { state: "approved", key, apiKeyId: apiKey.apiKeyId };
  });

  /** undefined if the code is unknown. An approved one counts as fetched from now on. */
  function ask(deviceSecret: string): Promise<store.AskedRow | undefined> {
    const hash = hashSecret(deviceSecret);
    return accounts.systemTransaction(async (tx) => {
      const row = await tx.first(store.lockDeviceLogin, hash, pauseMs);
      if (row && row.state !== "over") {
        await tx.rows(store.noteAsked, hash, row.state === "approved");
      }
      return row;
    });
  }

  async function makeKey(
    caller: Caller & Required<Pick<Caller, "signIn">>,
    name: string,
  ): Promise<{ key: string; apiKey: { apiKeyId: string } }> {
    const { signIn, permissions } = caller;
    // The sign-in was fresh when it approved, and only minutes have passed.
    const approving = { ...caller, signIn: { ...signIn, authenticatedForMs: 0 } };
    const answer: Answer = await parts.dispatchAs(approving, {
      action: "create_api_key",
      body: async () => ({ name, scope: "user", permissions: [...permissions] }),
      callId: randomUUID(),
      transport: "device-login",
    });
    if ("refusal" in answer) throw answer.refusal;
    return answer.result as { key: string; apiKey: { apiKeyId: string } };
  }

  door.post(requests.readDeviceLogin, async (c, { code }) => {
    const person = await door.freshPersonOf(c);
    return shown(
      await withCode(c, person, code, (hash) =>
        accounts.system.first(store.selectOpenDeviceLogin, hash),
      ),
    );
  });

  door.post(requests.approveDeviceLogin, async (c, { code, organizationId }) => {
    const person = await door.freshPersonOf(c);
    const token = tokenOf(c)!;
    const id = parseId("organization", organizationId);
    const caller =
      id === null
        ? undefined
        : await signIns.callerOf({ token, organizationId: id }, { fresh: true });
    if (!caller) throw notReached();
    return shown(
      await withCode(c, person, code, (hash) =>
        accounts.systemTransaction(async (tx) => {
          const row = await tx.first(store.approveDeviceLogin, hash, hashSecret(token), id);
          if (!row) return undefined;
          const attempt = {
            caller,
            name: "approve_device_login",
            auditInput: { name: row.name },
            callId: callId(c),
          };
          await tx.rows(insertEntry, ...auditValues(attempt, "done"));
          return row;
        }),
      ),
    );
  });

  door.post(requests.refuseDeviceLogin, async (c, { code }) => {
    const person = await door.freshPersonOf(c);
    return shown(
      await withCode(c, person, code, (hash) =>
        accounts.system.first(store.refuseDeviceLogin, hash),
      ),
    );
  });

  /** Does something with the program of a code. Somebody who guesses codes has few attempts. */
  async function withCode(
    c: Context,
    { user_id: userId }: PersonRow,
    typed: string,
    work: (hash: Buffer) => Promise<store.DeviceLoginRow | undefined>,
  ): Promise<store.DeviceLoginRow> {
    const address = addressOf(c);
    beginAttempt(userId, address);
    const code = readDeviceCode(typed);
    const row = code === undefined ? undefined : await work(hashDeviceCode(secret, code));
    if (!row) throw noSuchCode();
    ofPerson.undo(userId);
    fromAddress.undo(address);
    return row;
  }

  function beginAttempt(userId: string, address: string): void {
    const wait = ofPerson.begin(userId);
    if (wait > 0) throw tooMany(tooManyCodes, wait);
    const waitOfAddress = fromAddress.begin(address);
    if (waitOfAddress === 0) return;
    ofPerson.undo(userId);
    throw tooMany(tooManyCodes, waitOfAddress);
  }
}

const shown = (row: store.DeviceLoginRow) => ({
  name: row.name,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
});

const tooManyCodes = "There were too many wrong codes. Wait, and then type the code again.";

const tooMany = (message: string, retryAfterMs: number) =>
  new Refusal("rate_limited", message, { retryAfterMs: Math.ceil(retryAfterMs) });

const notReached = () =>
  new Refusal(
    "not_found",
    "Your sign-in reaches no such organization. GET /api/sign-in lists those that it reaches.",
  );

const noSuchCode = () =>
  new Refusal(
    "not_found",
    "No program waits with this code: it was mistyped, is older than ten minutes, or was answered before. Let the program ask again.",
  );
