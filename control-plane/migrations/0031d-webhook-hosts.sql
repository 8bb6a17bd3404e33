-- A changed status of a host is an event.

CREATE FUNCTION hawser_host_event() RETURNS trigger
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  PERFORM hawser_add_event(NEW.organization_id, 'host_status', NEW.instance_id, 0, jsonb_build_object(
    'instanceId', NEW.instance_id, 'status', NEW.status, 'reason', NEW.status_reason));
  RETURN NULL;
END $$;
CREATE TRIGGER webhook_host AFTER UPDATE OF status ON instances FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status AND NEW.deleted_at IS NULL) EXECUTE FUNCTION hawser_host_event();
