// The SQL of accounts, sign-ins and invitations. Statements of the first part run as hawser_sign_in; those of
// the second run for the calling organization.
import type { Caller as CallerReference, Permission } from "@hawser/contract";
import type { HeldRole } from "../access/roles.ts";
import { statement, systemStatement } from "../postgres/statement.ts";

export type SignInWay = "password" | "passkey" | "invitation" | "provider" | "device" | "link";

/**
 * When somebody last proved for the sign-in `s` who they are. A phone that is let in proves nothing by itself, and a
 * provider may have had its proof earlier.
 */
export const provedAt = `CASE s.way WHEN 'device' THEN s.authenticated_at ELSE greatest(s.created_at, s.authenticated_at) END`;

/** Whether sign-ins of member `m`'s account reach an organization with the settings `p`. */
const isOpenToAccounts = `(p.required IS NOT TRUE OR (m.role = 'owner' AND m.user_id = ANY (p.except_user_ids)))`;

export interface SignInOwner extends HeldRole {
  token_hash: Buffer;
  sign_in_id: string;
  organization_id: string;
  organization_name: string;
  api_key_id: string;
  user_id: string;
  joined_at: string;
  /** Whether single sessions were granted to the person. */
  has_grants: boolean;
  /** How long ago the person proved who they are. */
  authenticated_for_ms: number;
  expires_in_ms: number;
  /** Whether the person has signed in with the organization's provider, and not with an account. */
  is_of_provider: boolean;
}

/**
 * $1 hashes of cookies, each in bytea's hex form, and $2 organizations, in pairs. A provider's sign-in reaches the
 * organization of the provider only, and not if its person was removed meanwhile; an account's reaches none that
 * requires its provider.
 */
export const selectSignInOwners = systemStatement<SignInOwner>(
  "find the callers of sign-ins",
  `SELECT s.token_hash, s.sign_in_id, o.organization_id, o.name AS organization_name,
          CASE WHEN s.organization_id IS NULL THEN m.sign_in_key ELSE m.provider_key END AS api_key_id,
          m.user_id, coalesce(m.own_role, m.role) AS role,
          r.permissions AS own_permissions, m.created_at AS joined_at,
          EXISTS (SELECT FROM session_grants g
                   WHERE g.organization_id = m.organization_id AND g.user_id = m.user_id) AS has_grants,
          (extract(epoch FROM hawser_now() - s.authenticated_at) * 1000)::bigint AS authenticated_for_ms,
          (extract(epoch FROM least(s.expires_at, s.provider_until) - hawser_now()) * 1000)::bigint AS expires_in_ms,
          s.organization_id IS NOT NULL AS is_of_provider
     FROM unnest($1::bytea[], $2::uuid[]) AS asked (token_hash, organization_id)
     JOIN sign_in.sign_ins s ON s.token_hash = asked.token_hash
      AND s.ended_at IS NULL AND least(s.expires_at, s.provider_until) > hawser_now()
     JOIN memberships m ON m.organization_id = asked.organization_id AND m.user_id = s.user_id
      AND ${provedAt} >= coalesce(m.sign_ins_from, '-infinity')
     LEFT JOIN sign_in_settings p ON p.organization_id = m.organization_id
     LEFT JOIN roles r ON r.organization_id = m.organization_id AND r.name = m.own_role
     JOIN organizations o ON o.organization_id = m.organization_id
    WHERE CASE WHEN s.organization_id IS NULL
      THEN m.sign_in_key IS NOT NULL AND ${isOpenToAccounts}
      ELSE m.provider_key IS NOT NULL AND s.organization_id = m.organization_id AND s.settings_id = p.settings_id
       AND s.created_at >= m.created_at END`,
);

export interface PersonRow {
  sign_in_id: string;
  user_id: string;
  /** The only organization that the sign-in reaches: its provider has signed the person in. Null for an account. */
  organization_id: string | null;
  email: string;
  has_password: boolean;
  expires_at: string;
  /** How long ago the person proved who they are. */
  authenticated_for_ms: number;
}

/** $1 hash of the cookie. */
export const selectPerson = systemStatement<PersonRow>(
  "find the person of a sign-in",
  `SELECT s.sign_in_id, s.user_id, s.organization_id, u.email, a.password_hash IS NOT NULL AS has_password,
          least(s.expires_at, s.provider_until) AS expires_at,
          (extract(epoch FROM hawser_now() - s.authenticated_at) * 1000)::bigint AS authenticated_for_ms
     FROM sign_in.sign_ins s
     LEFT JOIN sign_in.accounts a ON a.user_id = s.user_id
     JOIN users u ON u.user_id = s.user_id
    WHERE s.token_hash = $1 AND s.ended_at IS NULL AND least(s.expires_at, s.provider_until) > hawser_now()
      AND (s.organization_id IS NULL OR EXISTS (
        SELECT FROM sign_in_settings p
         WHERE p.organization_id = s.organization_id AND p.settings_id = s.settings_id))`,
);

