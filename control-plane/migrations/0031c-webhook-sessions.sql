-- A changed status of a session is an event.

CREATE FUNCTION hawser_session_event() RETURNS trigger
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  PERFORM hawser_add_event(NEW.organization_id, 'session_status', NEW.session_id, NEW.applied_seq, jsonb_build_object(
    'sessionId', NEW.session_id, 'instanceId', NEW.instance_id, 'status', NEW.status, 'seq', NEW.applied_seq));
  RETURN NULL;
END $$;
CREATE TRIGGER webhook_session AFTER UPDATE OF status ON sessions FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status AND NEW.deleted_at IS NULL) EXECUTE FUNCTION hawser_session_event();
