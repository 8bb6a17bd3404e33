-- Time, ids, the two roles, and the tables that need no host: organizations and who may do what,
-- instances and their pairing tokens, sessions, idempotency, audit.
--
-- Two walls stand between tenants: every tenant query names its organization, and row-level
-- security admits nothing else even when one forgets to. Status words are text with a CHECK and
-- never enum types: under row-level security an enum comparison cannot use an index.

-- The only clock of all SQL. Tests replace this function in their own database to move time.
CREATE FUNCTION hawser_now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN clock_timestamp();
END $$;

-- UUIDv7 by database time, to the microsecond: ids of all nodes sort by when they were made.
CREATE FUNCTION hawser_new_id() RETURNS uuid LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  micros bigint := floor(extract(epoch FROM hawser_now()) * 1000000);
  fraction int := ((micros % 1000) * 4096) / 1000;
  bytes bytea := overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send(micros / 1000) FROM 3) FROM 1 FOR 6);
BEGIN
  bytes := set_byte(bytes, 6, 112 | (fraction >> 8));
  bytes := set_byte(bytes, 7, fraction & 255);
  RETURN encode(bytes, 'hex')::uuid;
END $$;

-- The organization that the running transaction serves; null outside one, and null matches no row.
CREATE FUNCTION hawser_organization() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
  RETURN nullif(current_setting('hawser.organization_id', true), '')::uuid;

-- hawser_app serves callers under row-level security; hawser_system crosses organizations and has
-- store files of its own. Both are roles a node's login switches to, and cluster-wide.
DO $$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['hawser_app', 'hawser_system'] LOOP
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;
    END;
    EXECUTE format('GRANT %I TO CURRENT_USER', wanted);
  END LOOP;
END $$;

CREATE TABLE organizations (
  organization_id uuid PRIMARY KEY DEFAULT hawser_new_id(),
  name text NOT NULL,
  time_zone text NOT NULL DEFAULT 'UTC',
  log_retention_days int NOT NULL DEFAULT 365,
  audit_retention_days int NOT NULL DEFAULT 400,
  default_agent_policy jsonb NOT NULL DEFAULT '{"allowedCommands": [], "outsideWorktree": "ask"}',
  -- Kept, not counted: a listing tells the total without reading the fleet.
  instance_count int NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT hawser_now()
);

-- A person, across organizations. The name shown is each membership's own, so that adding someone
-- by e-mail tells nothing about them.
CREATE TABLE users (
  -- Random, because an id that tells its age would tell whether someone was known before.
  user_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  email text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT hawser_now()
);

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

-- Adding a member must find a user the organization cannot see yet; this is the one look across
-- organizations that a tenant path may take, and it yields nothing but the id.
CREATE FUNCTION hawser_user_for_email(wanted text) RETURNS uuid
  LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
  INSERT INTO public.users (email) VALUES (lower(wanted))
  ON CONFLICT (email) DO UPDATE SET email = excluded.email
  RETURNING user_id
$$;
REVOKE EXECUTE ON FUNCTION hawser_user_for_email FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hawser_user_for_email TO hawser_app, hawser_system;

CREATE TABLE api_keys (
  organization_id uuid NOT NULL REFERENCES organizations,
  api_key_id uuid NOT NULL DEFAULT hawser_new_id(),
  name text NOT NULL,
  -- SHA-256 of the whole key. The key itself exists only in the answer that made it.
  secret_hash bytea NOT NULL UNIQUE,
  user_id uuid REFERENCES users,
  -- An agent key: bound to the session whose agent holds it.
  session_id uuid,
  permissions text[] NOT NULL,
  created_by jsonb,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  PRIMARY KEY (organization_id, api_key_id)
);
CREATE INDEX api_keys_in_use ON api_keys (organization_id, api_key_id) WHERE revoked_at IS NULL;

