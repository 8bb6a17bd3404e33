-- Requests: permissions and questions that agents have raised.

CREATE TABLE requests (
  organization_id uuid NOT NULL,
  request_id uuid NOT NULL,
  session_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  -- Listings sort by this: when the request was stored here, independent of the host's clock.
  listed_id uuid NOT NULL DEFAULT hawser_new_id(),
  type text NOT NULL CHECK (type IN ('permission', 'question')),
  -- What a person sees: the permission, or the questions.
  shown jsonb NOT NULL,
  shown_hash text NOT NULL,
  -- Why a person is asked; null if the host did not say.
  rule text,
  status text NOT NULL DEFAULT 'pending'
    CHECK (status IN ('pending', 'answered', 'undeliverable', 'withdrawn', 'expired')),
  -- The recorded answer. Of a pending request: an answer that is being delivered, or was not delivered.
  answer text CHECK (answer IN ('once', 'always', 'reject')),
  answers jsonb,
  answered_by jsonb,
  -- While an answer is being delivered, no other is accepted. The time limits this if a node dies.
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
-- Requests that can be answered again when their host is back.
CREATE INDEX requests_undeliverable ON requests (instance_id) WHERE status = 'undeliverable';
ALTER TABLE requests ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON requests TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON requests TO hawser_system USING (true) WITH CHECK (true);
-- An agent's key reaches the requests of the sessions that it reaches.
CREATE POLICY agent_reach ON requests AS RESTRICTIVE TO hawser_app
  USING (hawser_agent_session() IS NULL OR EXISTS (
    SELECT FROM sessions s
     WHERE s.organization_id = requests.organization_id AND s.session_id = requests.session_id));
GRANT SELECT, UPDATE, DELETE ON requests TO hawser_app;
GRANT SELECT, INSERT, UPDATE ON requests TO hawser_system;
