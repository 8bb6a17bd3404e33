-- The end of a run of a schedule or trigger is an event.

CREATE FUNCTION hawser_run_event() RETURNS trigger
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  PERFORM hawser_add_event(NEW.organization_id, 'schedule_run_ended', NEW.schedule_id, 0, jsonb_build_object(
    CASE WHEN NEW.delivery_id IS NULL THEN 'scheduleId' ELSE 'triggerId' END, NEW.schedule_id,
    'runId', NEW.run_id, 'outcome', NEW.outcome, 'sessionId', NEW.session_id));
  RETURN NULL;
END $$;
-- A time that was missed or skipped is inserted as an ended run.
CREATE TRIGGER webhook_inserted_run AFTER INSERT ON schedule_runs FOR EACH ROW
  WHEN (NEW.step = 'ended') EXECUTE FUNCTION hawser_run_event();
CREATE TRIGGER webhook_ended_run AFTER UPDATE OF step ON schedule_runs FOR EACH ROW
  WHEN (OLD.step <> 'ended' AND NEW.step = 'ended') EXECUTE FUNCTION hawser_run_event();
