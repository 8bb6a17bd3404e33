-- Blobs: bytes that are too large for a message, named by their SHA-256. A blob is a row and its chunks. The
-- row exists from the first byte on, but the blob is used only when it is whole.
--
-- Files: what callers upload to send with prompts. The bytes are a blob; a file is a name for it, for some
-- days.

CREATE TABLE blobs (
  organization_id uuid NOT NULL REFERENCES organizations,
  blob_id uuid NOT NULL DEFAULT hawser_new_id(),
  sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
  size bigint NOT NULL,
  -- When its upload began.
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  -- When the blob was whole and its hash was checked; null during the upload.
  stored_at timestamptz,
  -- When the blob may be removed; null for blobs of hosts, which log entries name.
  kept_until timestamptz,
  PRIMARY KEY (blob_id)
);
CREATE UNIQUE INDEX blobs_whole ON blobs (organization_id, sha256) WHERE stored_at IS NOT NULL;
CREATE INDEX blobs_coming_in ON blobs (created_at) WHERE stored_at IS NULL;
CREATE INDEX blobs_leaving ON blobs (kept_until) WHERE kept_until IS NOT NULL;
ALTER TABLE blobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON blobs TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY every_tenant ON blobs TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON blobs TO hawser_app;
-- To remove unfinished uploads, and blobs of expired files.
GRANT SELECT, DELETE ON blobs TO hawser_system;

CREATE TABLE blob_chunks (
  organization_id uuid NOT NULL,
  -- Chunks are removed with their blob, and none can be added afterwards.
  blob_id uuid NOT NULL REFERENCES blobs ON DELETE CASCADE,
  position int NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (blob_id, position)
);
-- Large content is mostly compressed already, so PostgreSQL does not try to compress it.
ALTER TABLE blob_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
ALTER TABLE blob_chunks ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON blob_chunks TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
GRANT SELECT, INSERT ON blob_chunks TO hawser_app;

-- Bytes of blobs that an organization's hosts have sent on one day, UTC. A row of an earlier day counts as
-- zero.
CREATE TABLE blob_quotas (
  organization_id uuid PRIMARY KEY REFERENCES organizations,
  day date NOT NULL,
  bytes bigint NOT NULL
);
ALTER TABLE blob_quotas ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON blob_quotas TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
GRANT SELECT, INSERT, UPDATE ON blob_quotas TO hawser_app;

CREATE TABLE files (
  organization_id uuid NOT NULL REFERENCES organizations,
  file_id uuid NOT NULL DEFAULT hawser_new_id(),
  -- A file is removed with its blob, and none can be added afterwards.
  blob_id uuid NOT NULL REFERENCES blobs ON DELETE CASCADE,
  -- As the caller sent it; the content is not checked.
  mime text NOT NULL,
  filename text,
  -- The session whose agent uploaded the file; null for every other caller.
  agent_session_id uuid DEFAULT hawser_agent_session(),
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
-- An agent's key reaches the files that it uploaded.
CREATE POLICY agent_reach ON files AS RESTRICTIVE TO hawser_app
  USING (hawser_agent_session() IS NULL OR agent_session_id = hawser_agent_session());
GRANT SELECT, INSERT, UPDATE ON files TO hawser_app;
GRANT SELECT, DELETE ON files TO hawser_system;
