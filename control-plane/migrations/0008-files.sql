-- Files that callers upload to go with prompts. The bytes are a blob; a file is a name for it, of one
-- caller's choosing, for some days.

-- When a blob may go; null for what hosts have sent, which log entries name.
ALTER TABLE blobs ADD COLUMN kept_until timestamptz;
CREATE INDEX blobs_leaving ON blobs (kept_until) WHERE kept_until IS NOT NULL;

CREATE TABLE files (
  organization_id uuid NOT NULL REFERENCES organizations,
  file_id uuid NOT NULL DEFAULT hawser_new_id(),
  -- A file goes with its blob, and none can name one that has gone.
  blob_id uuid NOT NULL REFERENCES blobs ON DELETE CASCADE,
  -- As the caller said; nobody has looked.
  mime text NOT NULL,
  filename text,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  -- Each use makes it later.
  kept_until timestamptz NOT NULL,
  PRIMARY KEY (organization_id, file_id)
);
CREATE INDEX files_by_blob ON files (blob_id);
CREATE INDEX files_leaving ON files (kept_until);

ALTER TABLE files ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON files TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON files TO hawser_system USING (true) WITH CHECK (true);

GRANT SELECT, INSERT, UPDATE ON files TO hawser_app;
GRANT SELECT, DELETE ON files TO hawser_system;
