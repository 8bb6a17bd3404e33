-- The delivery that a run of a trigger is for; null for every other run.
ALTER TABLE schedule_runs ADD COLUMN delivery_id text;
-- wait: too many runs of the trigger or of the organization's triggers are under way, or were started a moment ago.
ALTER TABLE schedule_runs DROP CONSTRAINT schedule_runs_step_check;
ALTER TABLE schedule_runs ADD CONSTRAINT schedule_runs_step_check
  CHECK (step IN ('wait', 'start', 'prompt', 'watch', 'ended')) NOT VALID;
