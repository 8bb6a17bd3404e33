// Messages of hosts while the lookup of their senders waits for the database.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatId } from "@hawser/contract";
import { holdRow } from "@hawser/testkit/hold-row.ts";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createUpCalls } from "./up-calls.ts";

const instanceId = formatId("instance", "01980000-0000-7000-8000-000000000001");
const unknown = { refused: "unknown_host", retryAfterMs: 1_000 } as const;
const busy = { refused: "rate_limited", retryAfterMs: 1_000 };
const unused = () => Promise.reject(new Error("Not used here."));

test("messages that wait for the lookup of their hosts are limited; more are sent again later", async () => {
  await using service = await openServiceDatabase();
  const upCalls = createUpCalls({
    database: service.database,
    intake: { accept: unused, close: unused },
    logQuota: { refusal: () => undefined },
    sightings: { note: () => {} },
    renewToken: unused,
    removed: { answerInstance: () => Promise.resolve(unknown) },
    viewers: { notify: () => {} },
    isBack: () => {},
    reconnectSeconds: () => 1,
  });
  const report = () => upCalls.answer(instanceId, "report", new Uint8Array(512 * 1024));
  let held: Promise<object>[];
  {
    await using _held = await holdRow(service.url, "LOCK TABLE host_keys");
    held = Array.from({ length: 65 }, report);
    assert.deepEqual(await report(), busy);
    assert.deepEqual(await upCalls.answer(instanceId, "heartbeat", new Uint8Array(20)), busy);
  }
  assert.deepEqual(new Set(await Promise.all(held)), new Set([unknown]));
  assert.deepEqual(await report(), unknown);
});
