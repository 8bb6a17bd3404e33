// Step 1 of the journal: its first layout, as daemons wrote it before journals had a version. Such a
// journal has these tables already, so everything here is created only if it is missing.
export const firstLayout = `
  CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

  -- A command is recorded before it runs, and its outcome before the reply is sent.
  CREATE TABLE IF NOT EXISTS commands (
    id TEXT PRIMARY KEY,
    command TEXT NOT NULL,
    begun_at INTEGER NOT NULL,
    finished_at INTEGER,
    outcome TEXT
  ) WITHOUT ROWID;

  -- A session's row outlives its entries, so that their numbers continue.
  CREATE TABLE IF NOT EXISTS sessions (
    session_id TEXT PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    -- The last opening of the journal in which the control plane reported how much of the log it has.
    -- Entries of later openings were never sent.
    introduced INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;

  CREATE TABLE IF NOT EXISTS entries (
    -- The order in which entries were written, and are sent.
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    -- The opening of the journal that wrote the entry.
    opening INTEGER NOT NULL,
    applied_at INTEGER,
    bytes INTEGER NOT NULL,
    entry TEXT NOT NULL,
    UNIQUE (session_id, seq)
  );
  CREATE INDEX IF NOT EXISTS entries_to_send ON entries (position) WHERE applied_at IS NULL;
  CREATE INDEX IF NOT EXISTS entries_unapplied ON entries (session_id, seq) WHERE applied_at IS NULL;
  CREATE INDEX IF NOT EXISTS entries_applied ON entries (session_id, seq) WHERE applied_at IS NOT NULL;
  CREATE INDEX IF NOT EXISTS entries_to_drop ON entries (applied_at) WHERE applied_at IS NOT NULL;

  -- The blobs that the control plane does not have yet, each a file, and the shortened entry that names
  -- the blob. That entry and those after it in its session are sent once the blob is uploaded.
  CREATE TABLE IF NOT EXISTS pending_blobs (
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (session_id, seq)
  ) WITHOUT ROWID;
  CREATE TRIGGER IF NOT EXISTS pending_entry_removed AFTER DELETE ON entries BEGIN
    DELETE FROM pending_blobs WHERE session_id = OLD.session_id AND seq = OLD.seq;
  END;
  CREATE TRIGGER IF NOT EXISTS pending_entry_marked AFTER UPDATE OF applied_at ON entries
    WHEN NEW.applied_at IS NOT NULL BEGIN
    DELETE FROM pending_blobs WHERE session_id = NEW.session_id AND seq = NEW.seq;
  END;

  -- Triggers keep the sums, because a journal may hold millions of entries.
  CREATE TABLE IF NOT EXISTS size (total INTEGER NOT NULL, unapplied INTEGER NOT NULL);
  INSERT INTO size SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM size);
  CREATE TRIGGER IF NOT EXISTS entry_added AFTER INSERT ON entries BEGIN
    UPDATE size SET total = total + NEW.bytes,
      unapplied = unapplied + iif(NEW.applied_at IS NULL, NEW.bytes, 0);
  END;
  CREATE TRIGGER IF NOT EXISTS entry_removed AFTER DELETE ON entries BEGIN
    UPDATE size SET total = total - OLD.bytes,
      unapplied = unapplied - iif(OLD.applied_at IS NULL, OLD.bytes, 0);
  END;
  CREATE TRIGGER IF NOT EXISTS entry_marked AFTER UPDATE OF applied_at ON entries BEGIN
    UPDATE size SET unapplied = unapplied
      + iif(NEW.applied_at IS NULL, NEW.bytes, 0) - iif(OLD.applied_at IS NULL, OLD.bytes, 0);
  END;
  CREATE TRIGGER IF NOT EXISTS blob_added AFTER INSERT ON pending_blobs BEGIN
    UPDATE size SET total = total + NEW.bytes, unapplied = unapplied + NEW.bytes;
  END;
  CREATE TRIGGER IF NOT EXISTS blob_removed AFTER DELETE ON pending_blobs BEGIN
    UPDATE size SET total = total - OLD.bytes, unapplied = unapplied - OLD.bytes;
  END;

  CREATE TABLE IF NOT EXISTS driven_sessions (
    session_id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    handle TEXT,
    cursor TEXT,
    ended_at INTEGER,
    -- The fields that seldom change, as JSON; null once the session has ended.
    facts TEXT
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS driven_sessions_live ON driven_sessions (state) WHERE state <> 'ended';

  CREATE TABLE IF NOT EXISTS driven_prompts (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    prompt TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS driven_prompts_of ON driven_prompts (session_id, position);

  CREATE TABLE IF NOT EXISTS driven_requests (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    request_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL,
    driver_key TEXT NOT NULL,
    shown_hash TEXT NOT NULL,
    state TEXT NOT NULL,
    asked TEXT NOT NULL,
    given TEXT
  );
  CREATE INDEX IF NOT EXISTS driven_requests_of ON driven_requests (session_id, driver_key);

  CREATE TABLE IF NOT EXISTS remembered_rules (
    session_id TEXT NOT NULL,
    rule TEXT NOT NULL,
    PRIMARY KEY (session_id, rule)
  ) WITHOUT ROWID;

  -- A session's messages are deleted with it.
  CREATE TABLE IF NOT EXISTS driven_messages (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    message_id TEXT NOT NULL UNIQUE,
    snapshot TEXT
  );
  CREATE INDEX IF NOT EXISTS driven_messages_of ON driven_messages (session_id, position);
  CREATE TRIGGER IF NOT EXISTS session_with_messages_ended AFTER UPDATE OF state ON driven_sessions
    WHEN NEW.state = 'ended' BEGIN
    DELETE FROM driven_messages WHERE session_id = NEW.session_id;
  END;
  CREATE TRIGGER IF NOT EXISTS session_with_messages_removed AFTER DELETE ON driven_sessions BEGIN
    DELETE FROM driven_messages WHERE session_id = OLD.session_id;
  END;

  -- One row for each step that this journal has taken.
  CREATE TABLE journal_steps (
    version INTEGER PRIMARY KEY,
    -- The oldest version that a daemon must know to use the journal after this step.
    readable_from INTEGER NOT NULL,
    -- The daemon that took the step.
    daemon_version TEXT NOT NULL
  );
`;
