// The membership of this node: it reports every few seconds that it is alive, and learns how many nodes
// are.
import { systemStatement, type SystemSql } from "./postgres/statement.ts";

const insertNode = systemStatement<{ node_id: string }>(
  "add a node",
  `INSERT INTO nodes DEFAULT VALUES RETURNING node_id`,
);

/** Records that the node is alive, and deletes nodes that have been silent for a minute. */
const beat = systemStatement<{ live: number }>(
  "record that a node is alive",
  `WITH dropped AS (DELETE FROM nodes WHERE seen_at < hawser_now() - interval '1 minute'),
        seen AS (INSERT INTO nodes (node_id) VALUES ($1)
                 ON CONFLICT (node_id) DO UPDATE SET seen_at = hawser_now())
   SELECT count(*) AS live FROM nodes WHERE node_id <> $1 AND seen_at > hawser_now() - interval '12 seconds'`,
);

const deleteNode = systemStatement("remove a node", `DELETE FROM nodes WHERE node_id = $1`);

export interface NodeMembership {
  nodeId: string;
  /** How many nodes are alive, this one included. */
  beat(): Promise<number>;
  leave(): Promise<void>;
}

export async function joinNodes(system: SystemSql): Promise<NodeMembership> {
  const { node_id: nodeId } = (await system.first(insertNode))!;
  return {
    nodeId,
    beat: async () => (await system.first(beat, nodeId))!.live + 1,
    leave: async () => void (await system.rows(deleteNode, nodeId)),
  };
}
