-- Hosts: their keys and revocations, their live connections, and the log their sessions write.

ALTER TABLE instances
  -- The NATS cluster the host belongs to; there is one today.
  ADD COLUMN fabric_cell int NOT NULL DEFAULT 0,
  -- The key of the host that is paired now; null before pairing.
  ADD COLUMN host_key text,
  -- What the host's last hello said of itself.
  ADD COLUMN machine_id text,
  ADD COLUMN journal_id text,
  ADD COLUMN boot_id text,
  -- A daemon that says good-bye leaves this, so that its disconnect is told from a lost link.
  ADD COLUMN stopped_boot_id text,
  -- Since when a host whose edge or NATS server died has been looked for, before it counts as offline.
  ADD COLUMN moving_since timestamptz;
CREATE INDEX instances_online ON instances (organization_id, instance_id) WHERE status = 'online';
CREATE INDEX instances_moving ON instances (moving_since) WHERE moving_since IS NOT NULL;

-- Every key a host was ever paired with. A revoked one stays until the last token it could have has
-- expired, because the fabric's own list of revocations is rebuilt from here.
CREATE TABLE host_keys (
  organization_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  public_key text PRIMARY KEY,
  machine_id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  token_expires_at timestamptz NOT NULL,
  revoked_at timestamptz,
  -- The edge the host last came in through.
  edge_id text,
  FOREIGN KEY (organization_id, instance_id) REFERENCES instances
);
CREATE INDEX host_keys_revoked ON host_keys (token_expires_at) WHERE revoked_at IS NOT NULL;
-- A host that speaks is known by its instance alone.
CREATE INDEX host_keys_by_instance ON host_keys (instance_id);

-- Presence is a set of connections per host, each known by the server that has it and its number
-- there; never by host alone, or the second connection of a renewal would end the first's presence.
CREATE TABLE host_connections (
  server_id text NOT NULL,
  client_id bigint NOT NULL,
  public_key text NOT NULL,
  organization_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  -- The edge it came in through.
  edge_id text,
  connected_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (server_id, client_id),
  FOREIGN KEY (organization_id, instance_id) REFERENCES instances
);
CREATE INDEX host_connections_by_instance ON host_connections (organization_id, instance_id);

-- Edges that are gone: a host whose link broke because its edge died is moving, not lost.
CREATE TABLE lost_edges (
  edge_id text PRIMARY KEY,
  lost_at timestamptz NOT NULL DEFAULT hawser_now()
);

-- Work that one node at a time does, with a fence against one that wakes up late.
CREATE TABLE leases (
  name text PRIMARY KEY,
  holder uuid NOT NULL,
  fence bigint NOT NULL DEFAULT 1,
  until timestamptz NOT NULL
);

ALTER TABLE sessions
  -- How far the host's log of the session has been taken in.
  ADD COLUMN applied_seq bigint NOT NULL DEFAULT 0,
  ADD COLUMN journal_id text;

-- The log. A session's rows lie together, and because an id tells its birth, a range of ids is a
-- range of time: partitions by week can be archived and dropped whole.
CREATE TABLE session_log (
  session_id uuid NOT NULL,
  seq bigint NOT NULL,
  organization_id uuid NOT NULL,
  at timestamptz NOT NULL,
  turn_id text,
  update jsonb NOT NULL,
  PRIMARY KEY (session_id, seq)
) PARTITION BY RANGE (session_id);
CREATE TABLE session_log_rest PARTITION OF session_log DEFAULT;

DO $$
DECLARE
  tenant_table text;
BEGIN
  FOREACH tenant_table IN ARRAY ARRAY['host_keys', 'host_connections', 'session_log'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format(
      'CREATE POLICY tenant ON %I TO hawser_app
         USING (organization_id = hawser_organization())
         WITH CHECK (organization_id = hawser_organization())', tenant_table);
    EXECUTE format(
      'CREATE POLICY every_tenant ON %I TO hawser_system USING (true) WITH CHECK (true)',
      tenant_table);
  END LOOP;
  -- A partition is reached through its table only; directly, it shows nothing to anyone.
  ALTER TABLE session_log_rest ENABLE ROW LEVEL SECURITY;
END $$;

GRANT SELECT, UPDATE ON host_keys TO hawser_app;
GRANT SELECT ON host_connections, session_log TO hawser_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON host_keys, host_connections, lost_edges, leases TO hawser_system;
GRANT SELECT, INSERT ON session_log TO hawser_system;
GRANT UPDATE ON sessions, secrets TO hawser_system;
GRANT UPDATE ON organizations TO hawser_system;
