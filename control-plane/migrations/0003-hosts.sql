-- Instances, the records of hosts: how a host is paired, which keys and connections it has, and what it
-- reports about itself.

CREATE TABLE instances (
  organization_id uuid NOT NULL REFERENCES organizations,
  instance_id uuid NOT NULL DEFAULT hawser_new_id(),
  name text NOT NULL,
  -- Listings sort and search by this: in lower case and bytewise, because under row-level security an index
  -- serves only such comparisons.
  name_key text COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(name)) STORED,
  status text NOT NULL DEFAULT 'pairing' CHECK (status IN ('pairing', 'online', 'offline')),
  status_reason text DEFAULT 'never_paired',
  -- The NATS cluster that the host belongs to; there is one today.
  fabric_cell int NOT NULL DEFAULT 0,
  -- The key of the host that is paired now; null before pairing.
  host_key text,
  -- From the last hello of the host.
  machine_id text,
  journal_id text,
  boot_id text,
  -- Written by the good-bye of a daemon, which distinguishes its disconnect from a lost link.
  stopped_boot_id text,
  -- When the edge or NATS server of the host died. The host is offline if it does not come back soon after.
  moving_since timestamptz,
  host jsonb,
  daemon_version text,
  agents jsonb NOT NULL DEFAULT '[]',
  roots jsonb NOT NULL DEFAULT '[]',
  code_hosting_cli jsonb,
  warnings jsonb NOT NULL DEFAULT '[]',
  operations jsonb NOT NULL DEFAULT '[]',
  -- Kept by a trigger.
  active_session_count int NOT NULL DEFAULT 0,
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
-- Every minute the comparison of presence looks for instances that are shown online without a connection.
-- This index contains exactly the instances to compare, in the order of host_connections_by_instance. So the
-- rows of instances, with all facts about their hosts, need not be read.
CREATE INDEX instances_online ON instances (organization_id, instance_id)
  WHERE status = 'online' AND moving_since IS NULL AND deleted_at IS NULL;
CREATE INDEX instances_moving ON instances (moving_since) WHERE moving_since IS NOT NULL;
ALTER TABLE instances ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON instances TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON instances TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON instances TO hawser_app;
GRANT SELECT, UPDATE ON instances TO hawser_system;

-- Counts are kept by triggers, so that no statement can forget them.
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
ALTER TABLE pairing_tokens ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON pairing_tokens TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON pairing_tokens TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON pairing_tokens TO hawser_app;
GRANT SELECT, UPDATE ON pairing_tokens TO hawser_system;

-- Every key that a host was ever paired with. A revoked key stays until the last token it could have has
-- expired, because the fabric's own list of revocations is rebuilt from this table.
CREATE TABLE host_keys (
  organization_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  public_key text PRIMARY KEY,
  machine_id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  token_expires_at timestamptz NOT NULL,
  -- The public key that signed the host's newest token; null if that is not known.
  token_signer text,
  -- The command keys that the host has pinned, sorted and separated by spaces; empty if that is not known.
  -- As one text, the index finds the hosts with any other keys, and contains equal texts once.
  command_keys text NOT NULL DEFAULT '',
  revoked_at timestamptz,
  -- The edge that the host last connected through.
  edge_id text,
  FOREIGN KEY (organization_id, instance_id) REFERENCES instances
);
CREATE INDEX host_keys_revoked ON host_keys (token_expires_at) WHERE revoked_at IS NOT NULL;
-- A message of a host names the instance alone.
CREATE INDEX host_keys_by_instance ON host_keys (instance_id);
CREATE INDEX host_keys_by_signer ON host_keys (token_signer) WHERE revoked_at IS NULL;
CREATE INDEX host_keys_by_command_keys ON host_keys (command_keys) WHERE revoked_at IS NULL;
ALTER TABLE host_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON host_keys TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON host_keys TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, UPDATE ON host_keys TO hawser_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON host_keys TO hawser_system;

-- Presence is a set of connections per host. A connection is identified by its server and its number there,
-- never by its host: a renewal opens a second connection, and the end of one is not the end of the other.
CREATE TABLE host_connections (
  server_id text NOT NULL,
  client_id bigint NOT NULL,
  public_key text NOT NULL,
  organization_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  -- The edge that the connection goes through.
  edge_id text,
  connected_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (server_id, client_id),
  FOREIGN KEY (organization_id, instance_id) REFERENCES instances
);
CREATE INDEX host_connections_by_instance ON host_connections (organization_id, instance_id);
ALTER TABLE host_connections ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON host_connections TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON host_connections TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT ON host_connections TO hawser_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON host_connections TO hawser_system;

-- When the host of an instance was last seen. This is a table of its own, because an idle fleet writes
-- nothing else: a write costs a narrow row instead of the instance's row with all facts about the host.
CREATE TABLE host_sightings (
  organization_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  last_seen_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, instance_id)
-- With room on the page, the next version of a row stays on it, and the index is not touched.
) WITH (fillfactor = 70);
ALTER TABLE host_sightings ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON host_sightings TO hawser_app USING (organization_id = hawser_organization());
CREATE POLICY every_tenant ON host_sightings TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT ON host_sightings TO hawser_app;
GRANT SELECT, INSERT, UPDATE ON host_sightings TO hawser_system;

-- What list_directories returns while the host is offline.
CREATE TABLE directory_listings (
  organization_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  roots jsonb NOT NULL,
  taken_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, instance_id),
  FOREIGN KEY (organization_id, instance_id) REFERENCES instances
);
ALTER TABLE directory_listings ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON directory_listings TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
GRANT SELECT, INSERT, UPDATE ON directory_listings TO hawser_app;

-- What list_agent_kinds returns while the host is offline.
CREATE TABLE agent_kind_listings (
  organization_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  agent_kinds jsonb NOT NULL,
  taken_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, instance_id),
  FOREIGN KEY (organization_id, instance_id) REFERENCES instances
);
ALTER TABLE agent_kind_listings ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON agent_kind_listings TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
GRANT SELECT, INSERT, UPDATE ON agent_kind_listings TO hawser_app;
