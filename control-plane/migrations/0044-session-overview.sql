-- What a list of sessions shows of their work. The intake writes these columns together with the state that entries
-- cause, and only then: a column that changed with every entry would add to the bytes that PostgreSQL writes for each
-- (decision 0086). Null in sessions whose entries were stored by an earlier version.

-- When an entry last changed the session's state, and when its latest turn began. By the host's clock.
ALTER TABLE sessions ADD COLUMN last_activity_at timestamptz;
ALTER TABLE sessions ADD COLUMN turn_started_at timestamptz;
-- The entry that ended the latest turn.
ALTER TABLE sessions ADD COLUMN outcome_seq bigint;
