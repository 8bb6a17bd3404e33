// The SQL of agent accounts and of the attempts to link them.
import type {
  IdentityWay,
  InstanceStatus,
  LinkableKind,
  LoginFlow,
  LoginRecord,
  LoginWay,
} from "@hawser/contract";
import { reachableSql } from "../hosts/store.ts";
import { statement, systemStatement } from "../postgres/statement.ts";

export interface LoginHostRow {
  status: InstanceStatus;
  allowed_logins: LoginWay[];
}

export const selectLoginHost = statement<LoginHostRow>(
  `SELECT i.status, o.allowed_logins
     FROM instances i JOIN organizations o ON o.organization_id = i.organization_id
    WHERE i.organization_id = $1 AND i.instance_id = $2 AND i.deleted_at IS NULL`,
);

/** Keeps the member from being removed before the transaction ends. No row if they are no member. */
export const holdMember = statement<{ user_id: string; created_at: string; name: string }>(
  `SELECT user_id, created_at, coalesce(name, email) AS name FROM memberships
    WHERE organization_id = $1 AND user_id = $2 FOR KEY SHARE`,
);

export interface ForeignKeyRow {
  api_key_id: string;
  name: string;
  /** False if the user's name is on it, but it was created with a key that somebody else created. */
  is_direct: boolean;
}

/**
 * A valid key of user $2 that somebody else may have: they created it, or the key with which it was created,
 * through any number of keys. The calling key $3 is returned only if somebody else created it directly; the keys
 * created with it are the caller's own. Keys of bootstrap have no creator, and keys of older versions have no
 * creating key.
 */
export const selectForeignKey = statement<ForeignKeyRow>(
  `WITH RECURSIVE reached (api_key_id, is_direct) AS (
     SELECT api_key_id, true FROM api_keys
      WHERE organization_id = $1 AND user_id = $2 AND session_id IS NULL
        AND created_by IS NOT NULL AND creator_user_id IS DISTINCT FROM $2
      UNION
     SELECT k.api_key_id, false FROM reached r
       JOIN api_keys k ON k.organization_id = $1 AND k.creator_key_id = r.api_key_id
        AND k.user_id = $2 AND k.creator_user_id = $2 AND k.session_id IS NULL
      WHERE r.api_key_id IS DISTINCT FROM $3::uuid)
   SELECT k.api_key_id, k.name, r.is_direct
     FROM reached r JOIN api_keys k ON k.organization_id = $1 AND k.api_key_id = r.api_key_id
    WHERE (r.is_direct OR k.api_key_id IS DISTINCT FROM $3::uuid)
      AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > hawser_now())
    ORDER BY k.api_key_id = $3::uuid DESC, k.api_key_id LIMIT 1`,
);

export interface LoginRow {
  login_id: string;
  instance_id: string;
  user_id: string;
  owner_id: string;
  kind: LinkableKind;
  /** Null if the host has not answered. */
  flow: LoginFlow | null;
  authorization_url: string | null;
  user_code: string | null;
  status: LoginRecord["status"];
  error: string | null;
  account: string | null;
  expires_at: string | null;
}

const expiredSql = `l.status = 'pending' AND l.created_at <= hawser_now() - interval '15 minutes'`;
const expiredMessage =
  "The attempt has expired: it was open for 15 minutes. Call start_agent_login again.";

/** An attempt that was open for too long is shown with an error, until its host has said what became of it. */
const loginColumns = `l.login_id, l.instance_id, l.user_id, l.owner_id, l.kind, l.flow, l.authorization_url,
          l.user_code, CASE WHEN ${expiredSql} THEN 'error' ELSE l.status END AS status,
          CASE WHEN ${expiredSql} THEN '${expiredMessage}' ELSE l.error END AS error, l.account, l.expires_at`;

/** With the host's state, and with the time when the user became a member; null if they are none. */
export const selectLogin = statement<
  LoginRow & { reachable: boolean; joined_at: string | null; is_open: boolean }
>(
  `SELECT ${loginColumns}, l.status = 'pending' AS is_open, ${reachableSql("l")} AS reachable, m.created_at AS joined_at
     FROM agent_logins l
     LEFT JOIN memberships m ON m.organization_id = l.organization_id AND m.user_id = l.user_id
    WHERE l.organization_id = $1 AND l.login_id = $2`,
);

/** $2 instance, $3 user, $4 owner, $5 kind. */
export const insertLogin = statement<{ login_id: string }>(
  `INSERT INTO agent_logins (organization_id, instance_id, user_id, owner_id, kind)
   VALUES ($1, $2, $3, $4, $5) RETURNING login_id`,
);

/** Stores what the host has answered: $3 flow, $4 address, $5 code. No row if the attempt was deleted. */
export const setLoginFlow = statement<LoginRow>(
  `UPDATE agent_logins l SET flow = $3, authorization_url = $4, user_code = $5
    WHERE organization_id = $1 AND login_id = $2
   RETURNING ${loginColumns}`,
);

