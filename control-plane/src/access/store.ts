// The SQL of organizations, members and API keys. Statements that run as hawser_system are system
// statements.
import type {
  AgentPolicy,
  Caller,
  LoginWay,
  Permission,
  SessionMode,
  TrustedRepository,
} from "@hawser/contract";
import { statement, systemStatement } from "../postgres/statement.ts";
import type { HeldRole } from "./roles.ts";

export const newId = systemStatement<{ id: string }>(
  "create an id",
  `SELECT hawser_new_id() AS id`,
);

export interface KeyOwner {
  secret_hash: Buffer;
  organization_id: string;
  organization_name: string;
  api_key_id: string;
  user_id: string | null;
  session_id: string | null;
  permissions: Permission[];
  /** The present role of the user; null if the key belongs to no user. */
  role: string | null;
  own_permissions: Permission[] | null;
  /** Whether single sessions were granted to the user. */
  has_grants: boolean;
  joined_at: string | null;
  expires_in_ms: number | null;
}

/** No row for a key that is not valid. A user's key ends with the membership, an agent's key with its session. */
const keyOwners = (keys: string) =>
  `SELECT k.secret_hash, k.organization_id, o.name AS organization_name, k.api_key_id, k.user_id, k.session_id,
          k.permissions, coalesce(m.own_role, m.role) AS role, r.permissions AS own_permissions,
          m.created_at AS joined_at,
          EXISTS (SELECT FROM session_grants g
                   WHERE g.organization_id = m.organization_id AND g.user_id = m.user_id) AS has_grants,
          (extract(epoch FROM k.expires_at - hawser_now()) * 1000)::bigint AS expires_in_ms
     FROM ${keys}
     JOIN organizations o ON o.organization_id = k.organization_id
     LEFT JOIN memberships m ON m.organization_id = k.organization_id AND m.user_id = k.user_id
     LEFT JOIN roles r ON r.organization_id = m.organization_id AND r.name = m.own_role
    WHERE k.revoked_at IS NULL
      AND (k.expires_at IS NULL OR k.expires_at > hawser_now())
      AND (k.user_id IS NULL OR m.user_id IS NOT NULL)
      AND (k.session_id IS NULL OR EXISTS (
        SELECT FROM sessions s
         WHERE s.organization_id = k.organization_id AND s.session_id = k.session_id
           AND s.status NOT IN ('ended', 'cleanup_failed') AND s.deleted_at IS NULL))`;

/** $1 hashes of keys, each in bytea's hex form. */
export const selectKeyOwners = systemStatement<KeyOwner>(
  "find the owners of API keys by their hashes",
  keyOwners(
    `unnest($1::bytea[]) AS asked (secret_hash) JOIN api_keys k ON k.secret_hash = asked.secret_hash`,
  ),
);

/** $1 organizations and $2 keys, in pairs. */
export const selectOwnersOfKeys = systemStatement<KeyOwner>(
  "find the owners of the API keys that exposures act with",
  keyOwners(
    `unnest($1::uuid[], $2::uuid[]) AS asked (organization_id, api_key_id)
     JOIN api_keys k ON k.organization_id = asked.organization_id AND k.api_key_id = asked.api_key_id`,
  ),
);

/** $1 organization, $2 key. */
export const selectKeyOwner = systemStatement<KeyOwner>(
  "find the owner of the API key that a schedule or webhook acts with",
  keyOwners(`(SELECT * FROM api_keys WHERE organization_id = $1 AND api_key_id = $2) AS k`),
);

export const anyOrganization = systemStatement<{ name: string }>(
  "check whether the service is set up",
  `SELECT name FROM organizations LIMIT 1`,
);

export const insertOrganization = systemStatement<{ organization_id: string }>(
  "create an organization",
  `INSERT INTO organizations (name) VALUES ($1) RETURNING organization_id`,
);

export const userForEmail = systemStatement<{ user_id: string }>(
  "find or create the user of an e-mail address",
  `SELECT hawser_user_for_email($1) AS user_id`,
);

