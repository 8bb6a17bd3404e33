// Asks providers whether they still accept the people who have signed in with them (T19): every 15 minutes, with the
// refresh token of each sign-in. Run it on one node at a time.
//
// Guarantee: a sign-in that was not confirmed for 75 minutes does not count, whether this runs or not. Sixteen
// providers that answer slowly delay those of others by half a minute at most.
import { randomUUID } from "node:crypto";
import type { Log } from "../log.ts";
import type { Database } from "../postgres/database.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { removeAll } from "../purge.ts";
import { applyGroupRole } from "./group-role.ts";
import type { Providers } from "./provider.ts";
import { providerOf, roleOfGroups } from "./provider-settings.ts";
import * as store from "./provider-store.ts";
import type { Sealing } from "./sealing.ts";
import { refreshTokenPlace } from "./sign-ins.ts";

export interface RefreshParts {
  accounts: SystemSql;
  database: Pick<Database, "tenantTransaction">;
  providers: Pick<Providers, "refresh">;
  sealing: Sealing;
  log: Log;
  /** How long one run asks about further people of one provider. */
  providerMs?: number;
}

/** Providers that are asked at once, and people of one provider. */
const mostProviders = 16;
const mostOfProvider = 4;
/** One answer takes at most ten seconds more. */
const usualProviderMs = 10_000;

/** Stops between two people when `signal` aborts; the next run continues. */
export async function refreshProviders(parts: RefreshParts, signal: AbortSignal): Promise<void> {
  const { accounts } = parts;
  await removeAll(accounts, store.forgetRefreshTokens, signal);
  for (;;) {
    const due = await accounts.rows(store.selectDueSignIns);
    if (due.length === 0 || signal.aborted) return;
    const groups = [...Map.groupBy(due, ({ settings_id }) => settings_id).values()];
    await work(groups, mostProviders, signal, (group) => refreshGroup(parts, group, signal));
  }
}

/** The sign-ins of one provider. Those that are left over wait for the next run: they must not delay the others. */
async function refreshGroup(
  parts: RefreshParts,
  group: store.DueRow[],
  signal: AbortSignal,
): Promise<void> {
  const { accounts, log } = parts;
  const { settings_id: settingsId } = group[0]!;
  try {
    if (await askProvider(parts, group, signal)) return;
  } catch (error) {
    log.warn({ err: error, settingsId }, "sign-ins with a provider could not be refreshed");
  }
  await accounts.rows(store.postponeChecks, settingsId);
}

/** Returns whether the provider has answered about everybody in time. */
async function askProvider(
  parts: RefreshParts,
  group: store.DueRow[],
  signal: AbortSignal,
): Promise<boolean> {
  const { accounts, sealing } = parts;
  const { organization_id: organizationId, settings_id: settingsId } = group[0]!;
  const settings = await accounts.first(store.selectProvider, organizationId);
  // The next run forgets the tokens of settings that have changed.
  if (settings?.settings_id !== settingsId) return false;
  const provider = providerOf(sealing, settings);
  const enough = new AbortController();
  const stopAt = performance.now() + (parts.providerMs ?? usualProviderMs);
  await work(group, mostOfProvider, AbortSignal.any([signal, enough.signal]), async (row) => {
    const token = sealing.open(refreshTokenPlace(row.token_hash), row.refresh_token);
    const answer =
      token === undefined
        ? ({ state: "refused" } as const)
        : await parts.providers.refresh(provider, token, row.subject);
    if (answer.state === "unreachable" || performance.now() >= stopAt) enough.abort();
    if (answer.state === "unreachable") return;
    if (answer.state === "refused") await end(parts, row, "the provider refused");
    else await keep(parts, row, settings, answer);
  });
  return !enough.signal.aborted;
}

async function keep(
  parts: RefreshParts,
  row: store.DueRow,
  settings: store.SettingsRow,
  answer: { refreshToken: string | null; groups: string[] | null },
): Promise<void> {
  const { accounts, database, sealing } = parts;
  const { sign_in_id, token_hash, refresh_token, organization_id: organizationId } = row;
  // First of all, because the provider may accept the former token only once.
  const next =
    answer.refreshToken === null
      ? refresh_token
      : sealing.seal(refreshTokenPlace(token_hash), answer.refreshToken);
  await accounts.rows(store.keepSignIn, sign_in_id, refresh_token, next);
  const { groups } = answer;
  if (groups === null || settings.groups_claim === null) return;
  const key = [organizationId, row.issuer, row.subject] as const;
  const identity = await accounts.first(store.selectIdentity, ...key);
  if (!identity) return end(parts, row, "the person is not a member any more");
  const { user_id: userId, group_role: former, is_excepted: isExcepted } = identity;
  if (former !== null && !isExcepted && roleOfGroups(settings, groups) === null) {
    return end(parts, row, "no group is left");
  }
  const { settings_id: settingsId } = row;
  const following = { organizationId, settingsId, userId, groups, callId: randomUUID() };
  const role = await applyGroupRole(database, following);
  if (role !== null && role !== former) await accounts.rows(store.setGroupRole, ...key, role);
}

async function end(
  { accounts, log }: RefreshParts,
  { sign_in_id: signInId }: store.DueRow,
  why: string,
): Promise<void> {
  await accounts.rows(store.endRefusedSignIn, signInId);
  log.info({ signInId, why }, "a sign-in with a provider has ended");
}

/** Calls `one` for all, at most `most` at once. Begins no other one after `signal` has aborted. */
async function work<T>(
  all: readonly T[],
  most: number,
  signal: AbortSignal,
  one: (each: T) => Promise<void>,
): Promise<void> {
  const waiting = all.values();
  const lane = async () => {
    for (const each of waiting) {
      if (signal.aborted) return;
      await one(each);
    }
  };
  await Promise.all(Array.from({ length: most }, lane));
}
