-- Grants: single sessions that members may see, answer or prompt although their role does not allow it.

-- A link gives its level to every member who opens it. Only the hash of its token is stored.
CREATE TABLE session_links (
  organization_id uuid NOT NULL REFERENCES organizations,
  session_id uuid NOT NULL,
  level text NOT NULL CHECK (level IN ('view', 'answer', 'edit')),
  token_hash bytea NOT NULL UNIQUE,
  created_by jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, session_id, level)
);
ALTER TABLE session_links ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON session_links TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON session_links AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
-- UPDATE is for locks: no statement changes a link.
GRANT SELECT, INSERT, UPDATE, DELETE ON session_links TO hawser_app;

CREATE TABLE session_grants (
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  session_id uuid NOT NULL,
  level text NOT NULL CHECK (level IN ('view', 'answer', 'edit')),
  -- The link that the member opened; null if somebody gave the grant to this member.
  link_level text,
  granted_by jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  UNIQUE NULLS NOT DISTINCT (organization_id, user_id, session_id, link_level),
  FOREIGN KEY (organization_id, user_id) REFERENCES memberships ON DELETE CASCADE,
  FOREIGN KEY (organization_id, session_id, link_level) REFERENCES session_links ON DELETE CASCADE
);
CREATE INDEX session_grants_by_session ON session_grants (organization_id, session_id, link_level);
ALTER TABLE session_grants ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON session_grants TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON session_grants AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY every_tenant ON session_grants TO hawser_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON session_grants TO hawser_app;
GRANT SELECT ON session_grants TO hawser_system;

-- The member whom the running transaction serves by grants alone; null for every other caller.
CREATE FUNCTION hawser_granted_user() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
  RETURN nullif(current_setting('hawser.granted_user_id', true), '')::uuid;

-- The levels that suffice for the action which the member calls.
CREATE FUNCTION hawser_grant_levels() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
  RETURN nullif(current_setting('hawser.grant_levels', true), '')::text[];
