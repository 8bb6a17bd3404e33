// The membership of this node: it reports every few seconds that it is alive, and learns which other nodes
// are, which have left, and which have died. With each report it also reads the time of the database.
import { query, systemStatement, type SystemSql } from "./postgres/statement.ts";

const insertNode = systemStatement<{ node_id: string }>(
  "add a node",
  `INSERT INTO nodes DEFAULT VALUES RETURNING node_id`,
);

interface NodeRow {
  node_id: string;
  is_seen: boolean;
  has_left: boolean;
}

/** SQL: whether a node was seen at most this long ago. A later time was written before the clock was set back. */
const seenWithin = (time: string) =>
  `seen_at BETWEEN hawser_now() - interval '${time}' AND hawser_now() + interval '${time}'`;

/** Records that the node is alive, deletes nodes that have been silent for a minute, and lists the others. */
const beat = systemStatement<NodeRow>(
  "record that a node is alive",
  `WITH dropped AS (DELETE FROM nodes WHERE node_id <> $1 AND NOT (${seenWithin("1 minute")})),
        seen AS (INSERT INTO nodes (node_id) VALUES ($1)
                 ON CONFLICT (node_id) DO UPDATE SET seen_at = hawser_now())
   SELECT node_id, ${seenWithin("12 seconds")} AS is_seen, left_at IS NOT NULL AS has_left
     FROM nodes WHERE node_id <> $1`,
);

/** The start changes when the server is restarted, and when another server takes over. */
const selectServer = systemStatement<{ started_at: string; now_ms: number }>(
  "read when the database server was started, and its time",
  `SELECT pg_postmaster_start_time()::text AS started_at,
          (extract(epoch FROM hawser_now()) * 1000)::float8 AS now_ms`,
);

const leave = systemStatement(
  "record that a node leaves",
  `UPDATE nodes SET left_at = hawser_now() WHERE node_id = $1`,
);

/** What a beat has found. The changes are those since the last beat. */
export interface Beat {
  /** How many nodes are alive, this one included. */
  live: number;
  /** Nodes that stopped in order. */
  left: string[];
  /** Nodes that fell silent without leaving. */
  died: string[];
  /** Whether the database server was restarted or replaced. */
  isDatabaseReplaced: boolean;
}

export interface NodeMembership {
  nodeId: string;
  beat(): Promise<Beat>;
  /**
   * The time of the database in whole milliseconds. All nodes agree on it, and a wrong clock of this machine does not
   * change it (decision 0064).
   */
  now(): number;
  leave(): Promise<void>;
}

export async function joinNodes(system: SystemSql): Promise<NodeMembership> {
  const { node_id: nodeId } = (await system.first(insertNode))!;
  let time = timeOf((await system.first(selectServer))!);
  let live = new Set<string>();
  let silent = new Set<string>();
  let serverStart: string | undefined;
  return {
    nodeId,
    async beat() {
      const [rows, [server]] = await system.together(query(beat, nodeId), query(selectServer));
      const idsOf = (test: (row: NodeRow) => boolean) =>
        new Set(rows.filter(test).map(({ node_id }) => node_id));
      const before = { live, silent, serverStart };
      const left = idsOf(({ has_left }) => has_left);
      live = idsOf(({ has_left, is_seen }) => !has_left && is_seen);
      // A node may have joined and died between two beats, so the silent ones are not only those that were
      // seen alive. One that was alive and has no row fell silent long ago.
      silent = idsOf(({ has_left, is_seen }) => !has_left && !is_seen);
      const gone = [...before.live].filter((id) => !live.has(id));
      const died = new Set([...silent, ...gone.filter((id) => !left.has(id))]);
      for (const id of before.silent) died.delete(id);
      serverStart = server!.started_at;
      time = timeOf(server!);
      return {
        live: live.size + 1,
        left: gone.filter((id) => left.has(id)),
        died: [...died],
        isDatabaseReplaced: before.serverStart !== undefined && before.serverStart !== serverStart,
      };
    },
    now: () => Math.floor(time.databaseMs + performance.now() - time.readAt),
    leave: async () => void (await system.rows(leave, nodeId)),
  };
}

/** Late by the way of the answer, which is far less than what hosts tolerate. */
const timeOf = ({ now_ms }: { now_ms: number }) => ({
  databaseMs: now_ms,
  readAt: performance.now(),
});
