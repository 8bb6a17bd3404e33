-- hawser: outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS schedule_runs_waiting
  ON schedule_runs (organization_id, schedule_id, run_id) WHERE step = 'wait';