export const deleteLogin = statement(
  `DELETE FROM agent_logins WHERE organization_id = $1 AND login_id = $2`,
);

/** Ends the open attempts with a kind: $2 instance, $3 owner, $4 kind, $5 the attempt that they precede, $6 why. */
export const endOtherLogins = statement(
  `UPDATE agent_logins SET status = 'error', error = $6
    WHERE organization_id = $1 AND instance_id = $2 AND owner_id = $3 AND kind = $4 AND status = 'pending'
      AND login_id < $5`,
);

/** Ends the open attempts with a kind: $2 instance, $3 owner, $4 kind, $5 only those made until then, $6 why. */
export const endLogins = statement(
  `UPDATE agent_logins SET status = 'error', error = $6
    WHERE organization_id = $1 AND instance_id = $2 AND owner_id = $3 AND kind = $4 AND status = 'pending'
      AND created_at <= $5`,
);

export const selectNow = statement<{ now: string }>(`SELECT hawser_now() AS now`);

/** $3 status, $4 error, $5 account, $6 expiry. A claude_code login without an expiry lasts 30 days. */
export const finishLogin = statement<LoginRow>(
  `UPDATE agent_logins l
      SET status = $3, error = $4, account = $5,
          expires_at = coalesce($6, CASE WHEN $3 = 'done' AND kind = 'claude_code'
                                         THEN hawser_now() + interval '30 days' END)
    WHERE organization_id = $1 AND login_id = $2 AND status = 'pending'
   RETURNING ${loginColumns}`,
);

/** Removes some at a time. */
export const deleteOldLogins = systemStatement<{ login_id: string }>(
  "remove old login attempts",
  `DELETE FROM agent_logins
    WHERE (organization_id, login_id) IN (
          SELECT organization_id, login_id FROM agent_logins
           WHERE created_at < hawser_now() - interval '1 day' LIMIT 1000)
   RETURNING login_id`,
);

/**
 * Records that the host may have a home of this account: $2 instance, $3 owner, $4 user, $5 kind, $6 whether
 * its removal is owed.
 */
export const keepAccount = statement(
  `INSERT INTO agent_accounts (organization_id, instance_id, owner_id, user_id, kind, removal_owed)
   VALUES ($1, $2, $3, $4, $5, $6)
   ON CONFLICT (organization_id, instance_id, owner_id, kind)
     DO UPDATE SET removal_owed = agent_accounts.removal_owed OR excluded.removal_owed,
                   tried_at = excluded.tried_at`,
);

/** Marks the account of a finished login as linked. No-op if the user is no longer a member. */
export const linkAccount = statement(
  `INSERT INTO agent_accounts
     (organization_id, instance_id, owner_id, user_id, kind, way, linked, authenticated, account, expires_at)
   SELECT l.organization_id, l.instance_id, l.owner_id, l.user_id, l.kind, 'subscription', true, true,
          l.account, l.expires_at
     FROM agent_logins l
     JOIN memberships m ON m.organization_id = l.organization_id AND m.user_id = l.user_id
    WHERE l.organization_id = $1 AND l.login_id = $2 AND l.status = 'done'
   ON CONFLICT (organization_id, instance_id, owner_id, kind)
     DO UPDATE SET way = excluded.way, linked = true, authenticated = true, account = excluded.account,
                   expires_at = excluded.expires_at, taken_at = hawser_now()`,
);

/** Marks the account of a linked secret: $2 instance, $3 owner, $4 kind, $5 way, $6 account. No row if it was removed. */
export const linkSecret = statement(
  `UPDATE agent_accounts
      SET way = $5, linked = true, authenticated = true, account = $6, plan = NULL, expires_at = NULL,
          utilization = NULL, utilization_at = NULL, problem = NULL, taken_at = hawser_now()
    WHERE organization_id = $1 AND instance_id = $2 AND owner_id = $3 AND kind = $4`,
);

/** $2 instance, $3 owner, $4 kind, $5 when its removal began. Keeps an account that was linked again since. */
export const deleteAccount = statement(
  `DELETE FROM agent_accounts
    WHERE organization_id = $1 AND instance_id = $2 AND owner_id = $3 AND kind = $4 AND tried_at <= $5`,
);

export const forgetAccountsOfInstance = statement(
  `DELETE FROM agent_accounts WHERE organization_id = $1 AND instance_id = $2`,
);

export const forgetLoginsOfInstance = statement(
  `DELETE FROM agent_logins WHERE organization_id = $1 AND instance_id = $2`,
);