export interface ReachedRow {
  organization_id: string;
  organization_name: string;
  role: string;
  name: string | null;
}

/** $1 user, $2 the organization of a provider's sign-in; null for an account's. */
export const selectReached = systemStatement<ReachedRow>(
  "find the organizations that a person's sign-ins reach",
  `SELECT o.organization_id, o.name AS organization_name, coalesce(m.own_role, m.role) AS role, m.name
     FROM memberships m
     JOIN organizations o ON o.organization_id = m.organization_id
     LEFT JOIN sign_in_settings p ON p.organization_id = m.organization_id
    WHERE m.user_id = $1
      AND CASE WHEN $2::uuid IS NULL THEN m.sign_in_key IS NOT NULL AND ${isOpenToAccounts}
               ELSE m.organization_id = $2 AND m.provider_key IS NOT NULL END
    ORDER BY o.name, o.organization_id LIMIT 200`,
);

export interface AccountRow {
  user_id: string;
  password_hash: string | null;
}

/** $1 e-mail address in lower case. */
export const selectAccount = systemStatement<AccountRow>(
  "find the account of an e-mail address",
  `SELECT a.user_id, a.password_hash
     FROM users u JOIN sign_in.accounts a ON a.user_id = u.user_id WHERE u.email = $1`,
);

/** $2 milliseconds after which a count begins again, $3 the most in that time. No row if more may be tried. */
export const selectPause = systemStatement<{ ms: number }>(
  "find how long no password of an address is checked",
  `SELECT (extract(epoch FROM since - hawser_now()) * 1000 + $2::int)::bigint AS ms
     FROM sign_in.wrong_passwords
    WHERE bucket = $1 AND wrong >= $3 AND since > hawser_now() - make_interval(secs => $2::int / 1000.0)`,
);

/** As above. No row if the most is reached. */
export const countWrongPassword = systemStatement<{ bucket: number }>(
  "count a wrong password",
  `INSERT INTO sign_in.wrong_passwords AS known (bucket, wrong, since) VALUES ($1, 1, hawser_now())
   ON CONFLICT (bucket) DO UPDATE
      SET wrong = CASE WHEN known.since > hawser_now() - make_interval(secs => $2::int / 1000.0)
                       THEN known.wrong + 1 ELSE 1 END,
          since = CASE WHEN known.since > hawser_now() - make_interval(secs => $2::int / 1000.0)
                       THEN known.since ELSE hawser_now() END
    WHERE known.wrong < $3 OR known.since <= hawser_now() - make_interval(secs => $2::int / 1000.0)
   RETURNING bucket`,
);

export const undoWrongPassword = systemStatement(
  "count a password that was right",
  `UPDATE sign_in.wrong_passwords SET wrong = greatest(wrong - 1, 0) WHERE bucket = $1`,
);

/** No row if the user has an account. */
export const insertAccount = systemStatement<{ user_id: string }>(
  "create an account",
  `INSERT INTO sign_in.accounts (user_id, password_hash) VALUES ($1, $2)
   ON CONFLICT (user_id) DO NOTHING RETURNING user_id`,
);

/** Changes the password only if it is still the one that was checked. */
export const updatePassword = systemStatement<{ user_id: string }>(
  "change a password",
  `UPDATE sign_in.accounts SET password_hash = $3
    WHERE user_id = $1 AND password_hash IS NOT DISTINCT FROM $2 RETURNING user_id`,
);

/** $5 days until the sign-in expires. */
export const insertSignIn = systemStatement<{ sign_in_id: string; expires_at: string }>(
  "create a sign-in",
  `INSERT INTO sign_in.sign_ins (token_hash, user_id, way, device, expires_at)
   VALUES ($1, $2, $3, $4, hawser_now() + make_interval(days => $5))
   RETURNING sign_in_id, expires_at`,
);

/**
 * Ends the oldest sign-ins of user $1 beyond $2: those of the account if $3 is null, and otherwise those with the
 * provider of organization $3, whose owner must not be able to end others.
 */
export const endOldestSignIns = systemStatement(
  "end a person's oldest sign-ins",
  `UPDATE sign_in.sign_ins SET ended_at = hawser_now(), refresh_token = NULL
    WHERE sign_in_id IN (
      SELECT sign_in_id FROM sign_in.sign_ins
       WHERE user_id = $1 AND ended_at IS NULL AND organization_id IS NOT DISTINCT FROM $3::uuid
       ORDER BY sign_in_id DESC OFFSET $2)`,
);