CREATE TABLE instances (
  organization_id uuid NOT NULL REFERENCES organizations,
  instance_id uuid NOT NULL DEFAULT hawser_new_id(),
  name text NOT NULL,
  -- Listings sort and search by this: letters of one case, bytewise, so that every comparison is
  -- one that row-level security lets an index do.
  name_key text COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(name)) STORED,
  status text NOT NULL DEFAULT 'pairing' CHECK (status IN ('pairing', 'online', 'offline')),
  status_reason text DEFAULT 'never_paired',
  host jsonb,
  daemon_version text,
  agents jsonb NOT NULL DEFAULT '[]',
  roots jsonb NOT NULL DEFAULT '[]',
  code_hosting_cli jsonb,
  active_session_count int NOT NULL DEFAULT 0,
  last_seen_at timestamptz,
  fallback_chain jsonb NOT NULL DEFAULT '[]',
  fallback_threshold int NOT NULL DEFAULT 90,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  deleted_at timestamptz,
  PRIMARY KEY (organization_id, instance_id)
);
CREATE INDEX instances_by_name ON instances (organization_id, name_key, instance_id)
  WHERE deleted_at IS NULL;
CREATE INDEX instances_by_status ON instances (organization_id, status, name_key, instance_id)
  WHERE deleted_at IS NULL;

CREATE TABLE pairing_tokens (
  organization_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  token_hash bytea PRIMARY KEY,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz,
  redeemed_at timestamptz,
  FOREIGN KEY (organization_id, instance_id) REFERENCES instances
);
CREATE INDEX pairing_tokens_by_instance ON pairing_tokens (organization_id, instance_id)
  WHERE revoked_at IS NULL AND redeemed_at IS NULL;

CREATE TABLE sessions (
  organization_id uuid NOT NULL REFERENCES organizations,
  session_id uuid NOT NULL DEFAULT hawser_new_id(),
  instance_id uuid NOT NULL,
  title text,
  agent_kind text NOT NULL CHECK (agent_kind IN ('opencode', 'claude_code', 'codex')),
  directory text,
  worktree_branch text,
  status text NOT NULL DEFAULT 'active'
    CHECK (status IN ('active', 'detached', 'error', 'ended', 'cleanup_failed')),
  status_reason text,
  cost_usd double precision,
  cost_is_estimate boolean NOT NULL DEFAULT false,
  started_by jsonb NOT NULL,
  model jsonb,
  usage jsonb,
  capabilities text[] NOT NULL DEFAULT '{}',
  forked_from uuid,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  ended_at timestamptz,
  deleted_at timestamptz,
  PRIMARY KEY (organization_id, session_id),
  FOREIGN KEY (organization_id, instance_id) REFERENCES instances
);
-- One index for each way a listing can be narrowed, each ending in the id, which sorts by time:
-- a page costs the same at a thousand rows and at a hundred million.
CREATE INDEX sessions_newest ON sessions (organization_id, session_id)
  WHERE deleted_at IS NULL;
CREATE INDEX sessions_by_instance ON sessions (organization_id, instance_id, session_id)
  WHERE deleted_at IS NULL;
CREATE INDEX sessions_by_status ON sessions (organization_id, status, session_id)
  WHERE deleted_at IS NULL;
CREATE INDEX sessions_by_instance_and_status ON sessions (organization_id, instance_id, status, session_id)
  WHERE deleted_at IS NULL;

-- The two kept counts are the database's own business, so that no path can forget them.
CREATE FUNCTION hawser_count_instances() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE organizations SET instance_count = instance_count + 1
      WHERE organization_id = NEW.organization_id;
  ELSIF OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL THEN
    UPDATE organizations SET instance_count = instance_count - 1
      WHERE organization_id = NEW.organization_id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER count_instances AFTER INSERT OR UPDATE OF deleted_at ON instances
  FOR EACH ROW EXECUTE FUNCTION hawser_count_instances();

CREATE FUNCTION hawser_count_active_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  was int := CASE WHEN TG_OP = 'UPDATE' THEN (OLD.status = 'active' AND OLD.deleted_at IS NULL)::int ELSE 0 END;
  is_now int := (NEW.status = 'active' AND NEW.deleted_at IS NULL)::int;
BEGIN
  IF is_now <> was THEN
    UPDATE instances SET active_session_count = active_session_count + is_now - was
      WHERE organization_id = NEW.organization_id AND instance_id = NEW.instance_id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER count_active_sessions AFTER INSERT OR UPDATE OF status, deleted_at ON sessions
  FOR EACH ROW EXECUTE FUNCTION hawser_count_active_sessions();

