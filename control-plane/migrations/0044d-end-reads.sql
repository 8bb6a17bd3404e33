-- What was read of a session ends with it. A trigger removes it, because several statements delete sessions.
CREATE FUNCTION hawser_end_reads() RETURNS trigger
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  DELETE FROM session_reads WHERE organization_id = NEW.organization_id AND session_id = NEW.session_id;
  RETURN NULL;
END $$;
CREATE TRIGGER end_reads AFTER UPDATE OF deleted_at ON sessions FOR EACH ROW
  WHEN (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION hawser_end_reads();
