-- Organizations, their members and their API keys.
--
-- Two walls stand between tenants: every tenant query names its organization, and row-level security
-- admits no other row even if a query does not. In every tenant table:
--
--   policy tenant         admits the rows of the organization that hawser_app serves
--   policy every_tenant   admits all rows to hawser_system, where it needs the table
--   policy agent_reach    narrows what hawser_app can see when it serves an agent's key (0004-sessions.sql)
--
-- Statuses are text with a CHECK and never enum types: under row-level security, comparing enums cannot
-- use an index.

CREATE TABLE organizations (
  organization_id uuid PRIMARY KEY DEFAULT hawser_new_id(),
  name text NOT NULL,
  time_zone text NOT NULL DEFAULT 'UTC',
  log_retention_days int NOT NULL DEFAULT 365,
  audit_retention_days int NOT NULL DEFAULT 400,
  default_agent_policy jsonb NOT NULL DEFAULT '{"allowedCommands": [], "outsideWorktree": "ask"}',
  -- Modes: what the agent of a session may do without asking a person.
  default_mode text NOT NULL DEFAULT 'ask',
  highest_mode text NOT NULL DEFAULT 'unattended',
  -- Limits that the operator sets, so no action changes them. Defaults: 5 GiB and 2 GiB.
  blob_bytes_per_day bigint NOT NULL DEFAULT 5368709120,
  log_bytes_per_day bigint NOT NULL DEFAULT 2147483648,
  -- Kept by a trigger, so that a listing returns the total without counting the fleet.
  instance_count int NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT hawser_now()
);
ALTER TABLE organizations ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON organizations TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON organizations TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, UPDATE ON organizations TO hawser_app;
GRANT SELECT, INSERT, UPDATE ON organizations TO hawser_system;

-- A person, across organizations. Each membership has its own name for the person, so that adding someone
-- by e-mail reveals nothing about them.
CREATE TABLE users (
  -- Random up to the shard, because an id with a creation time would reveal whether someone was known before.
  user_id uuid PRIMARY KEY DEFAULT hawser_with_shard(uuid_send(gen_random_uuid())),
  email text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT hawser_now()
);
GRANT SELECT ON users TO hawser_system;

-- Adding a member must find a user whom the organization cannot see yet. This function is the only way in
-- which a tenant path looks across organizations, and it returns only the id.
CREATE FUNCTION hawser_user_for_email(wanted text) RETURNS uuid
  LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
  INSERT INTO public.users (email) VALUES (lower(wanted))
  ON CONFLICT (email) DO UPDATE SET email = excluded.email
  RETURNING user_id
$$;
REVOKE EXECUTE ON FUNCTION hawser_user_for_email FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hawser_user_for_email TO hawser_app, hawser_system;

CREATE TABLE memberships (
  organization_id uuid NOT NULL REFERENCES organizations,
  user_id uuid NOT NULL REFERENCES users,
  email text COLLATE "C" NOT NULL,
  name text,
  role text NOT NULL CHECK (role IN ('owner', 'member', 'viewer')),
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX memberships_by_email ON memberships (organization_id, email, user_id);
ALTER TABLE memberships ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON memberships TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON memberships TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON memberships TO hawser_app;
GRANT SELECT, INSERT ON memberships TO hawser_system;

CREATE TABLE api_keys (
  organization_id uuid NOT NULL REFERENCES organizations,
  api_key_id uuid NOT NULL DEFAULT hawser_new_id(),
  name text NOT NULL,
  -- SHA-256 of the whole key. Only the response that created the key contains the key itself.
  secret_hash bytea NOT NULL UNIQUE,
  user_id uuid REFERENCES users,
  -- Of an agent key: the session whose agent has the key.
  session_id uuid,
  permissions text[] NOT NULL,
  -- Who created the key, as text for readers.
  created_by jsonb,
  -- The same as ids that a query can follow: the keys of a member who leaves are revoked together with those
  -- that the member created. The user, or else the organization's key; both null for the key of bootstrap.
  creator_user_id uuid,
  creator_key_id uuid,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  PRIMARY KEY (organization_id, api_key_id)
);
CREATE INDEX api_keys_in_use ON api_keys (organization_id, api_key_id) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_by_creating_user ON api_keys (organization_id, creator_user_id);
CREATE INDEX api_keys_by_creating_key ON api_keys (organization_id, creator_key_id);
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON api_keys TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON api_keys TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON api_keys TO hawser_app;
GRANT SELECT, INSERT, UPDATE (last_used_at) ON api_keys TO hawser_system;
