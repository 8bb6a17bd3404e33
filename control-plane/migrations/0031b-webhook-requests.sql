-- Raised and settled requests are events.

-- The log entry that last changed the request; null if none did, or if it is not known.
ALTER TABLE requests ADD COLUMN log_seq bigint;

-- A change that did not come from the log has no seq of its own. It is sent after what the log had until then.
CREATE FUNCTION hawser_request_event() RETURNS trigger
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  own_seq bigint := CASE WHEN TG_OP = 'INSERT' OR NEW.log_seq IS DISTINCT FROM OLD.log_seq THEN NEW.log_seq END;
BEGIN
  PERFORM hawser_add_event(
    NEW.organization_id,
    CASE NEW.status WHEN 'pending' THEN 'request_raised' ELSE 'request_settled' END,
    NEW.session_id,
    coalesce(own_seq, (SELECT s.applied_seq FROM sessions s
                        WHERE s.organization_id = NEW.organization_id AND s.session_id = NEW.session_id)),
    jsonb_build_object('requestId', NEW.request_id, 'sessionId', NEW.session_id, 'instanceId', NEW.instance_id,
      'requestType', NEW.type, 'status', NEW.status, 'seq', own_seq));
  RETURN NULL;
END $$;
CREATE TRIGGER webhook_raised_request AFTER INSERT ON requests FOR EACH ROW
  EXECUTE FUNCTION hawser_request_event();
CREATE TRIGGER webhook_changed_request AFTER UPDATE OF status ON requests FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION hawser_request_event();
