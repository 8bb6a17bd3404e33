-- What an agent's key reaches: its own session, the sessions that agents of that session started, and the
-- host that they run on. Row-level security decides it, so that no statement can forget it.

-- The session whose agent the running transaction serves; null for every other caller.
CREATE FUNCTION hawser_agent_session() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
  RETURN nullif(current_setting('hawser.agent_session_id', true), '')::uuid;

-- The sessions that this one descends from: the session whose agent started it comes last.
ALTER TABLE sessions ADD COLUMN ancestor_ids uuid[] NOT NULL DEFAULT '{}';

CREATE FUNCTION hawser_ancestors_of_new_session() RETURNS uuid[] LANGUAGE sql STABLE AS $$
  SELECT coalesce(
    (SELECT ancestor_ids || session_id FROM sessions
      WHERE organization_id = hawser_organization() AND session_id = hawser_agent_session()), '{}')
$$;
ALTER TABLE sessions ALTER COLUMN ancestor_ids SET DEFAULT hawser_ancestors_of_new_session();

CREATE POLICY agent_reach ON sessions AS RESTRICTIVE TO hawser_app
  USING (hawser_agent_session() IS NULL
    OR session_id = hawser_agent_session()
    OR hawser_agent_session() = ANY (ancestor_ids));

CREATE POLICY agent_reach ON requests AS RESTRICTIVE TO hawser_app
  USING (hawser_agent_session() IS NULL OR EXISTS (
    SELECT FROM sessions s
     WHERE s.organization_id = requests.organization_id AND s.session_id = requests.session_id));

CREATE POLICY agent_reach ON instances AS RESTRICTIVE TO hawser_app
  USING (hawser_agent_session() IS NULL OR instance_id = (
    SELECT s.instance_id FROM sessions s
     WHERE s.organization_id = hawser_organization() AND s.session_id = hawser_agent_session()));

-- The session whose agent uploaded the file; null for every other caller.
ALTER TABLE files ADD COLUMN agent_session_id uuid;
ALTER TABLE files ALTER COLUMN agent_session_id SET DEFAULT hawser_agent_session();
CREATE POLICY agent_reach ON files AS RESTRICTIVE TO hawser_app
  USING (hawser_agent_session() IS NULL OR agent_session_id = hawser_agent_session());