/** $1 hash of the cookie. */
export const endSignIn = systemStatement<{ user_id: string }>(
  "end a sign-in",
  `UPDATE sign_in.sign_ins SET ended_at = hawser_now(), refresh_token = NULL
    WHERE token_hash = $1 AND ended_at IS NULL RETURNING user_id`,
);

/** No row if key $2 was not created by its own user in a browser. */
export const selectKeyOfSignIn = statement<{ api_key_id: string }>(
  `SELECT k.api_key_id FROM api_keys k
     JOIN memberships m ON m.organization_id = k.organization_id AND m.user_id = k.user_id
      AND m.sign_in_key = k.creator_key_id
    WHERE k.organization_id = $1 AND k.api_key_id = $2`,
);

/** All sign-ins of user $1's account. */
export const endSignInsOf = systemStatement(
  "end a person's sign-ins",
  `UPDATE sign_in.sign_ins SET ended_at = hawser_now()
    WHERE user_id = $1 AND organization_id IS NULL AND ended_at IS NULL`,
);

/** Skips sign-ins whose use was written within five minutes, or that another transaction has locked. */
export const noteSignInUses = systemStatement(
  "record when sign-ins were last used",
  `UPDATE sign_in.sign_ins SET last_used_at = hawser_now()
    WHERE sign_in_id IN (
      SELECT sign_in_id FROM sign_in.sign_ins
       WHERE sign_in_id = ANY ($1::uuid[]) AND last_used_at <= hawser_now() - interval '5 minutes'
       ORDER BY sign_in_id FOR NO KEY UPDATE SKIP LOCKED)`,
);

/** At most 1,000; no row if none is left. */
export const deleteOldSignIns = systemStatement<{ sign_in_id: string }>(
  "delete sign-ins that have ended",
  `DELETE FROM sign_in.sign_ins
    WHERE sign_in_id IN (
      SELECT sign_in_id FROM sign_in.sign_ins
       WHERE expires_at < hawser_now() - interval '1 day' ORDER BY expires_at LIMIT 1000)
   RETURNING sign_in_id`,
);

export interface InvitationRow {
  organization_id: string;
  invitation_id: string;
  email: string;
  name: string | null;
  role: string;
  created_by: CallerReference;
  creator_key_id: string;
  created_at: string;
  expires_at: string;
  accepted_at: string | null;
  revoked_at: string | null;
}

const invitationColumns = `i.organization_id, i.invitation_id, i.email, i.name, i.role, i.created_by,
  i.creator_key_id, i.created_at, i.expires_at, i.accepted_at, i.revoked_at`;

/** $1 hash of the secret. Locks the invitation, so that it is accepted once. No row if it is not open. */
export const lockOpenInvitation = systemStatement<InvitationRow>(
  "find the invitation that is accepted",
  `SELECT ${invitationColumns} FROM invitations i
    WHERE secret_hash = $1 AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > hawser_now()
      FOR UPDATE`,
);

export const selectOpenInvitation = systemStatement<InvitationRow & { organization_name: string }>(
  "show the invitation of a link",
  `SELECT ${invitationColumns}, o.name AS organization_name
     FROM invitations i JOIN organizations o ON o.organization_id = i.organization_id
    WHERE i.secret_hash = $1 AND i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > hawser_now()`,
);

export const acceptInvitation = systemStatement(
  "accept an invitation",
  `UPDATE invitations SET accepted_at = hawser_now() WHERE organization_id = $1 AND invitation_id = $2`,
);

export interface MembershipRow extends HeldRole {
  /** Null also if a node of an earlier version has revoked it. */
  sign_in_key: string | null;
  /** Whether the organization's provider has signed the member in. */
  has_provider: boolean;
}

/** $2 user. */
export const lockMembership = systemStatement<MembershipRow>(
  "find the membership of an invited person",
  `SELECT (SELECT api_key_id FROM api_keys k
             WHERE k.organization_id = m.organization_id AND k.api_key_id = m.sign_in_key
               AND k.revoked_at IS NULL) AS sign_in_key, m.provider_key IS NOT NULL AS has_provider,
          coalesce(m.own_role, m.role) AS role, r.permissions AS own_permissions
     FROM memberships m LEFT JOIN roles r ON r.organization_id = m.organization_id AND r.name = m.own_role
    WHERE m.organization_id = $1 AND m.user_id = $2 FOR UPDATE OF m`,
);

/** The keys that member $2 has had since joining, except one for sign-ins. */
export const selectKeysSinceJoining = systemStatement<{
  secret_hash: Buffer;
  permissions: Permission[];
  is_valid: boolean;
}>(
  "find the keys of an invited member",
  `SELECT k.secret_hash, k.permissions,
          k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > hawser_now()) AS is_valid
     FROM memberships m
     JOIN api_keys k ON k.organization_id = m.organization_id AND k.user_id = m.user_id
      AND k.created_at >= m.created_at AND k.secret_hash IS NOT NULL AND k.session_id IS NULL
    WHERE m.organization_id = $1 AND m.user_id = $2`,
);