export interface ApiKeyRow {
  api_key_id: string;
  name: string;
  user_id: string | null;
  session_id: string | null;
  permissions: Permission[];
  created_by: Caller | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  user_name: string | null;
  /** The present role of the user; null after they have left. */
  user_role: string | null;
  user_own_permissions: Permission[] | null;
}

const ofUser = (column: string) => `(SELECT ${column} FROM memberships m
     LEFT JOIN roles r ON r.organization_id = m.organization_id AND r.name = m.own_role
    WHERE m.organization_id = api_keys.organization_id AND m.user_id = api_keys.user_id)`;
const apiKeyColumns = `api_key_id, name, user_id, session_id, permissions, created_by, created_at,
  expires_at, last_used_at, revoked_at,
  ${ofUser("coalesce(m.name, m.email)")} AS user_name, ${ofUser("coalesce(m.own_role, m.role)")} AS user_role,
  ${ofUser("r.permissions")} AS user_own_permissions`;

export const insertApiKey = systemStatement<ApiKeyRow>(
  "create an API key",
  `INSERT INTO api_keys
     (organization_id, api_key_id, name, secret_hash, user_id, session_id, permissions, created_by, expires_at,
      creator_user_id, creator_key_id)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
   RETURNING ${apiKeyColumns}`,
);

/** Newest first, older than $2. */
export const selectApiKeys = statement<ApiKeyRow>(
  `SELECT ${apiKeyColumns} FROM api_keys
    WHERE organization_id = $1 AND api_key_id < $2 AND revoked_at IS NULL AND secret_hash IS NOT NULL
    ORDER BY api_key_id DESC LIMIT $3`,
);

export const selectKeyName = statement<{ name: string }>(
  `SELECT name FROM api_keys WHERE organization_id = $1 AND api_key_id = $2`,
);

/**
 * $1 organizations, $2 keys. Skips keys whose use was written within five minutes, and keys that another
 * transaction has locked: this bookkeeping waits for nobody, so it cannot deadlock. Returns the keys that
 * were locked.
 */
export const noteKeyUses = systemStatement<{ api_key_id: string }>(
  "record when API keys were last used",
  `WITH due AS MATERIALIZED (
     SELECT k.organization_id, k.api_key_id
       FROM unnest($1::uuid[], $2::uuid[]) AS used (organization_id, api_key_id)
       JOIN api_keys k ON k.organization_id = used.organization_id AND k.api_key_id = used.api_key_id
      WHERE k.last_used_at IS NULL OR k.last_used_at <= hawser_now() - interval '5 minutes'),
   free AS MATERIALIZED (
     SELECT k.organization_id, k.api_key_id
       FROM due JOIN api_keys k ON k.organization_id = due.organization_id AND k.api_key_id = due.api_key_id
      ORDER BY k.organization_id, k.api_key_id FOR NO KEY UPDATE OF k SKIP LOCKED),
   written AS (
     UPDATE api_keys k SET last_used_at = hawser_now() FROM free
      WHERE k.organization_id = free.organization_id AND k.api_key_id = free.api_key_id)
   SELECT api_key_id FROM due EXCEPT SELECT api_key_id FROM free`,
);

/** The key of a signed-in member has no secret, and is none that callers can see or change. */
const oneApiKey = `SELECT ${apiKeyColumns} FROM api_keys
    WHERE organization_id = $1 AND api_key_id = $2 AND secret_hash IS NOT NULL`;

/** Locks the key, so that a rotation and a revocation of it run one after the other. */
export const lockApiKey = statement<ApiKeyRow>(`${oneApiKey} FOR UPDATE`);

/** No row if the key was revoked or has expired. */
export const lockValidApiKey = statement<ApiKeyRow>(
  `${oneApiKey} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > hawser_now())
      FOR UPDATE`,
);

