// One effect and one outcome for all calls that carry the same idempotency key, on whichever node
// they arrive and whichever node dies (design: decision 0006).
//
// A call claims its row before anything happens. A claim is either mine to carry out, or already
// has an outcome, or is being carried out elsewhere right now.
import { Refusal, type RefusalCode, type RefusalDetails } from "@hawser/contract";
import { LockTimeout, type Database, type TenantTransaction } from "../postgres/database.ts";
import { statement, type TenantSql } from "../postgres/statement.ts";
import type { Caller } from "./caller.ts";
import { sealFor, type Seal } from "./idempotency-seal.ts";
import * as store from "./idempotency-store.ts";

/** How a call ended: what the caller gets, now and on every retry. */
export type Outcome =
  | { result: unknown }
  | { refusal: { code: RefusalCode; message: string; details: RefusalDetails } };

/** The right to carry a call out, until `fence` is overtaken. */
export interface Claim {
  commandId: string;
  fence: number;
  /** What an earlier holder had committed before it stopped. */
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

  /** Must be the transaction's first statement: a concurrent call waits here for its end. */
  async claim(sql: TenantTransaction): Promise<Claimed> {
    sql.later(waitForLock, longestLockWaitMs);
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

  /** For a call that lost the race for its row: its outcome, or the row itself when its holder is gone. */
  private async takeOver(sql: TenantTransaction): Promise<Claimed> {
    const row = await this.read(sql);
    if (!row) return { elsewhere: true };
    if (row.outcome) return { outcome: this.seal.open(row.outcome) as Outcome };
    if (!row.lapsed) return { elsewhere: true };
    const taken = await sql.first(store.takeOver, ...this.key, row.fence, this.leaseSeconds);
    if (!taken) return { elsewhere: true };
    const intent = taken.intent ? this.seal.open(taken.intent) : undefined;
    return { mine: { commandId: taken.command_id, fence: taken.fence, intent, resumed: true } };
  }

  /** The outcome, once there is one. */
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

  keepIntent(sql: TenantTransaction, intent: unknown): void {
    sql.later(store.saveIntent, ...this.key, this.seal.seal(intent));
  }

  /** False when another node has overtaken the claim, whose outcome then counts and not this one. */
  async finish(sql: TenantTransaction, claim: Claim, outcome: Outcome): Promise<boolean> {
    const sealed = this.seal.seal(outcome);
    return (await sql.first(store.finishRow, ...this.key, claim.fence, sealed)) !== undefined;
  }

  /** Renews the lease while a host is asked; calls `lost` when another node took the call over. */
  holdLease(database: Database, claim: Claim, lost: () => void): Disposable {
    const sql = database.tenant(this.key[0]);
    const renew = async () => {
      const held = await sql.first(store.renewLease, ...this.key, claim.fence, this.leaseSeconds);
      if (!held) lost();
    };
    // A renewal that fails is tried again by the next one; three fit into a lease.
    const timer = setInterval(() => void renew().catch(() => {}), (this.leaseSeconds * 1000) / 4);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  async giveUp(database: Database, claim: Claim): Promise<void> {
    await database.tenant(this.key[0]).rows(store.releaseLease, ...this.key, claim.fence);
  }
}
