// One effect and one outcome for all calls that carry the same idempotency key, on whichever node they
// arrive and whichever node dies (design: decision 0006).
//
// A call claims its row before anything happens. The claim is either this call's to carry out, or has
// an outcome, or another node is carrying it out.
import { Refusal, type RefusalCode, type RefusalDetails } from "@hawser/contract";
import { LockTimeout, type Database, type TenantTransaction } from "../postgres/database.ts";
import { statement, type TenantSql } from "../postgres/statement.ts";
import type { Caller } from "./caller.ts";
import { sealFor, type Seal } from "./idempotency-seal.ts";
import * as store from "./idempotency-store.ts";

/** The outcome of a call: what the caller receives, now and on every retry. */
export type Outcome =
  | { result: unknown }
  | { refusal: { code: RefusalCode; message: string; details: RefusalDetails } };

/** The right to carry out a call, until another node has a higher fence. */
export interface Claim {
  commandId: string;
  fence: number;
  /** The intent that an earlier holder committed before it stopped. */
  intent?: unknown;
  resumed: boolean;
}

export type Claimed = { mine: Claim } | { outcome: Outcome } | { elsewhere: true };

const waitForLock = statement(`SELECT set_config('lock_timeout', $1, true)`);
const longestLockWaitMs = 3_000;

export class IdempotentCall {
  private readonly seal: Seal;
  private readonly key: [string, string, string, Buffer];
  private readonly leaseSeconds: number;

  constructor(
    pepper: Buffer,
    leaseSeconds: number,
    caller: Caller,
    action: string,
    idempotencyKey: string,
    input: unknown,
  ) {
    this.leaseSeconds = leaseSeconds;
    this.seal = sealFor(
      pepper,
      [caller.organizationId, caller.apiKeyId, action],
      idempotencyKey,
      input,
    );
    this.key = [caller.organizationId, caller.apiKeyId, action, this.seal.keyHash];
  }

  /** Call it first in the transaction: a concurrent call waits here until the transaction ends. */
  async claim(sql: TenantTransaction): Promise<Claimed> {
    sql.later(waitForLock, longestLockWaitMs);
    sql.later(store.lockKey, this.seal.keyHash);
    try {
      const made = await sql.first(
        store.insertRow,
        ...this.key,
        this.seal.bodyHmac,
        this.leaseSeconds,
      );
      if (made) return { mine: { commandId: made.command_id, fence: made.fence, resumed: false } };
    } catch (error) {
      if (error instanceof LockTimeout) return { elsewhere: true };
      throw error;
    }
    return this.takeOver(sql);
  }

  /** For a call that lost the race for its row: the outcome, or the claim if its holder is gone. */
  private async takeOver(sql: TenantTransaction): Promise<Claimed> {
    const row = await this.read(sql);
    if (!row) return { elsewhere: true };
    if (row.outcome) return { outcome: this.seal.open(row.outcome) as Outcome };
    if (!row.lapsed) return { elsewhere: true };
    const held = this.rowOf({ commandId: row.command_id, fence: row.fence });
    const taken = await sql.first(store.takeOver, ...held, this.leaseSeconds);
    if (!taken) return { elsewhere: true };
    const intent = taken.intent ? this.seal.open(taken.intent) : undefined;
    return { mine: { commandId: taken.command_id, fence: taken.fence, intent, resumed: true } };
  }

  /** The outcome; undefined if there is none yet. */
  async outcome(sql: TenantSql): Promise<Outcome | undefined> {
    const row = await this.read(sql);
    return row?.outcome ? (this.seal.open(row.outcome) as Outcome) : undefined;
  }

  private async read(sql: TenantSql): Promise<store.IdempotencyRow | undefined> {
    const row = await sql.first(store.selectRow, ...this.key);
    if (row && !row.body_hmac.equals(this.seal.bodyHmac)) {
      throw new Refusal(
        "idempotency_mismatch",
        "This idempotency key was used before with another body. Use a new key for a new call.",
      );
    }
    return row;
  }

  keepIntent(sql: TenantTransaction, claim: Claim, intent: unknown): void {
    sql.later(store.saveIntent, ...this.key, claim.commandId, this.seal.seal(intent));
  }

  /** False if another node has taken the call over; then that node's outcome counts. */
  async finish(sql: TenantTransaction, claim: Claim, outcome: Outcome): Promise<boolean> {
    const sealed = this.seal.seal(outcome);
    return (await sql.first(store.finishRow, ...this.rowOf(claim), sealed)) !== undefined;
  }

  /** Renews the lease while a host is asked. Calls `lost` if another node has taken the call over. */
  holdLease(database: Database, claim: Claim, lost: () => void): Disposable {
    const sql = database.tenant(this.key[0]);
    const renew = async () => {
      const held = await sql.first(store.renewLease, ...this.rowOf(claim), this.leaseSeconds);
      if (!held) lost();
    };
    // A failed renewal is repeated by the next one; three fit into a lease.
    const timer = setInterval(() => void renew().catch(() => {}), (this.leaseSeconds * 1000) / 4);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  async giveUp(database: Database, claim: Claim): Promise<void> {
    await database.tenant(this.key[0]).rows(store.releaseLease, ...this.rowOf(claim));
  }

  private rowOf({ commandId, fence }: Pick<Claim, "commandId" | "fence">): unknown[] {
    return [...this.key, commandId, fence];
  }
}
