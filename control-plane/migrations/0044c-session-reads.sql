-- How far each person has read a session's log.
CREATE TABLE session_reads (
  organization_id uuid NOT NULL,
  session_id uuid NOT NULL,
  user_id uuid NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (organization_id, user_id, session_id),
  FOREIGN KEY (organization_id, user_id) REFERENCES memberships ON DELETE CASCADE
);
CREATE INDEX session_reads_by_session ON session_reads (organization_id, session_id);
ALTER TABLE session_reads ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON session_reads TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON session_reads AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY grant_reach ON session_reads AS RESTRICTIVE TO hawser_app
  USING (hawser_granted_user() IS NULL OR user_id = hawser_granted_user());
GRANT SELECT, INSERT, UPDATE ON session_reads TO hawser_app;
