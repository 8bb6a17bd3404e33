// A pairing token is redeemed by one host, once, within 15 minutes of database time (T16).
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { after, before, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Refusal, formatId, parseId } from "@hawser/contract";
import { moveClock } from "@hawser/testkit/clock.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { pairAny } from "@hawser/testkit/pair-any.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import type { Database } from "../postgres/database.ts";
import { issuePairingToken } from "./pairing.ts";
import { insertInstance } from "./store.ts";

const tries = 200;
const processes = 3;

let service: ServiceDatabase;
let database: Database;
let organizationId: string;

before(async () => {
  service = await openServiceDatabase();
  ({ database } = service);
  const made = await createTestOrganization(database, "Acme", "ada@acme.example");
  organizationId = parseId("organization", made.organizationId)!;
});

beforeEach(() => moveClock(service.url, 0));

after(async () => {
  await service[Symbol.asyncDispose]();
});

async function newToken(instanceId?: string): Promise<{ token: string; instanceId: string }> {
  return database.tenantTransaction(organizationId, async (sql) => {
    const id = instanceId ?? (await sql.first(insertInstance, organizationId, "box"))!.instance_id;
    const { pairingToken } = await issuePairingToken(sql, "https://hawser.example", id);
    return { token: pairingToken, instanceId: id };
  });
}

const redeem = (token: string) => pairAny(database, token);
const refused = (error: unknown) => error instanceof Refusal && error.code === "not_found";

test(`of ${tries} parallel redemptions over ${processes} processes exactly one wins, and each is in the audit trail`, async () => {
  const { token } = await newToken();
  const children = Array.from({ length: processes }, () =>
    fork(fileURLToPath(import.meta.resolve("@hawser/testkit/redeem-many.ts")), [service.url]),
  );
  await Promise.all(children.map((child) => once(child, "message")));
  // All processes are connected and start at the same signal.
  const results = children.map(async (child, index) => {
    const count = Math.floor(tries / processes) + (index < tries % processes ? 1 : 0);
    child.send({ token, count });
    const [outcome] = (await once(child, "message")) as [{ won: number; refused: number }];
    return outcome;
  });
  const outcomes = await Promise.all(results);
  await Promise.all(children.map((child) => (child.disconnect(), once(child, "exit"))));
  assert.equal(
    outcomes.reduce((sum, { won }) => sum + won, 0),
    1,
  );
  assert.equal(
    outcomes.reduce((sum, outcome) => sum + outcome.refused, 0),
    tries - 1,
  );
  const trail = await ownerSql<{ outcome: string; count: string }>(
    service.url,
    `SELECT outcome, count(*) FROM audit_entries WHERE action = 'pair_host' GROUP BY outcome ORDER BY outcome`,
  );
  assert.deepEqual(trail, [
    { outcome: "done", count: "1" },
    { outcome: "not_found", count: String(tries - 1) },
  ]);
  await assert.rejects(redeem(token), refused, "a replay after use is refused");
});

test("a token works at 14:59 and not at 15:01, by the database's clock", async () => {
  const early = await newToken();
  const late = await newToken();
  await moveClock(service.url, 15 * 60 - 1);
  assert.equal((await redeem(early.token)).instanceId, formatId("instance", early.instanceId));
  await moveClock(service.url, 15 * 60 + 1);
  await assert.rejects(redeem(late.token), refused);
});

test("a new token ends the old one", async () => {
  const first = await newToken();
  const second = await newToken(first.instanceId);
  await assert.rejects(redeem(first.token), refused);
  assert.equal((await redeem(second.token)).instanceId, formatId("instance", first.instanceId));
});

test("a token that was never made, or was mistyped, is refused like any other", async () => {
  const { token } = await newToken();
  const mistyped = token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");
  for (const bad of ["", "hwp_nonsense", mistyped, token.toUpperCase()])
    await assert.rejects(redeem(bad), refused);
});

test("the token itself is nowhere in the database", async () => {
  const { token } = await newToken();
  const rows = await ownerSql<{ row: string }>(
    service.url,
    `SELECT row_to_json(t)::text AS row FROM pairing_tokens t`,
  );
  assert.ok(rows.length > 0 && rows.every(({ row }) => !row.includes(token)));
});