-- What became of a call that carried an idempotency key. The key itself is never stored: its hash
-- finds the row, and a result that holds a secret is sealed under a key derived from it.
CREATE TABLE idempotency (
  organization_id uuid NOT NULL REFERENCES organizations,
  api_key_id uuid NOT NULL,
  action text NOT NULL,
  key_hash bytea NOT NULL,
  body_hmac bytea NOT NULL,
  command_id uuid NOT NULL,
  -- What the first transaction of a call that asks a host left for whoever finishes it.
  intent bytea,
  state text NOT NULL CHECK (state IN ('running', 'done')),
  fence bigint NOT NULL DEFAULT 1,
  lease_until timestamptz,
  outcome bytea,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, api_key_id, action, key_hash)
);
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

CREATE TABLE audit_entries (
  organization_id uuid NOT NULL REFERENCES organizations,
  audit_id uuid NOT NULL DEFAULT hawser_new_id(),
  at timestamptz NOT NULL DEFAULT hawser_now(),
  api_key_id uuid,
  user_id uuid,
  agent_session_id uuid,
  action text NOT NULL,
  -- 'done', 'accepted' while a host is asked, or the code of the refusal.
  outcome text NOT NULL,
  input jsonb NOT NULL,
  -- The ids of the records it made or returned.
  records jsonb NOT NULL,
  call_id text NOT NULL,
  PRIMARY KEY (organization_id, audit_id)
);

-- Reads are counted, not recorded one by one.
CREATE TABLE audit_reads (
  organization_id uuid NOT NULL REFERENCES organizations,
  api_key_id uuid NOT NULL,
  action text NOT NULL,
  hour timestamptz NOT NULL,
  calls bigint NOT NULL,
  PRIMARY KEY (organization_id, api_key_id, action, hour)
);

-- Secrets at rest, each wrapped by the master key, which is never in the database.
CREATE TABLE secrets (
  name text PRIMARY KEY,
  wrapped bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT hawser_now()
);

-- Nodes that are alive; a rate limit is shared out among them.
CREATE TABLE nodes (
  node_id uuid PRIMARY KEY DEFAULT hawser_new_id(),
  started_at timestamptz NOT NULL DEFAULT hawser_now(),
  seen_at timestamptz NOT NULL DEFAULT hawser_now()
);

DO $$
DECLARE
  tenant_table text;
BEGIN
  FOREACH tenant_table IN ARRAY ARRAY[
    'organizations', 'memberships', 'api_keys', 'instances', 'pairing_tokens', 'sessions',
    'idempotency', 'audit_entries', 'audit_reads'
  ] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format(
      'CREATE POLICY tenant ON %I TO hawser_app
         USING (organization_id = hawser_organization())
         WITH CHECK (organization_id = hawser_organization())', tenant_table);
    EXECUTE format(
      'CREATE POLICY every_tenant ON %I TO hawser_system USING (true) WITH CHECK (true)',
      tenant_table);
  END LOOP;
END $$;

GRANT SELECT, UPDATE ON organizations TO hawser_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON memberships, idempotency TO hawser_app;
GRANT SELECT, INSERT, UPDATE ON api_keys, instances, pairing_tokens, sessions TO hawser_app;
-- The trail is written and read, never corrected.
GRANT SELECT, INSERT ON audit_entries TO hawser_app;
GRANT SELECT ON audit_reads TO hawser_app;

GRANT SELECT, INSERT ON organizations, memberships, api_keys, secrets, audit_entries TO hawser_system;
GRANT SELECT, UPDATE ON pairing_tokens, instances TO hawser_system;
GRANT UPDATE (last_used_at) ON api_keys TO hawser_system;
GRANT SELECT, DELETE ON idempotency TO hawser_system;
GRANT SELECT, INSERT, UPDATE ON audit_reads TO hawser_system;
GRANT SELECT, INSERT, UPDATE, DELETE ON nodes TO hawser_system;
GRANT SELECT ON users, sessions TO hawser_system;
