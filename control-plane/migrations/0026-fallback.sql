-- Why a session runs with another kind than the preferred one.
ALTER TABLE sessions ADD COLUMN fallback jsonb;
