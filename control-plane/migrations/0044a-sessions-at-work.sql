-- hawser: outside a transaction
-- Finds the few sessions at work among many. Its condition names the turn instead of the activity: the activity also
-- changes with each request, and every change of a column that an index names adds the row to all indexes. A turn costs
-- two such changes, one when it starts and one when it ends. The index can contain sessions at rest, such as one whose
-- turn was lost with its host, so readers also check the activity.
CREATE INDEX CONCURRENTLY IF NOT EXISTS sessions_at_work ON sessions (organization_id, session_id)
  WHERE deleted_at IS NULL AND status NOT IN ('ended', 'cleanup_failed')
    AND (starting_since IS NOT NULL OR turn_id IS NOT NULL AND turn_outcome IS NULL
         OR queued_turns <> '{}' OR running_shells <> '{}');
