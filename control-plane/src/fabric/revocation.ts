// Pushes revoked hosts to the fabric: writes the account of the hosts anew from the database and pushes
// it to every nats-server, which closes the sockets of those hosts at once.
import type { Database } from "../postgres/database.ts";
import { systemStatement } from "../postgres/statement.ts";
import type { Fabric } from "./connection.ts";
import { accountWithRevocations, systemAccount, type FabricKeys } from "./fabric-keys.ts";

export interface Revocations {
  /**
   * Resolves when the fabric knows every revocation that was committed before the call. Throws if no
   * nats-server accepted it. A server that did not answer learns it from the others within seconds.
   */
  push: () => Promise<void>;
}

/**
 * Gives each push a later second than the one before, because servers that disagree use the account
 * that was issued last. The row lock lets one node push at a time: of two concurrent pushes, one would
 * undo revocations that the other had read later.
 */
const takeTurn = systemStatement<{ issued_at: number }>(
  "lock the push of revocations",
  `INSERT INTO leases AS turn (name, holder, fence, until)
   VALUES ('push of revocations', gen_random_uuid(), extract(epoch FROM hawser_now()), hawser_now())
   ON CONFLICT (name) DO UPDATE SET fence = greatest(turn.fence + 1, excluded.fence), until = excluded.until
   RETURNING fence AS issued_at`,
);

/**
 * An entry revokes tokens that were issued up to its time. Its time is the expiry of the key's last
 * token, not the time of the revocation, so that it also covers a token from a node whose clock is
 * ahead. The entry stays for an hour longer than that token, for servers whose clock is behind.
 */
const selectRevoked = systemStatement<{ revocations: Record<string, number> }>(
  "read the revoked host keys",
  `SELECT coalesce(jsonb_object_agg(public_key, extract(epoch FROM token_expires_at)::bigint), '{}') AS revocations
     FROM host_keys
    WHERE revoked_at IS NOT NULL AND token_expires_at > hawser_now() - interval '1 hour'`,
);

const patienceMs = 1_000;

export function createRevocations({
  database,
  fabric,
  keys,
}: {
  database: Database;
  fabric: Pick<Fabric, "system">;
  /** Read at each push: a rotation changes them. */
  keys: FabricKeys;
}): Revocations {
  let running: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | undefined;

  let pushedSystem: string | undefined;

  async function update(account: string): Promise<void> {
    const options = { timeoutMs: patienceMs };
    const answers = await fabric.system.requestMany("$SYS.REQ.CLAIMS.UPDATE", account, options);
    for (const answer of answers) refuseUnlessTaken(answer);
  }

  async function pushOnce(): Promise<void> {
    await database.systemTransaction(async (tx) => {
      const turn = await tx.first(takeTurn);
      const revoked = await tx.first(selectRevoked);
      const account = accountWithRevocations(keys, revoked!.revocations, turn!.issued_at);
      await update(account);
      // Changes only in a rotation of keys.
      if (keys.systemAccountJwt === pushedSystem) return;
      await update(systemAccount(keys, turn!.issued_at));
      pushedSystem = keys.systemAccountJwt;
    });
  }

  return {
    push() {
      // A call that arrives while another one waits is served by that one, which has not read the
      // database yet.
      waiting ??= running.then(() => {
        running = waiting!.catch(() => {});
        waiting = undefined;
        return pushOnce();
      });
      return waiting;
    },
  };
}

function refuseUnlessTaken(answer: Uint8Array): void {
  const { server, data, error } = JSON.parse(Buffer.from(answer).toString()) as {
    server?: { name?: string };
    data?: { code?: number };
    error?: { description?: string };
  };
  if (data?.code === 200) return;
  throw new Error(
    `The nats-server ${server?.name ?? ""} did not accept the revocations: ${error?.description ?? "it gave no reason"}.`,
  );
}
