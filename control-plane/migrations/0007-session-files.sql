-- What get_session_diff answers while the host is away, or the session is over.
CREATE TABLE session_diffs (
  organization_id uuid NOT NULL,
  session_id uuid NOT NULL,
  files jsonb NOT NULL,
  truncated boolean NOT NULL,
  taken_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, session_id),
  FOREIGN KEY (organization_id, session_id) REFERENCES sessions
);
ALTER TABLE session_diffs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON session_diffs TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
GRANT SELECT, INSERT, UPDATE ON session_diffs TO hawser_app;
