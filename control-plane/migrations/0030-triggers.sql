-- Triggers: schedules whose times are events that other systems report. Also the machines that a schedule was saved
-- for.

-- event: it has no times; the row in `triggers` says which events start a run.
ALTER TABLE schedules DROP CONSTRAINT schedules_frequency_check;
ALTER TABLE schedules ADD CONSTRAINT schedules_frequency_check
  CHECK (frequency IN ('never', 'hourly', 'daily', 'weekly', 'monthly', 'event')) NOT VALID;
-- The keys of the hosts in `instance_ids`, in the same order, when the schedule was last saved; an element is null
-- if that host was not paired. A host with another key gets no run. Null: saved before keys were recorded.
ALTER TABLE schedules ADD COLUMN host_keys text[];

CREATE TABLE triggers (
  organization_id uuid NOT NULL,
  -- The schedule with what the trigger starts.
  schedule_id uuid NOT NULL,
  source text NOT NULL CHECK (source IN ('github', 'json')),
  -- Events that start a run; empty for the source json, where every delivery does.
  events text[] NOT NULL,
  -- How a comment must begin a line to start a run; null for the source json.
  command_word text,
  -- The secret is derived from this value and a secret of the service. Only the caller of create_trigger sees it.
  salt bytea NOT NULL,
  -- The secret before the last rotation is accepted until this time.
  former_salt bytea,
  former_until timestamptz,
  -- Deliveries with a wrong signature that no audit entry counts yet, and when the last such entry was written.
  forged integer NOT NULL DEFAULT 0,
  forged_noted_at timestamptz,
  PRIMARY KEY (organization_id, schedule_id),
  FOREIGN KEY (organization_id, schedule_id) REFERENCES schedules ON DELETE CASCADE
);
-- A delivery names the trigger without its organization.
CREATE UNIQUE INDEX triggers_by_id ON triggers (schedule_id);
ALTER TABLE triggers ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON triggers TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON triggers AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY every_tenant ON triggers TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON triggers TO hawser_app;
GRANT SELECT, UPDATE ON triggers TO hawser_system;
