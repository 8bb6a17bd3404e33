// The SQL of grants on sessions, and of the links that give them.
import type { Caller, GrantLevel } from "@hawser/contract";
import { statement } from "../postgres/statement.ts";

export interface GrantRow {
  user_id: string;
  user_name: string;
  level: GrantLevel;
  by_link: boolean;
  granted_by: Caller;
  created_at: string;
}

const grantColumns = `g.user_id, g.level, g.link_level IS NOT NULL AS by_link, g.granted_by, g.created_at,
  (SELECT coalesce(m.name, m.email) FROM memberships m
    WHERE m.organization_id = g.organization_id AND m.user_id = g.user_id) AS user_name`;

export const selectGrants = statement<GrantRow>(
  `SELECT ${grantColumns} FROM session_grants g
    WHERE g.organization_id = $1 AND g.session_id = $2 ORDER BY g.created_at, g.user_id`,
);

/** $2 user, $3 session, $4 level, $5 who grants it. */
export const putGrant = statement<GrantRow>(
  `INSERT INTO session_grants AS g (organization_id, user_id, session_id, level, granted_by)
   VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT (organization_id, user_id, session_id, link_level)
   DO UPDATE SET level = excluded.level, granted_by = excluded.granted_by
   RETURNING ${grantColumns}`,
);

/** Gives user $2 what the link of session $3 and level $4 grants. */
export const grantByLink = statement(
  `INSERT INTO session_grants (organization_id, user_id, session_id, level, link_level, granted_by)
   SELECT organization_id, $2, session_id, level, level, created_by FROM session_links
    WHERE organization_id = $1 AND session_id = $3 AND level = $4
   ON CONFLICT (organization_id, user_id, session_id, link_level) DO NOTHING`,
);

export const deleteGrants = statement(
  `DELETE FROM session_grants WHERE organization_id = $1 AND session_id = $2 AND user_id = $3`,
);

export interface LinkRow {
  session_id: string;
  level: GrantLevel;
  created_by: Caller;
  created_at: string;
}

const linkColumns = `session_id, level, created_by, created_at`;

export const selectLinks = statement<LinkRow>(
  `SELECT ${linkColumns} FROM session_links
    WHERE organization_id = $1 AND session_id = $2 ORDER BY created_at`,
);

/** No row if the session has a link of this level. */
export const insertLink = statement<LinkRow>(
  `INSERT INTO session_links (organization_id, session_id, level, token_hash, created_by)
   VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT (organization_id, session_id, level) DO NOTHING
   RETURNING ${linkColumns}`,
);

/** Locks the link, so that it is not revoked before the grant is stored. */
export const lockLinkWithToken = statement<LinkRow>(
  `SELECT ${linkColumns} FROM session_links
    WHERE organization_id = $1 AND token_hash = $2 FOR UPDATE`,
);

export const deleteLink = statement(
  `DELETE FROM session_links WHERE organization_id = $1 AND session_id = $2 AND level = $3`,
);
