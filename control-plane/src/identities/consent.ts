// Who may link an account of their own to a host: a member with keys of their own making, if an owner of the
// organization allows the way. The host checks the consent of its own owner.
import { Refusal, formatId, notFound, parseId, type LoginWay } from "@hawser/contract";
import type { Caller } from "../dispatch/caller.ts";
import { hostOffline } from "../fabric/host-asker.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { makeOwnerId, requireUser } from "./owner.ts";
import * as store from "./store.ts";

interface Owner {
  ownerId: string;
  /** The member's name, as it is shown. */
  name: string;
}

/** Throws refusals. The member cannot be removed before the transaction ends. */
export async function requireConsent(
  sql: TenantSql,
  caller: Caller,
  instanceId: string,
  way: LoginWay,
): Promise<Owner & { id: string; userId: string }> {
  const id = parseId("instance", instanceId);
  const host = id && (await sql.first(store.selectLoginHost, sql.organizationId, id));
  if (!host) throw notFound("instance");
  const userId = requireUser(caller);
  if (!host.allowed_logins.includes(way)) throw notAllowed(way);
  const { apiKeyId } = caller;
  const foreign = await sql.first(store.selectForeignKey, sql.organizationId, userId, apiKeyId);
  if (foreign) throw hasForeignKey(foreign, foreign.api_key_id === apiKeyId);
  if (host.status !== "online") throw hostOffline();
  const owner = await holdOwner(sql, userId);
  if (!owner) throw noMember();
  return { id, userId, ...owner };
}

/** Keeps the member from being removed before the transaction ends. Undefined if they are none. */
export async function holdOwner(sql: TenantSql, userId: string): Promise<Owner | undefined> {
  const member = await sql.first(store.holdMember, sql.organizationId, userId);
  return member && { ownerId: makeOwnerId(member), name: member.name };
}

const notAllowed = (way: LoginWay) =>
  new Refusal(
    "login_not_allowed",
    `This organization does not allow its members to link accounts of their own in this way (${way}). The terms of the account's maker decide whether an organization may do this; an owner can allow it with update_settings, by adding "${way}" to allowedLogins.`,
    { nextAction: "update_settings" },
  );

/** The maker of a key may have kept it, and could use the account with it. */
function hasForeignKey(
  { api_key_id, name, is_direct }: store.ForeignKeyRow,
  isCalling: boolean,
): Refusal {
  const key = `your key "${name}" (${formatId("apiKey", api_key_id)})`;
  const made = is_direct
    ? `Somebody else made ${key}, and could use your account with it.`
    : `Somebody else may have ${key}, and could use your account with it: it descends from a key that they made.`;
  const advice = isCalling
    ? "Call rotate_api_key with that key itself, and overlapMinutes 0. Then call again with the new key, which only you have."
    : "Revoke it with revoke_api_key, or, if you still need it, replace it: call rotate_api_key for it with the key of this call, and overlapMinutes 0. Then call again with the key of this call.";
  const nextAction = isCalling ? "rotate_api_key" : "revoke_api_key";
  return new Refusal("login_not_allowed", `${made} ${advice}`, { nextAction });
}

const noMember = () =>
  new Refusal("unauthenticated", "The user of this key is no longer a member.");
