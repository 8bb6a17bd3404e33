-- How many calls of a run, or of a continued turn, reached their host too late. The host has done nothing then, so a
-- new call is made. Its idempotency key contains the number, because the refusal is kept under the former key.
ALTER TABLE schedule_runs ADD COLUMN late_calls integer NOT NULL DEFAULT 0;
ALTER TABLE turn_continuations ADD COLUMN late_calls integer NOT NULL DEFAULT 0;
