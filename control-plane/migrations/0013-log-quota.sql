-- Limits how much an organization's hosts may add to the session log on one day, so that no organization
-- can fill the disk that all of them share.

-- The operator's limit, so no action changes it. Default: 2 GiB.
ALTER TABLE organizations ADD COLUMN log_bytes_per_day bigint NOT NULL DEFAULT 2147483648;

-- Bytes stored for an organization on one day, UTC. A row of an earlier day counts as zero.
CREATE TABLE log_quotas (
  organization_id uuid PRIMARY KEY REFERENCES organizations,
  day date NOT NULL,
  bytes bigint NOT NULL
);

ALTER TABLE log_quotas ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON log_quotas TO hawser_app USING (organization_id = hawser_organization());
CREATE POLICY every_tenant ON log_quotas TO hawser_system USING (true) WITH CHECK (true);

GRANT SELECT ON log_quotas TO hawser_app;
GRANT SELECT, INSERT, UPDATE ON log_quotas TO hawser_system;
