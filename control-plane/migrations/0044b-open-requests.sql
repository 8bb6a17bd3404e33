-- hawser: outside a transaction
-- The requests that can still be answered, by session.
CREATE INDEX CONCURRENTLY IF NOT EXISTS requests_open_by_session ON requests (organization_id, session_id, listed_id)
  WHERE status IN ('pending', 'undeliverable');
