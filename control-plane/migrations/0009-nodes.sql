-- What nodes need for themselves: secrets of the service, who is alive, and which node does the work that
-- is done once for all.

-- Secrets of the service, each encrypted by the master key, which is never in the database.
CREATE TABLE secrets (
  name text PRIMARY KEY,
  wrapped bytea NOT NULL,
  -- Names the master key that encrypted the secret; null if that is not known.
  master_key_id text,
  created_at timestamptz NOT NULL DEFAULT hawser_now()
);
GRANT SELECT, INSERT, UPDATE ON secrets TO hawser_system;

-- Nodes that are alive; they share each rate limit.
CREATE TABLE nodes (
  node_id uuid PRIMARY KEY DEFAULT hawser_new_id(),
  started_at timestamptz NOT NULL DEFAULT hawser_now(),
  seen_at timestamptz NOT NULL DEFAULT hawser_now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON nodes TO hawser_system;

-- Rights that one node at a time has. The fence stops a former holder that wakes up late.
CREATE TABLE leases (
  name text PRIMARY KEY,
  holder uuid NOT NULL,
  fence bigint NOT NULL DEFAULT 1,
  until timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON leases TO hawser_system;

-- Work that one node does for all, at its intervals. Each job has its own lease, so that a job that hangs
-- does not delay the others.
CREATE TABLE jobs (
  name text PRIMARY KEY,
  -- When the next run may start.
  due_at timestamptz NOT NULL DEFAULT 'epoch',
  -- The node that started the last run, and until when no other node may start one.
  holder uuid,
  lease_until timestamptz NOT NULL DEFAULT 'epoch',
  -- Grows with each run. A node that lost its lease cannot renew it.
  fence bigint NOT NULL DEFAULT 0
);
GRANT SELECT, INSERT, UPDATE ON jobs TO hawser_system;
