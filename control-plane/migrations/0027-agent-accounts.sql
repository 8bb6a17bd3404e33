-- Agent accounts of members on hosts, and the attempts to link them. The credentials are only on the host.

-- How members may use accounts of their own; empty: not at all.
ALTER TABLE organizations ADD COLUMN allowed_logins text[] NOT NULL DEFAULT '{}';
-- Whose agent account the session uses; null: the host's own.
ALTER TABLE sessions ADD COLUMN account_user_id uuid;

CREATE TABLE agent_accounts (
  organization_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  -- The user and the time when they became a member: whoever leaves and joins again is another owner.
  owner_id text COLLATE "C" NOT NULL,
  user_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('claude_code', 'codex')),
  -- False while a login was begun and has not succeeded. The host may have a home for it all the same.
  linked boolean NOT NULL DEFAULT false,
  authenticated boolean NOT NULL DEFAULT false,
  account text,
  plan text,
  expires_at timestamptz,
  -- Percent, and when the agent reported it.
  utilization double precision,
  utilization_at timestamptz,
  -- Why the host could not check the login.
  problem text,
  -- When the host last reported it.
  taken_at timestamptz NOT NULL DEFAULT hawser_now(),
  -- The owner has left, and the host has not confirmed that it has removed the account.
  removal_owed boolean NOT NULL DEFAULT false,
  -- When the host was last asked for an owed removal, or when the removal became owed.
  tried_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', hawser_now()),
  PRIMARY KEY (organization_id, instance_id, owner_id, kind)
);
CREATE INDEX agent_accounts_by_user ON agent_accounts (organization_id, user_id);
CREATE INDEX agent_accounts_owed_by_instance ON agent_accounts (instance_id) WHERE removal_owed;
CREATE INDEX agent_accounts_owed_by_try ON agent_accounts (tried_at) WHERE removal_owed;
ALTER TABLE agent_accounts ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON agent_accounts TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON agent_accounts AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY every_tenant ON agent_accounts TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON agent_accounts TO hawser_app;
GRANT SELECT, UPDATE, DELETE ON agent_accounts TO hawser_system;

-- Attempts to link an account. Rows are removed after a day.
CREATE TABLE agent_logins (
  organization_id uuid NOT NULL,
  login_id uuid NOT NULL DEFAULT hawser_new_id(),
  instance_id uuid NOT NULL,
  user_id uuid NOT NULL,
  owner_id text COLLATE "C" NOT NULL,
  kind text NOT NULL CHECK (kind IN ('claude_code', 'codex')),
  -- Null until the host has answered, as is the address.
  flow text CHECK (flow IN ('paste_code', 'device_code')),
  authorization_url text,
  user_code text,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'done', 'error')),
  error text,
  account text,
  -- When the account's login expires.
  expires_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, login_id)
);
CREATE INDEX agent_logins_by_owner ON agent_logins (organization_id, instance_id, owner_id, kind);
CREATE INDEX agent_logins_by_age ON agent_logins (created_at);
ALTER TABLE agent_logins ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON agent_logins TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON agent_logins AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY every_tenant ON agent_logins TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON agent_logins TO hawser_app;
GRANT SELECT, DELETE ON agent_logins TO hawser_system;