/** A host that is paired again has removed all accounts. $1 organization, $2 instance. */
export const forgetAccountsOfPairedHost = systemStatement(
  "forget the agent accounts of an instance that is paired again",
  `WITH attempts AS (DELETE FROM agent_logins WHERE organization_id = $1 AND instance_id = $2)
   DELETE FROM agent_accounts WHERE organization_id = $1 AND instance_id = $2`,
);

/** Whether the host is online, and the time by the database's clock. */
export const selectListingHost = statement<{ status: InstanceStatus; asked_at: string }>(
  `SELECT status, hawser_now() AS asked_at FROM instances
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL`,
);

/** $2 users. */
export const selectJoined = statement<{ user_id: string; created_at: string }>(
  `SELECT user_id, created_at FROM memberships WHERE organization_id = $1 AND user_id = ANY ($2::uuid[])`,
);

/** An account that a host reports, with what the records know about its owner. */
export interface ReportedAccount {
  owner_id: string;
  user_id: string;
  kind: LinkableKind;
  /** Null if the host's daemon does not report it. */
  way: IdentityWay | null;
  authenticated: boolean;
  account: string | null;
  plan: string | null;
  expires_at: string | null;
  utilization: number | null;
  utilization_at: string | null;
  problem: string | null;
  removal_owed: boolean;
}

/** Stores the accounts that a host reports: $2 instance, $3 JSON array of them. */
export const keepReported = statement(
  `INSERT INTO agent_accounts (organization_id, instance_id, owner_id, user_id, kind, way, linked, authenticated,
                               account, plan, expires_at, utilization, utilization_at, problem,
                               removal_owed)
   SELECT i.organization_id, i.instance_id, r.owner_id, r.user_id, r.kind, r.way, true, r.authenticated, r.account,
          r.plan, r.expires_at, r.utilization, r.utilization_at, r.problem,
          r.removal_owed
     FROM jsonb_to_recordset($3::jsonb) AS r (owner_id text, user_id uuid, kind text, way text, authenticated boolean,
            account text, plan text, expires_at timestamptz, utilization double precision,
            utilization_at timestamptz, problem text, removal_owed boolean)
     JOIN instances i ON i.organization_id = $1 AND i.instance_id = $2 AND i.deleted_at IS NULL
   ON CONFLICT (organization_id, instance_id, owner_id, kind)
     DO UPDATE SET way = excluded.way, linked = true, authenticated = excluded.authenticated,
                   account = excluded.account, plan = excluded.plan, utilization = excluded.utilization,
                   utilization_at = excluded.utilization_at, problem = excluded.problem, taken_at = hawser_now(),
                   -- Only logins expire.
                   expires_at = CASE WHEN coalesce(excluded.way, 'subscription') = 'subscription'
                                     THEN coalesce(excluded.expires_at, agent_accounts.expires_at) END,
                   removal_owed = agent_accounts.removal_owed OR excluded.removal_owed`,
);

/**
 * Deletes the accounts that the host no longer has: $2 instance, $3 owners and $4 kinds of those that it has,
 * $5 when it was asked. Keeps owed removals, open attempts, and accounts that were linked since then.
 */
export const deleteUnreported = statement(
  `DELETE FROM agent_accounts a
    WHERE organization_id = $1 AND instance_id = $2 AND NOT removal_owed AND taken_at < $5
      AND NOT EXISTS (SELECT FROM unnest($3::text[], $4::text[]) AS reported (owner_id, kind)
                       WHERE reported.owner_id = a.owner_id AND reported.kind = a.kind)
      AND NOT EXISTS (SELECT FROM agent_logins l
                       WHERE l.organization_id = a.organization_id AND l.instance_id = a.instance_id
                         AND l.owner_id = a.owner_id AND l.kind = a.kind
                         AND l.status = 'pending' AND NOT (${expiredSql}))`,
);

export interface AccountRow extends Omit<ReportedAccount, "removal_owed"> {
  taken_at: string;
  has_expired: boolean;
  expires_soon: boolean;
  name: string;
  joined_at: string;
}

/** The linked accounts of members on an instance: $3 user, null for every user. */
export const selectAccounts = statement<AccountRow>(
  `SELECT a.owner_id, a.user_id, a.kind, a.way, a.authenticated, a.account, a.plan, a.expires_at, a.utilization, a.utilization_at, a.problem,
          a.taken_at, coalesce(a.expires_at <= hawser_now(), false) AS has_expired,
          coalesce(a.expires_at <= hawser_now() + interval '3 days', false) AS expires_soon,
          coalesce(m.name, m.email) AS name, m.created_at AS joined_at
     FROM agent_accounts a
     JOIN memberships m ON m.organization_id = a.organization_id AND m.user_id = a.user_id
    WHERE a.organization_id = $1 AND a.instance_id = $2 AND a.linked AND NOT a.removal_owed
      AND ($3::uuid IS NULL OR a.user_id = $3)
    ORDER BY m.email, a.kind`,
);
