-- A member without the permission reaches the sessions that were granted to them, and nothing else. Row-level
-- security decides it, as for the keys of agents, so that no statement can forget it.
CREATE POLICY grant_reach ON sessions AS RESTRICTIVE TO hawser_app
  USING (hawser_granted_user() IS NULL OR session_id IN (
    SELECT g.session_id FROM session_grants g
     WHERE g.organization_id = hawser_organization() AND g.user_id = hawser_granted_user()
       AND g.level = ANY (hawser_grant_levels())));

-- The grants and links of a session end with it. A trigger removes them, because several statements delete sessions.
CREATE FUNCTION hawser_end_grants() RETURNS trigger
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  DELETE FROM session_grants WHERE organization_id = NEW.organization_id AND session_id = NEW.session_id;
  DELETE FROM session_links WHERE organization_id = NEW.organization_id AND session_id = NEW.session_id;
  RETURN NULL;
END $$;
CREATE TRIGGER end_grants AFTER UPDATE OF deleted_at ON sessions FOR EACH ROW
  WHEN (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION hawser_end_grants();
