-- Blobs: what hosts send that is too large for a message, named by the SHA-256 of its bytes. A blob is
-- a row and its chunks. The row is there from the first byte on, but nobody sees it before it is whole.

CREATE TABLE blobs (
  organization_id uuid NOT NULL REFERENCES organizations,
  blob_id uuid NOT NULL DEFAULT hawser_new_id(),
  sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
  size bigint NOT NULL,
  -- When its upload began; how long a blob is kept will count from here.
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  -- When it was whole and its hash had been found right; null while it comes in.
  stored_at timestamptz,
  PRIMARY KEY (blob_id)
);
CREATE UNIQUE INDEX blobs_whole ON blobs (organization_id, sha256) WHERE stored_at IS NOT NULL;
CREATE INDEX blobs_coming_in ON blobs (created_at) WHERE stored_at IS NULL;

CREATE TABLE blob_chunks (
  organization_id uuid NOT NULL,
  -- Chunks go with their blob, however it goes, and none can come after it has gone.
  blob_id uuid NOT NULL REFERENCES blobs ON DELETE CASCADE,
  position int NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (blob_id, position)
);
-- Not worth trying to compress: what is large is mostly compressed already.
ALTER TABLE blob_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- The operator's limit, so no action changes it.
ALTER TABLE organizations ADD COLUMN blob_bytes_per_day bigint NOT NULL DEFAULT 5368709120;

-- What an organization's hosts have sent on one day, UTC; an older day counts as nothing.
CREATE TABLE blob_quotas (
  organization_id uuid PRIMARY KEY REFERENCES organizations,
  day date NOT NULL,
  bytes bigint NOT NULL
);

DO $$
DECLARE
  tenant_table text;
BEGIN
  FOREACH tenant_table IN ARRAY ARRAY['blobs', 'blob_chunks', 'blob_quotas'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format(
      'CREATE POLICY tenant ON %I TO hawser_app
         USING (organization_id = hawser_organization())
         WITH CHECK (organization_id = hawser_organization())', tenant_table);
  END LOOP;
END $$;
CREATE POLICY every_tenant ON blobs TO hawser_system USING (true) WITH CHECK (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON blobs TO hawser_app;
GRANT SELECT, INSERT ON blob_chunks TO hawser_app;
GRANT SELECT, INSERT, UPDATE ON blob_quotas TO hawser_app;
-- Only to remove what never became whole.
GRANT SELECT, DELETE ON blobs TO hawser_system;
