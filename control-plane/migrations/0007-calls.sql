-- What is recorded of calls: outcomes for retries, audit entries, and counts of reads. All three tables are
-- partitioned by time (0008-partitions.sql).

-- The outcome of a call that had an idempotency key. The key itself is never stored: its hash finds the
-- row, and a result that contains a secret is sealed under a key derived from the idempotency key.
--
-- No index keeps a second valid row of the same key from being added, because a unique index of a
-- partitioned table must contain the partition key. Calls lock the key before they look for its row.
CREATE TABLE idempotency (
  organization_id uuid NOT NULL,
  api_key_id uuid NOT NULL,
  action text NOT NULL,
  key_hash bytea NOT NULL,
  command_id uuid NOT NULL DEFAULT hawser_new_id(),
  body_hmac bytea NOT NULL,
  -- Data that the first transaction of a call that asks a host stores for the node that finishes it.
  intent bytea,
  state text NOT NULL CHECK (state IN ('running', 'done')),
  fence bigint NOT NULL DEFAULT 1,
  lease_until timestamptz,
  outcome bytea,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, api_key_id, action, key_hash, command_id)
) PARTITION BY RANGE (command_id);
CREATE TABLE idempotency_rest PARTITION OF idempotency DEFAULT;
-- No policy admits a row, so a partition can be read through its table only.
ALTER TABLE idempotency_rest ENABLE ROW LEVEL SECURITY;
ALTER TABLE idempotency ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON idempotency TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON idempotency TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON idempotency TO hawser_app;

-- Calls that changed something, or tried to.
CREATE TABLE audit_entries (
  organization_id uuid NOT NULL,
  audit_id uuid NOT NULL DEFAULT hawser_new_id(),
  at timestamptz NOT NULL DEFAULT hawser_now(),
  api_key_id uuid,
  user_id uuid,
  agent_session_id uuid,
  action text NOT NULL,
  -- 'done', 'accepted' while a host is asked, or the code of the refusal.
  outcome text NOT NULL,
  input jsonb NOT NULL,
  -- The ids of the records that the call made or returned.
  records jsonb NOT NULL,
  call_id text NOT NULL,
  PRIMARY KEY (organization_id, audit_id)
) PARTITION BY RANGE (audit_id);
CREATE TABLE audit_entries_rest PARTITION OF audit_entries DEFAULT;
ALTER TABLE audit_entries_rest ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_entries ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON audit_entries TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON audit_entries TO hawser_system USING (true) WITH CHECK (true);
-- Audit entries are written and read, and never changed.
GRANT SELECT, INSERT ON audit_entries TO hawser_app;
GRANT SELECT, INSERT ON audit_entries TO hawser_system;

-- Reads are counted, not recorded one by one.
CREATE TABLE audit_reads (
  organization_id uuid NOT NULL,
  api_key_id uuid NOT NULL,
  action text NOT NULL,
  hour timestamptz NOT NULL,
  calls bigint NOT NULL,
  PRIMARY KEY (organization_id, api_key_id, action, hour)
) PARTITION BY RANGE (hour);
CREATE TABLE audit_reads_rest PARTITION OF audit_reads DEFAULT;
ALTER TABLE audit_reads_rest ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_reads ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON audit_reads TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON audit_reads TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT ON audit_reads TO hawser_app;
GRANT SELECT, INSERT, UPDATE ON audit_reads TO hawser_system;
