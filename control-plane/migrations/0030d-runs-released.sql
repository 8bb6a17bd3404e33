-- hawser: outside a transaction
-- Counts the runs of triggers that an organization has started lately.
CREATE INDEX CONCURRENTLY IF NOT EXISTS schedule_runs_released
  ON schedule_runs (organization_id, created_at) WHERE delivery_id IS NOT NULL AND step <> 'wait';
