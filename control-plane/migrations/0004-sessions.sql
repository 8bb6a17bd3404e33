-- Sessions, their log, what is kept of their files, and the endings that hosts still owe.

CREATE TABLE sessions (
  organization_id uuid NOT NULL REFERENCES organizations,
  session_id uuid NOT NULL DEFAULT hawser_new_id(),
  instance_id uuid NOT NULL,
  title text,
  -- A title that a caller chose is never replaced by the agent's own.
  title_given boolean NOT NULL DEFAULT false,
  agent_kind text NOT NULL CHECK (agent_kind IN ('opencode', 'claude_code', 'codex')),
  -- What the agent may do without asking a person.
  mode text NOT NULL DEFAULT 'ask',
  directory text,
  worktree_branch text,
  model jsonb,
  capabilities text[] NOT NULL DEFAULT '{}',
  status text NOT NULL DEFAULT 'active'
    CHECK (status IN ('active', 'detached', 'error', 'ended', 'cleanup_failed')),
  status_reason text,
  -- What the agent is doing, according to the log.
  activity text NOT NULL DEFAULT 'idle'
    CHECK (activity IN ('starting', 'idle', 'running', 'waiting')),
  -- Null for a session that is not starting, and indexed instead of the activity. An index that contains the
  -- activity would change with it, and then PostgreSQL adds the row to all other indexes too.
  starting_since timestamptz
    GENERATED ALWAYS AS (CASE WHEN activity = 'starting' AND deleted_at IS NULL THEN created_at END) STORED,
  -- The turn that runs, or else the last one; its outcome is null while it runs.
  turn_id text,
  turn_outcome text
    CHECK (turn_outcome IN ('completed', 'aborted', 'failed', 'interrupted')),
  -- Turns of prompts that wait for the running one.
  queued_turns text[] NOT NULL DEFAULT '{}',
  cost_usd double precision,
  cost_is_estimate boolean NOT NULL DEFAULT false,
  usage jsonb,
  started_by jsonb NOT NULL,
  -- The sessions that this one descends from; the last is the session whose agent started this one.
  ancestor_ids uuid[] NOT NULL,
  forked_from uuid,
  journal_id text,
  -- The last entry of the host's log that is stored here.
  applied_seq bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  ended_at timestamptz,
  deleted_at timestamptz,
  PRIMARY KEY (organization_id, session_id),
  FOREIGN KEY (organization_id, instance_id) REFERENCES instances
-- Storing a report rewrites the row of its session. With room on the page, the next version of the row stays
-- on it, and no index is touched.
) WITH (fillfactor = 85);

-- One index for each way in which a listing can be narrowed. Each ends in the id, which sorts by time, so a
-- page costs the same with a thousand rows as with a hundred million.
CREATE INDEX sessions_newest ON sessions (organization_id, session_id)
  WHERE deleted_at IS NULL;
CREATE INDEX sessions_by_instance ON sessions (organization_id, instance_id, session_id)
  WHERE deleted_at IS NULL;
CREATE INDEX sessions_by_status ON sessions (organization_id, status, session_id)
  WHERE deleted_at IS NULL;
CREATE INDEX sessions_by_instance_and_status ON sessions (organization_id, instance_id, status, session_id)
  WHERE deleted_at IS NULL;
-- Finds starts that did not finish.
CREATE INDEX sessions_starting ON sessions (starting_since) WHERE starting_since IS NOT NULL;
-- Sessions that can keep a period of the log longer than its age does (hawser_partition_expired).
CREATE INDEX sessions_outliving ON sessions (session_id)
  WHERE ended_at IS NULL OR ended_at - created_at > interval '28 days';

-- This default reads the table, so it is set when the table exists.
CREATE FUNCTION hawser_ancestors_of_new_session() RETURNS uuid[] LANGUAGE sql STABLE AS $$
  SELECT coalesce(
    (SELECT ancestor_ids || session_id FROM sessions
      WHERE organization_id = hawser_organization() AND session_id = hawser_agent_session()), '{}')
$$;
ALTER TABLE sessions ALTER COLUMN ancestor_ids SET DEFAULT hawser_ancestors_of_new_session();

ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sessions TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON sessions TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON sessions TO hawser_app;
GRANT SELECT, UPDATE ON sessions TO hawser_system;

-- An agent's key reaches its own session, the sessions that agents of that session started, and the host
-- that they run on. Row-level security decides it, so that no statement can forget it.
CREATE POLICY agent_reach ON sessions AS RESTRICTIVE TO hawser_app
  USING (hawser_agent_session() IS NULL
    OR session_id = hawser_agent_session()
    OR hawser_agent_session() = ANY (ancestor_ids));
CREATE POLICY agent_reach ON instances AS RESTRICTIVE TO hawser_app
  USING (hawser_agent_session() IS NULL OR instance_id = (
    SELECT s.instance_id FROM sessions s
     WHERE s.organization_id = hawser_organization() AND s.session_id = hawser_agent_session()));

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

-- The log, partitioned by time (0008-partitions.sql). The entries of a session are stored together.
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
-- No policy admits a row, so a partition can be read through its table only.
ALTER TABLE session_log_rest ENABLE ROW LEVEL SECURITY;
ALTER TABLE session_log ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON session_log TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON session_log TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT ON session_log TO hawser_app;
GRANT SELECT, INSERT ON session_log TO hawser_system;

-- Bytes of log entries that were stored for an organization on one day, UTC. A row of an earlier day counts
-- as zero. The limit keeps an organization from filling the disk that all of them share.
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

-- What get_session_diff returns while the host is offline, or after the session has ended.
CREATE TABLE session_diffs (
  organization_id uuid NOT NULL,
  session_id uuid NOT NULL,
  files jsonb NOT NULL,
  truncated boolean NOT NULL,
  taken_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, session_id),
  FOREIGN KEY (organization_id, session_id) REFERENCES sessions
);
ALTER TABLE session_diffs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON session_diffs TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
GRANT SELECT, INSERT, UPDATE ON session_diffs TO hawser_app;

-- Sessions that were ended while their host could not clean up. A row outlives the record of its session;
-- the host carries out the ending when it is back.
CREATE TABLE owed_endings (
  organization_id uuid NOT NULL,
  session_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  since timestamptz NOT NULL DEFAULT hawser_now(),
  tried_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, session_id)
);
CREATE INDEX owed_endings_by_instance ON owed_endings (instance_id);
CREATE INDEX owed_endings_by_try ON owed_endings (tried_at);
ALTER TABLE owed_endings ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON owed_endings TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON owed_endings TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON owed_endings TO hawser_app;
GRANT SELECT, UPDATE, DELETE ON owed_endings TO hawser_system;
