-- Scheduled prompts, and the ledger of their runs.

CREATE TABLE schedules (
  organization_id uuid NOT NULL REFERENCES organizations,
  schedule_id uuid NOT NULL DEFAULT hawser_new_id(),
  name text,
  prompt text NOT NULL,
  directory text,
  clone_repo text,
  clone_url text,
  -- In the order in which they are tried. A host may have been deleted since.
  instance_ids uuid[] NOT NULL CHECK (cardinality(instance_ids) > 0),
  -- Null: the default of the host that runs it. So are the next four.
  agent_kind text CHECK (agent_kind IN ('opencode', 'claude_code', 'codex')),
  provider_id text,
  model_id text,
  use_worktree boolean,
  fallback_chain jsonb,
  frequency text NOT NULL CHECK (frequency IN ('never', 'hourly', 'daily', 'weekly', 'monthly')),
  start_at timestamptz NOT NULL,
  enabled boolean NOT NULL DEFAULT true,
  -- Why the service paused it; null if a caller did.
  pause_reason text,
  -- Null while it is paused, and when it will not run again.
  next_run_at timestamptz,
  -- Runs act with this key: the key of the caller who last created, changed or resumed the schedule. Its rights
  -- are checked at each run.
  api_key_id uuid NOT NULL,
  -- That caller, as records name them.
  acts_as jsonb NOT NULL,
  created_by jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  -- Failed runs since the last one that succeeded.
  failures_in_row integer NOT NULL DEFAULT 0,
  session_count integer NOT NULL DEFAULT 0,
  PRIMARY KEY (organization_id, schedule_id),
  CHECK (num_nonnulls(directory, clone_repo, clone_url) = 1),
  CHECK (enabled OR next_run_at IS NULL)
);
CREATE INDEX schedules_due ON schedules (next_run_at) WHERE next_run_at IS NOT NULL;
CREATE INDEX schedules_by_key ON schedules (api_key_id);
ALTER TABLE schedules ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON schedules TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON schedules AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY every_tenant ON schedules TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON schedules TO hawser_app;
GRANT SELECT, UPDATE ON schedules TO hawser_system;

-- One row for each time at which a schedule was due, also if nothing was started. The primary key is the claim:
-- only one node can insert it.
CREATE TABLE schedule_runs (
  organization_id uuid NOT NULL,
  schedule_id uuid NOT NULL,
  -- When it was due. A run that a caller asked for is due at that moment.
  run_at timestamptz NOT NULL,
  run_id uuid NOT NULL DEFAULT hawser_new_id(),
  -- What the run does, fixed when it was claimed. A later change of the schedule affects the next run.
  plan jsonb NOT NULL,
  api_key_id uuid NOT NULL,
  -- start: no host has accepted it yet. prompt: its session is to get the prompt. watch: its turn runs. ended.
  step text NOT NULL DEFAULT 'start' CHECK (step IN ('start', 'prompt', 'watch', 'ended')),
  outcome text NOT NULL DEFAULT 'running'
    CHECK (outcome IN ('running', 'succeeded', 'failed', 'needs_answer', 'missed', 'skipped')),
  -- Whether a host may have been asked for this step. Then only the same call of the same key gets its outcome.
  asked boolean NOT NULL DEFAULT false,
  session_id uuid,
  turn_id text,
  failure text,
  -- Hosts that were not used, in the order tried: instanceId and reason.
  passed_over jsonb NOT NULL DEFAULT '[]',
  cost_usd double precision,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  -- When its session was started.
  started_at timestamptz,
  ended_at timestamptz,
  -- When a host was first asked for the present step.
  first_asked_at timestamptz,
  -- The node that works on the step. The highest fence may write; a node whose lease has ended is replaced.
  holder text,
  fence bigint NOT NULL DEFAULT 0,
  lease_until timestamptz NOT NULL DEFAULT hawser_now(),
  -- When the step is next tried.
  try_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, schedule_id, run_at),
  FOREIGN KEY (organization_id, schedule_id) REFERENCES schedules ON DELETE CASCADE
);
CREATE INDEX schedule_runs_to_do ON schedule_runs (try_at) WHERE step IN ('start', 'prompt');
CREATE INDEX schedule_runs_watched ON schedule_runs (try_at) WHERE step = 'watch';
-- At most one for each schedule: while it is there, no other run begins.
CREATE INDEX schedule_runs_unended ON schedule_runs (organization_id, schedule_id) WHERE step <> 'ended';
CREATE INDEX schedule_runs_newest ON schedule_runs (organization_id, schedule_id, run_id);
CREATE INDEX schedule_runs_by_age ON schedule_runs (created_at);
ALTER TABLE schedule_runs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON schedule_runs TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON schedule_runs AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY every_tenant ON schedule_runs TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON schedule_runs TO hawser_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON schedule_runs TO hawser_system;
