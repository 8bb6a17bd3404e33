-- What sessions do and ask: how a session is at work, the requests its agent has raised, the endings
-- that hosts still owe, and what hosts last told of their agent kinds.

ALTER TABLE sessions
  -- What the agent does right now, as far as its log tells.
  ADD COLUMN activity text NOT NULL DEFAULT 'idle'
    CHECK (activity IN ('starting', 'idle', 'running', 'waiting')),
  -- The turn that runs, or the last one that did; its outcome is null while it runs.
  ADD COLUMN turn_id text,
  ADD COLUMN turn_outcome text
    CHECK (turn_outcome IN ('completed', 'aborted', 'failed', 'interrupted')),
  -- Turns of prompts that wait for the one that runs.
  ADD COLUMN queued_turns text[] NOT NULL DEFAULT '{}',
  -- A title that a caller gave is never replaced by the agent's own.
  ADD COLUMN title_given boolean NOT NULL DEFAULT false;
-- Starts that nobody finished are looked for.
CREATE INDEX sessions_starting ON sessions (created_at)
  WHERE activity = 'starting' AND deleted_at IS NULL;

CREATE TABLE requests (
  organization_id uuid NOT NULL,
  request_id uuid NOT NULL,
  session_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  -- Listings sort by it: when it was noted here, whatever the host's clock says.
  listed_id uuid NOT NULL DEFAULT hawser_new_id(),
  type text NOT NULL CHECK (type IN ('permission', 'question')),
  -- What was shown: the permission, or the questions.
  shown jsonb NOT NULL,
  shown_hash text NOT NULL,
  status text NOT NULL DEFAULT 'pending'
    CHECK (status IN ('pending', 'answered', 'undeliverable', 'withdrawn', 'expired')),
  -- The answer on record. Of a pending request: one that is on its way, or did not arrive.
  answer text CHECK (answer IN ('once', 'always', 'reject')),
  answers jsonb,
  answered_by jsonb,
  -- While an answer is being delivered no other is taken. A node that died gives it up by this.
  delivering_until timestamptz,
  raised_at timestamptz NOT NULL,
  resolved_at timestamptz,
  PRIMARY KEY (organization_id, request_id),
  FOREIGN KEY (organization_id, session_id) REFERENCES sessions
);
CREATE INDEX requests_newest ON requests (organization_id, listed_id);
CREATE INDEX requests_by_session ON requests (organization_id, session_id, listed_id);
CREATE INDEX requests_by_instance ON requests (organization_id, instance_id, listed_id);
CREATE INDEX requests_pending ON requests (organization_id, listed_id) WHERE status = 'pending';
CREATE INDEX requests_pending_by_session ON requests (organization_id, session_id, listed_id)
  WHERE status = 'pending';
CREATE INDEX requests_pending_by_instance ON requests (organization_id, instance_id, listed_id)
  WHERE status = 'pending';
-- What may be offered again when a host is back.
CREATE INDEX requests_undeliverable ON requests (instance_id) WHERE status = 'undeliverable';

-- Sessions that were ended while their host could not clean up. A row outlives the session's record,
-- and is worked off when the host is back.
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

-- What list_agent_kinds answers while the host is away.
CREATE TABLE agent_kind_listings (
  organization_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  agent_kinds jsonb NOT NULL,
  taken_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, instance_id),
  FOREIGN KEY (organization_id, instance_id) REFERENCES instances
);

DO $$
DECLARE
  tenant_table text;
BEGIN
  FOREACH tenant_table IN ARRAY ARRAY['requests', 'owed_endings', 'agent_kind_listings'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format(
      'CREATE POLICY tenant ON %I TO hawser_app
         USING (organization_id = hawser_organization())
         WITH CHECK (organization_id = hawser_organization())', tenant_table);
  END LOOP;
END $$;
CREATE POLICY every_tenant ON requests TO hawser_system USING (true) WITH CHECK (true);
CREATE POLICY every_tenant ON owed_endings TO hawser_system USING (true) WITH CHECK (true);

GRANT SELECT, UPDATE, DELETE ON requests TO hawser_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON owed_endings TO hawser_app;
GRANT SELECT, INSERT, UPDATE ON agent_kind_listings TO hawser_app;
GRANT SELECT, INSERT, UPDATE ON requests TO hawser_system;
GRANT SELECT, UPDATE, DELETE ON owed_endings TO hawser_system;
