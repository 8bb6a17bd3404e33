-- Exposures: direct access to a host's opencode, or to one session of it, for a limited time. Rows are removed 30 days
-- after their end.

CREATE TABLE exposures (
  organization_id uuid NOT NULL REFERENCES organizations,
  exposure_id uuid NOT NULL DEFAULT hawser_new_id(),
  instance_id uuid NOT NULL,
  -- Null for the whole host.
  session_id uuid,
  -- SHA-256 of the password, which has 128 random bits.
  password_hash bytea NOT NULL,
  -- It gives access as long as this key may edit sessions.
  api_key_id uuid NOT NULL,
  -- The caller who created it, as records name them.
  created_by jsonb NOT NULL,
  -- The loopback port of its address; null if its address has a name of its own.
  port integer CHECK (port BETWEEN 1 AND 65535),
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz,
  last_used_at timestamptz,
  PRIMARY KEY (organization_id, exposure_id)
);
-- A request names the exposure without its organization.
CREATE UNIQUE INDEX exposures_by_id ON exposures (exposure_id);
CREATE INDEX exposures_of_instance ON exposures (organization_id, instance_id);
CREATE INDEX exposures_by_end ON exposures (expires_at);
ALTER TABLE exposures ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON exposures TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON exposures AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY every_tenant ON exposures TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON exposures TO hawser_app;
GRANT SELECT, UPDATE, DELETE ON exposures TO hawser_system;
