-- Finished turns are events. The log has each of them; the record of a session has only the last one. An entry whose
-- outcome is not known is no event: an outcome is what a host wrote.

CREATE FUNCTION hawser_turn_event() RETURNS trigger
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  IF NEW.update ->> 'outcome' IN ('completed', 'aborted', 'failed', 'interrupted') THEN
    PERFORM hawser_add_event(NEW.organization_id, 'turn_finished', NEW.session_id, NEW.seq, jsonb_build_object(
      'sessionId', NEW.session_id, 'turnId', NEW.turn_id, 'outcome', NEW.update ->> 'outcome', 'seq', NEW.seq));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER webhook_turn AFTER INSERT ON session_log FOR EACH ROW
  WHEN (NEW.entry_type = 'turn_finished') EXECUTE FUNCTION hawser_turn_event();
