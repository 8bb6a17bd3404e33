-- hawser: outside a transaction
-- Only one run can be inserted for a delivery, however often and to however many nodes it is sent.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS schedule_runs_by_delivery
  ON schedule_runs (organization_id, schedule_id, delivery_id) WHERE delivery_id IS NOT NULL;
