-- How much of the original's log a fork continues: its agent knows nothing of later entries.
ALTER TABLE sessions ADD COLUMN forked_at_seq bigint;
