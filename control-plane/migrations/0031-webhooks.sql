-- Webhooks, and the deliveries of their events. The files after this one add the triggers that insert deliveries.

CREATE TABLE webhooks (
  organization_id uuid NOT NULL REFERENCES organizations,
  webhook_id uuid NOT NULL DEFAULT hawser_new_id(),
  name text,
  url text NOT NULL,
  events text[] NOT NULL CHECK (cardinality(events) > 0),
  enabled boolean NOT NULL DEFAULT true,
  -- Why the service switched it off; null if a caller did.
  disabled_reason text,
  -- The first failed attempt since the last one that succeeded; null if the last one succeeded.
  failing_since timestamptz,
  -- The signing secret is computed from this and a secret of the service, so it is stored nowhere.
  salt bytea NOT NULL,
  -- The secret before the last rotation, which signs too for a day.
  previous_salt bytea,
  rotated_at timestamptz,
  -- Events are sent as long as this key may see them: the key of the caller who last created or changed the webhook.
  api_key_id uuid NOT NULL,
  -- That caller, as records name them.
  acts_as jsonb NOT NULL,
  created_by jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, webhook_id)
);
CREATE INDEX webhooks_by_key ON webhooks (api_key_id);
ALTER TABLE webhooks ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON webhooks TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON webhooks AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY every_tenant ON webhooks TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks TO hawser_app;
GRANT SELECT, UPDATE ON webhooks TO hawser_system;

-- One row for each event and webhook. Deliveries with the same webhook and subject form a chain: they are sent one
-- after the other, by seq. There is no foreign key to webhooks: its check would lock the webhook in every
-- transaction that inserts a delivery, and a deleted webhook would take its deliveries with it in one statement.
-- Rows are removed after 30 days.
CREATE TABLE webhook_deliveries (
  organization_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  delivery_id uuid NOT NULL DEFAULT hawser_new_id(),
  event text NOT NULL,
  -- The session, host or schedule that the event is about; for a test the delivery itself.
  subject_id uuid NOT NULL,
  -- The position in the session's log; 0 for other subjects.
  seq bigint NOT NULL,
  -- Ids and words, never texts of agents or people. Ids are stored ones.
  facts jsonb NOT NULL,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
  -- Whether an earlier delivery of the chain was waiting when this was last looked at.
  behind boolean NOT NULL,
  -- When it is next tried, or looked at if it is behind. While a node sends it: when another node may.
  try_at timestamptz NOT NULL,
  -- The node that sends it. Only the node with the highest fence may write the result.
  holder text,
  fence bigint NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  -- The HTTP status of the last answer, and the kind of the last failure.
  last_status integer,
  last_error text,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  ended_at timestamptz,
  PRIMARY KEY (organization_id, webhook_id, delivery_id)
);
CREATE INDEX webhook_deliveries_to_do ON webhook_deliveries (organization_id, webhook_id, try_at)
  WHERE state = 'waiting' AND NOT behind;
CREATE INDEX webhook_deliveries_behind ON webhook_deliveries (try_at) WHERE state = 'waiting' AND behind;
-- Begins with the subject. Otherwise PostgreSQL would look up a single delivery here, among all of its webhook.
CREATE INDEX webhook_deliveries_chain ON webhook_deliveries (subject_id, webhook_id, seq, delivery_id)
  WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (organization_id, webhook_id, delivery_id)
  WHERE state = 'failed';
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at);
ALTER TABLE webhook_deliveries ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON webhook_deliveries TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON webhook_deliveries AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY every_tenant ON webhook_deliveries TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON webhook_deliveries TO hawser_app;
GRANT SELECT, UPDATE, DELETE ON webhook_deliveries TO hawser_system;

-- Inserts an event for each webhook that wants it, in the transaction of the fact. Without a webhook it costs one
-- look into the index. Only triggers call it: as the owner of the tables, so that an event that an agent's key or
-- the service itself causes is recorded too. They also set the search path.
--
-- A delivery whose chain has a waiting one is behind. It is looked at again after 15 seconds, because that one may
-- have been delivered by a transaction that did not see the new row.
CREATE FUNCTION hawser_add_event(organization uuid, event text, subject uuid, seq bigint, facts jsonb) RETURNS void
  LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO webhook_deliveries (organization_id, webhook_id, event, subject_id, seq, facts, behind, try_at)
  SELECT w.organization_id, w.webhook_id, hawser_add_event.event, subject, hawser_add_event.seq,
         hawser_add_event.facts, chain.waits,
         hawser_now() + CASE WHEN chain.waits THEN interval '15 seconds' ELSE interval '0' END
    FROM webhooks w
   CROSS JOIN LATERAL (
          SELECT EXISTS (SELECT FROM webhook_deliveries d
                          WHERE d.webhook_id = w.webhook_id AND d.subject_id = subject
                            AND d.state = 'waiting') AS waits) chain
   WHERE w.organization_id = organization AND w.enabled AND hawser_add_event.event = ANY (w.events);
END $$;
REVOKE EXECUTE ON FUNCTION hawser_add_event FROM PUBLIC;
