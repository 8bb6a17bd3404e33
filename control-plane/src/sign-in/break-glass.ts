// The way back into an organization whose provider fails: an owner who can sign in without it. No change of settings
// takes away the last such owner (decision 0090), and access/owners.ts keeps the member.
import { Refusal } from "@hawser/contract";
import type { TenantSql } from "../postgres/statement.ts";
import * as store from "./provider-store.ts";

/** Throws `last_owner` if owners sign in with the provider, and none of them can sign in without it. */
export async function refuseStranding(sql: TenantSql): Promise<void> {
  const ways = await ownersWays(sql);
  if (!ways.uses_provider || ways.has_own_way) return;
  throw new Refusal(
    "last_owner",
    "The owners sign in with this provider only, so a mistake would lock all of them out. Invite an owner's e-mail address and let them choose a password, or ask the operator for a sign-in link, and then repeat it.",
  );
}

/** How the owners of the organization can sign in now. */
export async function ownersWays(sql: TenantSql): Promise<store.OwnersWays> {
  return (await sql.first(store.selectOwnersWays, sql.organizationId))!;
}
