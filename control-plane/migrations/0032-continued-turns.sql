-- Turns that failed because a quota was used up and continue with another agent kind, and sessions that their owner
-- shares with other members.

-- Whether such turns continue.
ALTER TABLE organizations ADD COLUMN fallback_mid_turn boolean NOT NULL DEFAULT false;
-- What became of such a turn, as the record shows it: turnId, forkId, problem.
ALTER TABLE sessions ADD COLUMN continuation jsonb;
-- Members who may prompt the session besides the owner of its account; null: every member.
ALTER TABLE sessions ADD COLUMN shared_with uuid[] DEFAULT '{}';
ALTER TABLE sessions ADD COLUMN shared_at timestamptz;

-- The key that began each turn, in organizations that have turns continued: the continuation acts with it. Agents
-- prompt sessions too, so their keys may insert rows.
CREATE TABLE turn_keys (
  organization_id uuid NOT NULL,
  session_id uuid NOT NULL,
  turn_id text NOT NULL,
  api_key_id uuid NOT NULL,
  -- The schedule for which the service called with the key; null if the key's holder called.
  schedule jsonb,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, session_id, turn_id)
);
CREATE INDEX turn_keys_by_age ON turn_keys (created_at);
ALTER TABLE turn_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON turn_keys TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON turn_keys TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT ON turn_keys TO hawser_app;
GRANT SELECT, DELETE ON turn_keys TO hawser_system;

-- One row for each turn that a used-up quota ended and that is to continue. The intake inserts it in the transaction
-- that stores the end of the turn.
CREATE TABLE turn_continuations (
  organization_id uuid NOT NULL,
  session_id uuid NOT NULL,
  turn_id text NOT NULL,
  continuation_id uuid NOT NULL DEFAULT hawser_new_id(),
  -- fork: no kind continues it yet. prompt: the fork is to get the prompt. ended.
  step text NOT NULL DEFAULT 'fork' CHECK (step IN ('fork', 'prompt', 'ended')),
  -- What a host may have been asked for in this step: the kind of the fork, or 'prompt'. Then only the same call of
  -- the same key gets its outcome.
  asked text,
  -- Kinds that were not used, in the order tried: kind, code and message.
  passed_over jsonb NOT NULL DEFAULT '[]',
  fork_id uuid,
  -- Why the turn does not continue.
  problem text,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  -- When a host was first asked for the present step.
  first_asked_at timestamptz,
  -- The node that works on the step. The highest fence may write; a node whose lease has ended is replaced.
  holder text,
  fence bigint NOT NULL DEFAULT 0,
  lease_until timestamptz NOT NULL DEFAULT hawser_now(),
  -- When the step is next tried.
  try_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, session_id, turn_id)
);
CREATE INDEX turn_continuations_to_do ON turn_continuations (try_at) WHERE step <> 'ended';
CREATE INDEX turn_continuations_by_age ON turn_continuations (created_at);
ALTER TABLE turn_continuations ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON turn_continuations TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON turn_continuations AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY every_tenant ON turn_continuations TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON turn_continuations TO hawser_system;
