-- What nodes need to know of each other so that no viewer depends on a notice.

-- When the node stopped in order; null if it is alive or died.
ALTER TABLE nodes ADD COLUMN left_at timestamptz;

-- The number of the last notice that a node has sent about an organization. A node with viewers of that
-- organization compares it with the notices that have arrived. Rows are removed after a few minutes.
CREATE TABLE notice_positions (
  organization_id uuid NOT NULL,
  node_id uuid NOT NULL,
  number bigint NOT NULL,
  -- When that notice was sent. A viewer that joined later does not lack it.
  sent_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, node_id)
-- With room on the page, the next version of a row stays on it, and the index is not touched.
) WITH (fillfactor = 70);

ALTER TABLE notice_positions ENABLE ROW LEVEL SECURITY;
CREATE POLICY every_tenant ON notice_positions TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON notice_positions TO hawser_system;
