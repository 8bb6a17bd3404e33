// The SQL of links with which owners sign in. All of it runs as hawser_sign_in.
import { systemStatement } from "../postgres/statement.ts";

/**
 * A link would replace what the person proves otherwise. A password and a passkey reach an organization that requires
 * its provider only if the owner is excepted.
 */
const signsInOtherwise = `((a.password_hash IS NOT NULL
      OR EXISTS (SELECT FROM sign_in.passkeys k WHERE k.user_id = m.user_id))
    AND (p.required IS NOT TRUE OR m.user_id = ANY (p.except_user_ids)))`;
const settings = `LEFT JOIN sign_in_settings p ON p.organization_id = m.organization_id`;
/** The operator's link is about one organization, and an account reaches all those that its person has joined. */
const reachesOthers = `EXISTS (SELECT FROM memberships e
    WHERE e.user_id = m.user_id AND e.organization_id <> m.organization_id AND e.sign_in_key IS NOT NULL)`;

export interface OwnerRow {
  organization_id: string;
  organization_name: string;
  user_id: string;
  email: string;
  signs_in_otherwise: boolean;
  reaches_others: boolean;
}

/** The owners of all organizations, at most three; $1 an e-mail address, or null for any. */
export const selectOwners = systemStatement<OwnerRow>(
  "find the owner for whom a link is made",
  `SELECT o.organization_id, o.name AS organization_name, m.user_id, m.email,
          ${signsInOtherwise} AS signs_in_otherwise, ${reachesOthers} AS reaches_others
     FROM memberships m
     JOIN organizations o ON o.organization_id = m.organization_id
     LEFT JOIN sign_in.accounts a ON a.user_id = m.user_id
     ${settings}
    WHERE m.role = 'owner' AND ($1::text IS NULL OR m.email = lower($1))
    ORDER BY m.created_at LIMIT 3`,
);

export const deleteLinksOf = systemStatement(
  "end the earlier links of an owner",
  `DELETE FROM sign_in.links WHERE user_id = $1`,
);

/** $1 hash of the secret, $2 organization, $3 user, $4 minutes. */
export const insertLink = systemStatement<{ expires_at: string }>(
  "create a link with which an owner signs in",
  `INSERT INTO sign_in.links (secret_hash, organization_id, user_id, expires_at)
   VALUES ($1, $2, $3, hawser_now() + make_interval(mins => $4)) RETURNING expires_at`,
);

export interface LinkRow {
  organization_id: string;
  organization_name: string;
  user_id: string;
  email: string;
  expires_at: string;
  has_password: boolean;
}

/** Not if the person is no owner any more, or can sign in otherwise by now. */
const goodLinks = `SELECT l.organization_id, o.name AS organization_name, l.user_id, m.email, l.expires_at,
         a.password_hash IS NOT NULL AS has_password
     FROM sign_in.links l
     JOIN memberships m ON m.organization_id = l.organization_id AND m.user_id = l.user_id AND m.role = 'owner'
     JOIN organizations o ON o.organization_id = l.organization_id
     LEFT JOIN sign_in.accounts a ON a.user_id = l.user_id
     ${settings}
    WHERE l.secret_hash = $1 AND l.expires_at > hawser_now()
      AND NOT ${signsInOtherwise} AND NOT ${reachesOthers}`;

export const selectLink = systemStatement<LinkRow>("show whom a link signs in", goodLinks);

/** Locks the link, so that it is used once. */
export const lockLink = systemStatement<LinkRow>(
  "find the link with which an owner signs in",
  `${goodLinks} FOR UPDATE OF l`,
);

/** No row if the provider is not required, or if the owner is excepted already. */
export const exceptOwner = systemStatement<{ organization_id: string }>(
  "let an owner sign in without the required provider",
  `UPDATE sign_in_settings SET except_user_ids = except_user_ids || $2::uuid
    WHERE organization_id = $1 AND required AND NOT $2 = ANY (except_user_ids) RETURNING organization_id`,
);

/** At most 1,000; no row if none is left. */
export const deleteOldLinks = systemStatement<{ secret_hash: Buffer }>(
  "delete links that nobody has used",
  `DELETE FROM sign_in.links
    WHERE secret_hash IN (
      SELECT secret_hash FROM sign_in.links WHERE expires_at < hawser_now() ORDER BY expires_at LIMIT 1000)
   RETURNING secret_hash`,
);
