// The SQL of single sign-on: the settings of organizations, whom providers' people are, and their sign-ins.
import { statement, systemStatement } from "../postgres/statement.ts";
import { provedAt } from "./store.ts";

export interface GroupRoleRow {
  group: string;
  role: string;
}

export interface SettingsRow {
  organization_id: string;
  settings_id: string;
  issuer: string;
  client_id: string;
  client_secret: Buffer;
  groups_claim: string | null;
  group_roles: GroupRoleRow[];
  required: boolean;
  except_user_ids: string[];
  tested_at: string | null;
}

const settingsColumns = `organization_id, settings_id, issuer, client_id, client_secret, groups_claim, group_roles,
  required, except_user_ids, tested_at`;

// For the calling organization.

export const selectSettings = statement<SettingsRow>(
  `SELECT ${settingsColumns} FROM sign_in_settings WHERE organization_id = $1`,
);

export const upsertSettings = statement<SettingsRow>(
  `INSERT INTO sign_in_settings (${settingsColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
   ON CONFLICT (organization_id) DO UPDATE
      SET settings_id = $2, issuer = $3, client_id = $4, client_secret = $5, groups_claim = $6, group_roles = $7,
          required = $8, except_user_ids = $9,
          tested_at = CASE WHEN sign_in_settings.settings_id = $2 THEN sign_in_settings.tested_at ELSE $10 END
   RETURNING ${settingsColumns}`,
);

export const deleteSettings = statement(`DELETE FROM sign_in_settings WHERE organization_id = $1`);

/** $2 users. Those who are no members have no row. */
export const selectExcepted = statement<{
  user_id: string;
  is_owner: boolean;
  has_own_way: boolean;
}>(
  `SELECT user_id, role = 'owner' AS is_owner,
          sign_in_key IS NOT NULL AND sign_in.has_own_way(user_id) AS has_own_way
     FROM memberships WHERE organization_id = $1 AND user_id = ANY ($2::uuid[])`,
);

export interface OwnersWays {
  /** Whether an owner has signed in with the present provider. */
  uses_provider: boolean;
  /** Whether an owner has a password or a passkey that reaches the organization. */
  has_own_way: boolean;
}

export const selectOwnersWays = statement<OwnersWays>(
  `SELECT coalesce(bool_or(sign_in.uses_provider(user_id)), false) AS uses_provider,
          coalesce(bool_or(sign_in_key IS NOT NULL AND sign_in.has_own_way(user_id)), false) AS has_own_way
     FROM memberships WHERE organization_id = $1 AND role = 'owner'`,
);

export interface ConnectedIdentityRow {
  user_id: string;
  issuer: string;
  subject: string;
  group_role: string | null;
  created_at: string;
}

/** $1 user or null, after user $2, issuer $3 and subject $4. */
export const selectConnectedIdentities = statement<ConnectedIdentityRow>(
  `SELECT user_id, issuer, subject, group_role, created_at
     FROM sign_in.connected_identities($1, $2, $3, $4, $5)`,
);

/** $1 user, $2 issuer, $3 subject. No row if the member has no such identity. */
export const removeIdentity = statement<{ remove_identity: string }>(
  `SELECT sign_in.remove_identity($1, $2, $3)`,
);

// As hawser_sign_in.

/** $1 organization. */
export const selectProvider = systemStatement<SettingsRow>(
  "find the identity provider of an organization",
  `SELECT ${settingsColumns} FROM sign_in_settings WHERE organization_id = $1`,
);

/** Lets people who join with the provider join one after the other. */
export const lockProvider = systemStatement(
  "let people join with a provider one after the other",
  `SELECT FROM sign_in_settings WHERE organization_id = $1 FOR NO KEY UPDATE`,
);

export const noteTest = systemStatement(
  "record that somebody has signed in with a provider",
  `UPDATE sign_in_settings SET tested_at = hawser_now()
    WHERE organization_id = $1 AND settings_id = $2
      AND (tested_at IS NULL OR tested_at < hawser_now() - interval '1 hour')`,
);

export interface IdentityRow {
  user_id: string;
  group_role: string | null;
  /** Whether the member is an owner whose role follows no groups. */
  is_excepted: boolean;
}

const oneIdentity = `SELECT i.user_id, i.group_role,
         m.role = 'owner' AND m.user_id = ANY (p.except_user_ids) AS is_excepted
    FROM sign_in.identities i
    JOIN memberships m ON m.organization_id = i.organization_id AND m.user_id = i.user_id
    JOIN sign_in_settings p ON p.organization_id = i.organization_id
   WHERE i.organization_id = $1 AND i.issuer = $2 AND i.subject = $3`;

/** $1 organization, $2 issuer, $3 subject. */
export const selectIdentity = systemStatement<IdentityRow>(
  "find the member whom a provider's person still is",
  oneIdentity,
);

/** As above. */
export const lockIdentity = systemStatement<IdentityRow>(
  "find the member whom a provider's person is",
  `${oneIdentity} FOR UPDATE OF i`,
);

export const insertIdentity = systemStatement(
  "record which member a provider's person is",
  `INSERT INTO sign_in.identities (organization_id, issuer, subject, user_id, group_role)
   VALUES ($1, $2, $3, $4, $5)`,
);

export const setGroupRole = systemStatement(
  "record which role a group gives to a member",
  `UPDATE sign_in.identities SET group_role = $4 WHERE organization_id = $1 AND issuer = $2 AND subject = $3`,
);

/** $2 e-mail address in lower case. */
export const selectMemberByEmail = systemStatement<{ user_id: string }>(
  "find the member with an e-mail address",
  `SELECT user_id FROM memberships WHERE organization_id = $1 AND email = $2
    UNION SELECT m.user_id FROM users u JOIN memberships m ON m.user_id = u.user_id AND m.organization_id = $1
    WHERE u.email = $2`,
);

