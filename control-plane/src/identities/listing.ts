// Agent accounts as list_agent_identities shows them. The host is asked, and its answer is stored for when
// it is away.
import {
  Refusal,
  formatId,
  notFound,
  parseId,
  type IdentityRecord,
  type SealingKey,
} from "@hawser/contract";
import type { HostIdentity } from "@hawser/host-protocol";
import type { ReadContext } from "../dispatch/handler.ts";
import { hostOffline } from "../fabric/host-asker.ts";
import { readFromHost, type HostServices } from "../hosts/ask-host.ts";
import { query, type TenantSql } from "../postgres/statement.ts";
import { shortened } from "../postgres/shortened.ts";
import { makeOwnerId, userOfOwner } from "./owner.ts";
import * as store from "./store.ts";

interface Listing {
  identities: IdentityRecord[];
  separated: boolean | null;
  sealingKey: SealingKey | null;
  live: boolean;
  takenAt: string | null;
}

export async function listAgentIdentities(
  context: ReadContext & HostServices,
  { instanceId, all = false }: { instanceId: string; all?: boolean | undefined },
): Promise<Listing> {
  const { sql, caller } = context;
  const id = parseId("instance", instanceId);
  const row = id && (await sql.first(store.selectListingHost, sql.organizationId, id));
  if (!row) throw notFound("instance");
  const host = { instanceId, isOnline: row.status === "online" };
  let separated: boolean | null = null;
  let sealingKey: SealingKey | null = null;
  let live = true;
  try {
    if (!host.isOnline) throw hostOffline();
    const answer = await readFromHost(context, host, "list_identities", {});
    ({ separated, sealingKey = null } = answer);
    await storeReported(sql, id, answer.identities, row.asked_at);
  } catch (error) {
    // If the host cannot answer, its last answer is better than none.
    if (!(error instanceof Refusal)) throw error;
    live = false;
  }
  // A key of the organization has no user, and so no accounts of its own.
  const hasNone = !all && caller.userId === null;
  const rows = hasNone ? [] : await readAccounts(sql, id, all ? null : caller.userId);
  const [oldest = null] = rows.map(({ taken_at }) => taken_at).sort();
  const takenAt = live ? row.asked_at : oldest;
  return { identities: rows.map(identityRecord), separated, sealingKey, live, takenAt };
}

/** The accounts of one member, or of all if `userId` is null. */
async function readAccounts(
  sql: TenantSql,
  instance: string,
  userId: string | null,
): Promise<store.AccountRow[]> {
  const rows = await sql.rows(store.selectAccounts, sql.organizationId, instance, userId);
  return rows.filter(
    ({ owner_id, user_id, joined_at }) =>
      owner_id === makeOwnerId({ user_id, created_at: joined_at }),
  );
}

/** Limits of what a host can have stored. */
const mostAccounts = 1_000;
export const longestText = 320;

/** Stores the accounts that a host has. The removal of those whose owner is no longer a member is owed. */
async function storeReported(
  sql: TenantSql,
  instance: string,
  reported: readonly HostIdentity[],
  askedAt: string,
): Promise<void> {
  const once = new Map(
    reported.map((identity) => [`${identity.ownerId} ${identity.kind}`, identity]),
  );
  const known = [...once.values()].slice(0, mostAccounts).flatMap((identity) => {
    const userId = userOfOwner(identity.ownerId);
    return userId === undefined ? [] : [{ userId, ...identity }];
  });
  const userIds = [...new Set(known.map(({ userId }) => userId))];
  const members =
    userIds.length === 0 ? [] : await sql.rows(store.selectJoined, sql.organizationId, userIds);
  const owners = new Set(members.map(makeOwnerId));
  const accounts = known.map((identity): store.ReportedAccount => ({
    owner_id: identity.ownerId,
    user_id: identity.userId,
    kind: identity.kind,
    way: identity.way ?? null,
    authenticated: identity.authenticated,
    account: shortened(identity.account, longestText),
    plan: shortened(identity.plan, longestText),
    expires_at: identity.expiresAt,
    utilization: identity.utilization,
    utilization_at: identity.utilizationAt,
    problem: shortened(identity.problem, longestText),
    removal_owed: !owners.has(identity.ownerId),
  }));
  const key = [sql.organizationId, instance] as const;
  const ownerIds = accounts.map(({ owner_id }) => owner_id);
  const kinds = accounts.map(({ kind }) => kind);
  await sql.together(
    query(store.keepReported, ...key, JSON.stringify(accounts)),
    query(store.deleteUnreported, ...key, ownerIds, kinds, askedAt),
  );
}

function identityRecord(row: store.AccountRow): IdentityRecord {
  return {
    user: { userId: formatId("user", row.user_id), name: row.name },
    kind: row.kind,
    way: row.way,
    authenticated: row.authenticated,
    account: row.account,
    plan: row.plan,
    expiresAt: row.expires_at,
    utilization: row.utilization,
    utilizationAt: row.utilization_at,
    warning: warningOf(row),
  };
}

function warningOf({
  kind,
  way,
  authenticated,
  has_expired,
  expires_soon,
  expires_at,
  problem,
}: store.AccountRow) {
  if (!authenticated && way !== "subscription" && way !== null) {
    return `The host no longer has the secret. Call link_agent_identity with the kind ${kind} again.`;
  }
  const again = `Call start_agent_login with the kind ${kind} again to renew it.`;
  if (!authenticated) return `The login is no longer valid. ${again}`;
  if (problem !== null) return problem;
  if (has_expired) return `The login has probably expired. ${again}`;
  return expires_soon ? `The login expires at ${expires_at}. ${again}` : null;
}
