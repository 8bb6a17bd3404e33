// Pushes revoked hosts to the fabric: writes the account of the hosts again from the database and pushes
// it to every nats-server, which closes the sockets of those hosts at once.
//
// nats-server accepts no account token of more than 1 MiB, so the list is bounded: tokens live for two hours
// and entries little longer. If a list still has too many entries, the most important ones are pushed
// (decision 0039).
import { setTimeout as sleep } from "node:timers/promises";
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

/** What a push has sent. */
export interface PushedRevocations {
  entries: number;
  /** Revoked keys for which there was no room. Nodes disconnect their hosts if they connect. */
  omitted: number;
  bytes: number;
}

/**
 * One node pushes at a time: a nats-server keeps the account that arrives last, so of two concurrent
 * pushes, one would undo revocations that the other had read later. Each turn has a later second than the
 * one before, because servers that disagree use the account that was issued last. No transaction is open
 * while a node has the turn. The turn of a node that died ends by itself; so does one from a clock that
 * was ahead.
 */
const takeTurn = systemStatement<{ issued_at: number }>(
  "take the turn to push revocations",
  `INSERT INTO leases AS turn (name, holder, fence, until)
   VALUES ('push of revocations', gen_random_uuid(), extract(epoch FROM hawser_now()),
           hawser_now() + make_interval(secs => $1))
   ON CONFLICT (name) DO UPDATE
      SET fence = greatest(turn.fence + 1, excluded.fence), until = excluded.until
    WHERE turn.until NOT BETWEEN hawser_now() AND excluded.until
   RETURNING fence AS issued_at`,
);

/** No row if another node has taken the turn since, because this one was too slow. */
const endTurn = systemStatement<{ issued_at: number }>(
  "end the turn to push revocations",
  `UPDATE leases SET until = '-infinity' WHERE name = 'push of revocations' AND fence = $1
   RETURNING fence AS issued_at`,
);

/**
 * An entry revokes tokens that were issued up to its time. Its time is the expiry of the key's last
 * token, not the time of the revocation, so that it also covers a token from a node whose clock is
 * ahead. The entry stays for ten minutes longer than that token, for servers whose clock is behind.
 *
 * Replaced hosts come first: commands are still sent to their instance. Then come the newest revocations,
 * whose hosts are connected most likely. Organizations take turns, so that one that pairs a host again and
 * again pushes its own keys off the list, and not those of others.
 */
const selectRevoked = systemStatement<{ revocations: Record<string, number>; total: number }>(
  "read the revoked host keys",
  `WITH revoked AS MATERIALIZED (
     SELECT k.public_key, k.token_expires_at, k.revoked_at, i.deleted_at IS NULL AS was_replaced,
            row_number() OVER (
              PARTITION BY k.organization_id, i.deleted_at IS NULL
              ORDER BY k.revoked_at DESC, k.public_key) AS place
       FROM host_keys k
       JOIN instances i ON i.organization_id = k.organization_id AND i.instance_id = k.instance_id
      WHERE k.revoked_at IS NOT NULL AND k.token_expires_at > hawser_now() - interval '10 minutes')
   SELECT (SELECT count(*) FROM revoked) AS total,
          (SELECT coalesce(json_object_agg(public_key, extract(epoch FROM token_expires_at)::bigint), '{}')
             FROM (SELECT * FROM revoked
                    ORDER BY was_replaced DESC, place, revoked_at DESC, public_key LIMIT $1) AS listed)
            AS revocations`,
);

const patienceMs = 2_000;
/** A push takes less than a second, and longer only if a server is silent. */
const turnSeconds = 10;
const longestWaitMs = 2 * turnSeconds * 1000;
const lookAgainMs = 20;

/** nats-server refuses larger tokens, whatever its configuration. */
const largestToken = 1024 * 1024;
/** Room for everything in the account that is not an entry. */
const otherBytes = 16 * 1024;
/** Bytes of an entry in the token: `"U…":1794567890,` in base64. */
const entryBytes = (70 * 4) / 3;
export const mostEntries = Math.floor((largestToken - otherBytes) / entryBytes);

export function createRevocations({
  database: { system },
  fabric,
  keys,
  observe = () => {},
  most = mostEntries,
}: {
  database: Pick<Database, "system">;
  fabric: Pick<Fabric, "system">;
  /** Read at each push: a rotation changes them. */
  keys: FabricKeys;
  /** Called after each push. */
  observe?: (pushed: PushedRevocations) => void;
  /** How many revoked keys are listed at most. */
  most?: number;
}): Revocations {
  let running: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | undefined;

  let pushedSystem: string | undefined;

  async function update(account: string): Promise<void> {
    const options = { timeoutMs: patienceMs };
    const answers = await fabric.system.requestMany("$SYS.REQ.CLAIMS.UPDATE", account, options);
    for (const answer of answers) refuseUnlessTaken(answer);
  }

  async function waitForTurn(): Promise<number> {
    const deadline = performance.now() + longestWaitMs;
    for (;;) {
      const turn = await system.first(takeTurn, turnSeconds);
      if (turn) return turn.issued_at;
      if (performance.now() > deadline) {
        throw new Error("Other nodes have pushed revocations all the time.");
      }
      await sleep(lookAgainMs);
    }
  }

  async function pushAccounts(issuedAt: number): Promise<PushedRevocations> {
    const { revocations, total } = (await system.first(selectRevoked, most))!;
    const account = accountWithRevocations(keys, revocations, issuedAt);
    await update(account);
    const entries = Object.keys(revocations).length;
    const pushed = { entries, omitted: total - entries, bytes: account.length };
    // Changes only in a rotation of keys.
    if (keys.systemAccountJwt === pushedSystem) return pushed;
    await update(systemAccount(keys, issuedAt));
    pushedSystem = keys.systemAccountJwt;
    return pushed;
  }

  async function pushOnce(): Promise<void> {
    for (;;) {
      const issuedAt = await waitForTurn();
      let pushed: PushedRevocations;
      try {
        pushed = await pushAccounts(issuedAt);
      } catch (error) {
        // If this fails too, the turn ends by itself.
        await system.first(endTurn, issuedAt).catch(() => {});
        throw error;
      }
      observe(pushed);
      // If the turn was lost, an older list may have replaced a newer one.
      if (await system.first(endTurn, issuedAt)) return;
    }
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
