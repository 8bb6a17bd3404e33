-- What get_session_git returns while the host is offline, or after the session has ended; and the pull request that
-- push_session opened or found last.
CREATE TABLE session_git (
  organization_id uuid NOT NULL,
  session_id uuid NOT NULL,
  state jsonb,
  taken_at timestamptz,
  pull_request_url text,
  PRIMARY KEY (organization_id, session_id),
  FOREIGN KEY (organization_id, session_id) REFERENCES sessions
);
ALTER TABLE session_git ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON session_git TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
GRANT SELECT, INSERT, UPDATE ON session_git TO hawser_app;
