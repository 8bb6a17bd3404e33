// Several nodes that write their bookkeeping about the same API keys at the same moment: how many reads
// each key made, and when it was last used.
import { randomInt } from "node:crypto";
import { createKeyUses } from "@hawser/control-plane/access/key-uses.ts";
import { createReadCounts } from "@hawser/control-plane/audit/read-counts.ts";
import { openDatabase } from "@hawser/control-plane/postgres/database.ts";
import { parseId } from "@hawser/contract";
import { moveClock } from "./clock.ts";
import { createTestOrganization } from "./organization.ts";
import { ownerSql } from "./owner-sql.ts";

export interface BookkeepingLoad {
  nodes: number;
  keys: number;
  rounds: number;
}

export interface Bookkept {
  /** How many times a node wrote one of the two. */
  writes: number;
  /** Messages of the writes that failed. */
  failures: string[];
  /** What the database contains of it. */
  countedReads: number;
  usedKeys: number;
}

/** A use of a key is written only once in five minutes, so the clock moves on with each round. */
const roundSeconds = 301;

/** Each node notes all keys in an order of its own, then all nodes write. Uses a database of its own. */
export async function keepBooksTogether(
  databaseUrl: string,
  load: BookkeepingLoad,
): Promise<Bookkept> {
  await using nodes = new AsyncDisposableStack();
  let ahead = 0;
  const now = () => Date.now() + ahead * 1000;
  const opened = Array.from({ length: load.nodes }, () => {
    const settings = { connections: 1, patienceMs: 10_000, onIdleError: () => {} };
    const database = nodes.use(openDatabase({ url: databaseUrl, ...settings }));
    const { system } = database;
    return { database, reads: createReadCounts(system), uses: createKeyUses(system, now) };
  });
  const keys = await addKeys(databaseUrl, opened[0]!.database, load.keys);
  const failures: string[] = [];
  let writes = 0;
  for (let round = 1; round <= load.rounds; round++) {
    ahead = round * roundSeconds;
    await moveClock(databaseUrl, ahead);
    for (const { reads, uses } of opened) {
      for (const key of shuffled(keys)) {
        reads.count(key, "list_instances");
        uses.note(key);
      }
    }
    const flushes = opened.flatMap(({ reads, uses }) => [reads.flush(), uses.flush()]);
    writes += flushes.length;
    for (const flush of await Promise.allSettled(flushes)) {
      if (flush.status === "fulfilled") continue;
      const { message, cause } = flush.reason as Error;
      failures.push(cause instanceof Error ? cause.message : message);
    }
  }
  // Keys that another node had locked are written now.
  for (const { uses } of opened) await uses.flush();
  const [found] = await ownerSql<{ reads: string; used: string }>(
    databaseUrl,
    `SELECT (SELECT coalesce(sum(calls), 0) FROM audit_reads) AS reads,
            (SELECT count(*) FROM api_keys WHERE last_used_at > hawser_now() - interval '1 minute') AS used`,
  );
  return { writes, failures, countedReads: Number(found!.reads), usedKeys: Number(found!.used) };
}

async function addKeys(
  databaseUrl: string,
  database: ReturnType<typeof openDatabase>,
  count: number,
) {
  const { organizationId } = await createTestOrganization(database, "Acme", "ada@acme.example");
  const id = parseId("organization", organizationId)!;
  const rows = await ownerSql<{ api_key_id: string }>(
    databaseUrl,
    `INSERT INTO api_keys (organization_id, name, secret_hash, permissions)
     SELECT $1, 'key', uuid_send(gen_random_uuid()), '{}' FROM generate_series(1, $2::int)
     RETURNING api_key_id`,
    [id, count],
  );
  return rows.map(({ api_key_id: apiKeyId }) => ({ organizationId: id, apiKeyId }));
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  const shuffling = [...items];
  for (let last = shuffling.length - 1; last > 0; last--) {
    const other = randomInt(last + 1);
    [shuffling[last], shuffling[other]] = [shuffling[other]!, shuffling[last]!];
  }
  return shuffling;
}
