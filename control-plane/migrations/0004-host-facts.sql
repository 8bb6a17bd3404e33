-- What hosts tell of themselves beside the machine: warnings, what they are doing, and their
-- directories as last listed.

ALTER TABLE instances
  ADD COLUMN warnings jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN operations jsonb NOT NULL DEFAULT '[]';

-- Each agent tells what blocks its use; those noted before had no place for it.
UPDATE instances SET agents = (
  SELECT coalesce(jsonb_agg('{"problems": []}'::jsonb || agent), '[]')
    FROM jsonb_array_elements(agents) AS agent);

-- What list_directories answers while the host is away.
CREATE TABLE directory_listings (
  organization_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  roots jsonb NOT NULL,
  taken_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, instance_id),
  FOREIGN KEY (organization_id, instance_id) REFERENCES instances
);

ALTER TABLE directory_listings ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON directory_listings TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
GRANT SELECT, INSERT, UPDATE ON directory_listings TO hawser_app;