export const insertInvitedMember = systemStatement(
  "create the member of an invitation",
  `INSERT INTO memberships (organization_id, user_id, email, name, role, own_role) VALUES ($1, $2, $3, $4, $5, $6)`,
);

/** Creates the key without a secret that a signed-in member's calls are made with. */
export const insertSignInKey = systemStatement<{ api_key_id: string }>(
  "create the key of a signed-in member",
  `INSERT INTO api_keys (organization_id, name, user_id, permissions, creator_user_id)
   VALUES ($1, 'sign-in', $2, $3, $2) RETURNING api_key_id`,
);

export const setSignInKey = systemStatement(
  "let a person's sign-ins reach an organization",
  `UPDATE memberships SET sign_in_key = $3 WHERE organization_id = $1 AND user_id = $2`,
);

/** $1 organization, $2 name. */
export const selectInvitedRole = systemStatement<{ name: string; permissions: Permission[] }>(
  "find the role that an invitation names",
  `SELECT name, permissions FROM roles WHERE organization_id = $1 AND name = $2`,
);

interface Inviter {
  permissions: Permission[];
  user_id: string | null;
  /** Null for a key of the organization. */
  role: string | null;
  own_permissions: Permission[] | null;
}

/** $1 organization, $2 key. No row if the key is not valid. */
export const selectInviter = systemStatement<Inviter>(
  "check that the creator of an invitation may still grant its role",
  `SELECT k.permissions, k.user_id, coalesce(m.own_role, m.role) AS role, r.permissions AS own_permissions
     FROM api_keys k
     LEFT JOIN memberships m ON m.organization_id = k.organization_id AND m.user_id = k.user_id
     LEFT JOIN roles r ON r.organization_id = m.organization_id AND r.name = m.own_role
    WHERE k.organization_id = $1 AND k.api_key_id = $2 AND k.revoked_at IS NULL
      AND (k.expires_at IS NULL OR k.expires_at > hawser_now())
      AND (k.user_id IS NULL OR m.user_id IS NOT NULL)`,
);

// For the calling organization, or the calling person.

/** $8 hours for which the link is good. */
export const insertInvitation = statement<InvitationRow>(
  `INSERT INTO invitations AS i (organization_id, secret_hash, email, name, role, created_by, creator_key_id, expires_at)
   VALUES ($1, $2, lower($3), $4, $5, $6, $7, hawser_now() + make_interval(hours => $8))
   RETURNING ${invitationColumns}`,
);

/** $2 the most. They include those that are over and not deleted yet. */
export const countInvitations = statement<{ count: number }>(
  `SELECT count(*)::int AS count FROM (SELECT FROM invitations WHERE organization_id = $1 LIMIT $2) AS known`,
);

/** Open ones, the newest first, older than $2. */
export const selectInvitations = statement<InvitationRow>(
  `SELECT ${invitationColumns} FROM invitations i
    WHERE organization_id = $1 AND invitation_id < $2
      AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > hawser_now()
    ORDER BY invitation_id DESC LIMIT $3`,
);

export const lockInvitation = statement<InvitationRow>(
  `SELECT ${invitationColumns} FROM invitations i WHERE organization_id = $1 AND invitation_id = $2 FOR UPDATE`,
);

export const revokeInvitation = statement<InvitationRow>(
  `UPDATE invitations i SET revoked_at = coalesce(i.revoked_at, hawser_now())
    WHERE organization_id = $1 AND invitation_id = $2 RETURNING ${invitationColumns}`,
);

export interface SignInRow {
  sign_in_id: string;
  way: SignInWay;
  device: string;
  created_at: string;
  last_used_at: string;
  expires_at: string;
}

/** $1 user. */
export const selectSignIns = statement<SignInRow>(
  `SELECT sign_in_id, way, device, created_at, last_used_at, expires_at
     FROM sign_in.sign_ins_of($1) ORDER BY sign_in_id DESC LIMIT 200`,
);

/** $1 user, $2 sign-in. No row if the user has no such sign-in. */
export const endOwnSignIn = statement<{ end_sign_in: string }>(
  `SELECT sign_in.end_sign_in($1, $2)`,
);

/** At most 1,000; no row if none is left. */
export const deleteOldInvitations = systemStatement<{ invitation_id: string }>(
  "delete invitations that are over",
  `DELETE FROM invitations
    WHERE (organization_id, invitation_id) IN (
      SELECT organization_id, invitation_id FROM invitations
       WHERE expires_at < hawser_now() - interval '1 day' ORDER BY expires_at LIMIT 1000)
   RETURNING invitation_id`,
);
