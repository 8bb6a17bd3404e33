-- What a caller that waits for a session needs to know.

-- Shell commands of callers that run, according to the log.
ALTER TABLE sessions ADD COLUMN running_shells text[] NOT NULL DEFAULT '{}';

-- The sentence to the stable word in status_reason; null if the word has one sentence for all sessions.
ALTER TABLE sessions ADD COLUMN status_message text;

-- The type of an entry, so that entries can be selected by it without reading them; null in entries of
-- earlier versions.
ALTER TABLE session_log ADD COLUMN entry_type text;