/** Keeps the key from being revoked before the transaction ends. No row if it was revoked or has expired. */
export const holdApiKey = statement<{ api_key_id: string }>(
  `SELECT api_key_id FROM api_keys
    WHERE organization_id = $1 AND api_key_id = $2 AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > hawser_now()) FOR SHARE`,
);

export const revokeApiKey = statement<ApiKeyRow>(
  `UPDATE api_keys SET revoked_at = hawser_now()
    WHERE organization_id = $1 AND api_key_id = $2
   RETURNING ${apiKeyColumns}`,
);

/** Moves the expiry of a key to an earlier time, never to a later one. */
export const expireApiKeyIn = statement<{ expires_at: string }>(
  `UPDATE api_keys SET expires_at = least(expires_at, hawser_now() + make_interval(mins => $3))
    WHERE organization_id = $1 AND api_key_id = $2
   RETURNING expires_at`,
);

/**
 * Revokes the keys of each user in $2, the keys that the user created, and the keys created with those that belong
 * to the organization. A key that another user created with their first key stays. If $3 is not null, revokes only
 * keys that are not the user's own and have a permission that $3 lacks.
 */
export const revokeKeysOf = statement<{ api_key_id: string; has_secret: boolean }>(
  `WITH RECURSIVE theirs (holder_id, api_key_id) AS (
     (SELECT user_id, api_key_id FROM api_keys
       WHERE organization_id = $1 AND user_id = ANY ($2::uuid[])
       UNION
      SELECT creator_user_id, api_key_id FROM api_keys
       WHERE organization_id = $1 AND creator_user_id = ANY ($2::uuid[]))
      UNION
     SELECT theirs.holder_id, k.api_key_id FROM theirs
       JOIN api_keys k ON k.organization_id = $1 AND k.creator_key_id = theirs.api_key_id
        AND k.creator_user_id IS NULL)
   UPDATE api_keys SET revoked_at = hawser_now()
    WHERE organization_id = $1 AND revoked_at IS NULL
      AND ($3::text[] IS NULL OR NOT permissions <@ $3::text[])
      AND api_key_id IN (
        SELECT api_key_id FROM theirs
         WHERE $3::text[] IS NULL OR api_keys.user_id IS DISTINCT FROM holder_id)
   RETURNING api_key_id, secret_hash IS NOT NULL AS has_secret`,
);

/** Any key that user $2 has had since they became a member. */
export const selectKeySinceJoining = statement<{ api_key_id: string }>(
  `SELECT k.api_key_id
     FROM memberships m
     JOIN api_keys k ON k.organization_id = m.organization_id AND k.user_id = m.user_id
      AND k.created_at >= m.created_at
    WHERE m.organization_id = $1 AND m.user_id = $2 LIMIT 1`,
);

export interface MemberRow extends HeldRole {
  user_id: string;
  email: string;
  name: string | null;
  created_at: string;
}

const memberColumns = `user_id, email, name, coalesce(own_role, role) AS role, created_at,
  (SELECT r.permissions FROM roles r
    WHERE r.organization_id = memberships.organization_id AND r.name = memberships.own_role) AS own_permissions`;

/** Changes of members and roles run one after the other, so that each is judged by what the others left. */
export const lockOrganization = statement(
  `SELECT FROM organizations WHERE organization_id = $1 FOR NO KEY UPDATE`,
);

/** Waits for such a change, and lets none begin before the transaction ends. */
export const shareOrganization = statement(
  `SELECT FROM organizations WHERE organization_id = $1 FOR SHARE`,
);

/** By e-mail address, after ($2, $3). */
export const selectMembers = statement<MemberRow>(
  `SELECT ${memberColumns} FROM memberships
    WHERE organization_id = $1 AND (email, user_id) > ($2, $3::uuid)
    ORDER BY email, user_id LIMIT $4`,
);

export const selectMember = statement<MemberRow>(
  `SELECT ${memberColumns} FROM memberships WHERE organization_id = $1 AND user_id = $2`,
);