/** $1 organization, $2 user. */
export const lockProviderMember = systemStatement<{
  sign_in_key: string | null;
  /** Null also if it was revoked. */
  provider_key: string | null;
  has_had_keys: boolean;
}>(
  "find the membership of a provider's person",
  `SELECT m.sign_in_key,
          (SELECT k.api_key_id FROM api_keys k
            WHERE k.organization_id = m.organization_id AND k.api_key_id = m.provider_key
              AND k.revoked_at IS NULL) AS provider_key,
          EXISTS (SELECT FROM api_keys k
                   WHERE k.organization_id = m.organization_id AND k.user_id = m.user_id
                     AND k.created_at >= m.created_at AND k.session_id IS NULL) AS has_had_keys
     FROM memberships m WHERE m.organization_id = $1 AND m.user_id = $2 FOR UPDATE OF m`,
);

/** $1 organization, $2 sign-in. A row if the person's role there has changed since, so that it reaches it no more. */
export const selectRoleChange = systemStatement(
  "find out whether a changed role has ended a sign-in",
  `SELECT FROM memberships m JOIN sign_in.sign_ins s ON s.user_id = m.user_id
    WHERE m.organization_id = $1 AND s.sign_in_id = $2 AND ${provedAt} < m.sign_ins_from`,
);

export const setProviderKey = systemStatement(
  "let the sign-ins of a provider's person reach the organization",
  `UPDATE memberships SET provider_key = $3 WHERE organization_id = $1 AND user_id = $2`,
);

/** How long the provider's last word holds: until it is asked again, and for an hour if it is out of reach then. */
const checkEvery = `interval '15 minutes'`;
const trusted = `interval '75 minutes'`;

/**
 * $9 seconds since 1970 at which the person proved who they are; null: now. A provider without a refresh token cannot
 * be asked again.
 */
export const insertProviderSignIn = systemStatement<{ sign_in_id: string }>(
  "create a sign-in with a provider",
  `INSERT INTO sign_in.sign_ins
     (token_hash, user_id, way, device, organization_id, settings_id, issuer, subject, refresh_token,
      authenticated_at, checked_at, check_at, provider_until, expires_at)
   SELECT $1, $2, 'provider', $3, $4, $5, $6, $7, $8::bytea, least(now, coalesce(to_timestamp($9::float8), now)),
          now, now + ${checkEvery},
          now + CASE WHEN $8::bytea IS NULL THEN interval '1 hour' ELSE ${trusted} END,
          now + CASE WHEN $8::bytea IS NULL THEN interval '1 hour' ELSE interval '12 hours' END
     FROM hawser_now() AS now
   RETURNING sign_in_id`,
);

export interface DueRow {
  sign_in_id: string;
  token_hash: Buffer;
  user_id: string;
  organization_id: string;
  settings_id: string;
  issuer: string;
  subject: string;
  refresh_token: Buffer;
}

/** At most 500, of as many organizations as possible; of one organization those that would end soonest. */
export const selectDueSignIns = systemStatement<DueRow>(
  "find sign-ins whose provider is to be asked again",
  `SELECT sign_in_id, token_hash, user_id, organization_id, settings_id, issuer, subject, refresh_token
     FROM (SELECT s.*, row_number() OVER (PARTITION BY organization_id ORDER BY provider_until) AS place
             FROM sign_in.sign_ins s
            WHERE refresh_token IS NOT NULL AND ended_at IS NULL AND check_at <= hawser_now()) AS due
    WHERE least(provider_until, expires_at) > hawser_now()
    ORDER BY place, check_at LIMIT 500`,
);

/** $2 the sealed token that was used, $3 the one for the next time. */
export const keepSignIn = systemStatement(
  "record that a provider accepts a person",
  `UPDATE sign_in.sign_ins
      SET refresh_token = $3, checked_at = hawser_now(), check_at = hawser_now() + ${checkEvery},
          provider_until = hawser_now() + ${trusted}
    WHERE sign_in_id = $1 AND refresh_token = $2 AND ended_at IS NULL`,
);

/** $1 settings. `provider_until` stays. */
export const postponeChecks = systemStatement(
  "ask a provider that is out of reach again later",
  `UPDATE sign_in.sign_ins SET check_at = hawser_now() + interval '1 minute'
    WHERE settings_id = $1 AND refresh_token IS NOT NULL AND ended_at IS NULL AND check_at <= hawser_now()`,
);

export const endRefusedSignIn = systemStatement<{ user_id: string }>(
  "end a sign-in that its provider no longer accepts",
  `UPDATE sign_in.sign_ins SET ended_at = coalesce(ended_at, hawser_now()), refresh_token = NULL
    WHERE sign_in_id = $1 RETURNING user_id`,
);

/** Sign-ins that do not count any more need no refresh token. At most 1,000; no row if none is left. */
export const forgetRefreshTokens = systemStatement<{ sign_in_id: string }>(
  "delete refresh tokens of sign-ins that are over",
  `UPDATE sign_in.sign_ins SET ended_at = coalesce(ended_at, hawser_now()), refresh_token = NULL
    WHERE sign_in_id IN (
      SELECT s.sign_in_id FROM sign_in.sign_ins s
       WHERE s.refresh_token IS NOT NULL
         AND (s.ended_at IS NOT NULL OR least(s.provider_until, s.expires_at) <= hawser_now()
              OR NOT EXISTS (SELECT FROM sign_in_settings p
                              WHERE p.organization_id = s.organization_id AND p.settings_id = s.settings_id))
       LIMIT 1000)
   RETURNING sign_in_id`,
);