/** The names of those who are members. */
export const selectMemberNames = statement<{ user_id: string; name: string }>(
  `SELECT user_id, coalesce(name, email) AS name FROM memberships
    WHERE organization_id = $1 AND user_id = ANY ($2::uuid[])`,
);

/** Locks the member: of two first keys that are created at once, the second sees the first. */
export const lockMember = statement(
  `SELECT FROM memberships WHERE organization_id = $1 AND user_id = $2 FOR UPDATE`,
);

/** No row if the user is already a member. */
export const insertMember = systemStatement<MemberRow>(
  "create a member",
  `INSERT INTO memberships (organization_id, user_id, email, name, role, own_role)
   VALUES ($1, $2, lower($3), $4, $5, $6)
   ON CONFLICT (organization_id, user_id) DO NOTHING
   RETURNING ${memberColumns}`,
);

/** Locks the owners: of two changes that would each leave no owner, the second sees the first. */
export const lockOwners = statement<{ user_id: string }>(
  `SELECT user_id FROM memberships WHERE organization_id = $1 AND role = 'owner' FOR UPDATE`,
);

export const updateMemberRole = statement<MemberRow>(
  `UPDATE memberships SET role = $3, own_role = $4 WHERE organization_id = $1 AND user_id = $2
   RETURNING ${memberColumns}`,
);

/** $2 e-mail address of a member. */
export const revokeInvitationsOf = statement(
  `UPDATE invitations SET revoked_at = hawser_now()
    WHERE organization_id = $1 AND email = $2 AND accepted_at IS NULL AND revoked_at IS NULL`,
);

/** Owners who can sign in although the provider is required; at most two. No row if it is not required. */
export const selectBreakGlass = statement<{ user_id: string }>(
  `SELECT m.user_id FROM sign_in_settings p
     JOIN memberships m ON m.organization_id = p.organization_id AND m.role = 'owner'
      AND m.user_id = ANY (p.except_user_ids)
    WHERE p.organization_id = $1 AND p.required
      AND m.sign_in_key IS NOT NULL AND sign_in.has_own_way(m.user_id)
    LIMIT 2`,
);

/** $2 member. Somebody who becomes an owner again is not excepted from single sign-on without a word of an owner. */
export const removeException = statement(
  `UPDATE sign_in_settings SET except_user_ids = array_remove(except_user_ids, $2)
    WHERE organization_id = $1 AND $2 = ANY (except_user_ids)`,
);

export const deleteMember = statement<MemberRow>(
  `DELETE FROM memberships WHERE organization_id = $1 AND user_id = $2 RETURNING ${memberColumns}`,
);

export interface SettingsRow {
  name: string;
  time_zone: string;
  log_retention_days: number;
  audit_retention_days: number;
  default_agent_policy: AgentPolicy;
  default_mode: SessionMode;
  highest_mode: SessionMode;
  trusted_repositories: TrustedRepository[];
  allowed_logins: LoginWay[];
  fallback_mid_turn: boolean;
}

const settingsColumns = `name, time_zone, log_retention_days, audit_retention_days, default_agent_policy,
  default_mode, highest_mode, trusted_repositories, allowed_logins, fallback_mid_turn`;

export const selectSettings = statement<SettingsRow>(
  `SELECT ${settingsColumns} FROM organizations WHERE organization_id = $1`,
);

/** A null leaves the setting unchanged. */
export const updateSettings = statement<SettingsRow>(
  `UPDATE organizations
      SET name = coalesce($2, name),
          time_zone = coalesce($3, time_zone),
          log_retention_days = coalesce($4, log_retention_days),
          audit_retention_days = coalesce($5, audit_retention_days),
          default_agent_policy = coalesce($6, default_agent_policy),
          default_mode = coalesce($7, default_mode),
          highest_mode = coalesce($8, highest_mode),
          trusted_repositories = coalesce($9, trusted_repositories),
          allowed_logins = coalesce($10::text[], allowed_logins),
          fallback_mid_turn = coalesce($11, fallback_mid_turn)
    WHERE organization_id = $1
   RETURNING ${settingsColumns}`,
);
