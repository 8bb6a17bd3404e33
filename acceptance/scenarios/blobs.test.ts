// Blobs of hosts over HTTP. A blob is stored whole or not at all, is visible to one organization only, and
// is limited in size, quota and time. A blob that the log names can always be read.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { pairBlobHost, type BlobHost } from "@hawser/testkit/blob-host.ts";
import { refusalText } from "@hawser/testkit/caller.ts";
import { startJournalHost } from "@hawser/testkit/journal-host.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import type { World } from "@hawser/testkit/world.ts";
import { tell } from "../figures.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ nats: 1 });

const MiB = 1024 * 1024;
let directory: string;
before(() => void (directory = mkdtempSync(join(tmpdir(), "hawser-blobs-"))));
after(() => rmSync(directory, { recursive: true, force: true }));

const sha256Of = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
const length = (bytes: number | Buffer) => ({
  "content-length": String(typeof bytes === "number" ? bytes : bytes.length),
});
const patience = () => ({ deadlineMs: 60_000, signal: new AbortController().signal });
const putRaw = (host: BlobHost, bytes: Buffer, sha256 = sha256Of(bytes)) =>
  host.ask("PUT", sha256, { headers: length(bytes), body: [bytes] });

async function rows({ database }: World) {
  const [row] = await ownerSql<{ blobs: string; chunks: string }>(
    database.url,
    "SELECT (SELECT count(*) FROM blobs) AS blobs, (SELECT count(*) FROM blob_chunks) AS chunks",
  );
  return { blobs: Number(row!.blobs), chunks: Number(row!.chunks) };
}

/** A partial blob is removed a moment after its sender disconnects. */
const untilRows = (world: World, wanted: Awaited<ReturnType<typeof rows>>) =>
  until(
    "nothing of it is left",
    5_000,
    () => rows(world),
    ({ blobs, chunks }) => blobs === wanted.blobs && chunks === wanted.chunks,
  );

scenario(
  "A blob of 64 MiB is uploaded and downloaded byte for byte, and one byte more is refused",
  [],
  async ({ caller, world }) => {
    const host = await pairBlobHost(caller, world.baseUrl);
    const bytes = randomBytes(64 * MiB);
    const { sha256 } = await host.lane.put(bytes, patience());
    const path = join(directory, "down");
    assert.deepEqual(await host.lane.get(sha256, path, patience()), { size: 64 * MiB });
    assert.ok(readFileSync(path).equals(bytes));
    const tooLarge = await host.ask("PUT", sha256Of(Buffer.of(1)), {
      headers: { ...length(64 * MiB + 1), expect: "100-continue" },
    });
    assertRefused(tooLarge, 413, "payload_too_large");
    const small = Buffer.from("<script>alert(1)</script>");
    await putRaw(host, small);
    const reply = await host.ask("GET", sha256Of(small));
    assert.equal(reply.text, small.toString());
    assert.equal(reply.headers.get("content-type"), "application/octet-stream");
    assert.equal(reply.headers.get("content-disposition"), "attachment");
    assert.equal(reply.headers.get("x-content-type-options"), "nosniff");
  },
);

scenario(
  "An upload of a stored blob is answered before its bytes are sent, and the blob is stored once",
  [],
  async ({ caller, world }) => {
    const host = await pairBlobHost(caller, world.baseUrl);
    const bytes = randomBytes(2 * MiB);
    assert.equal((await putRaw(host, bytes)).status, 201);
    const before = await rows(world);
    const again = await host.ask("PUT", sha256Of(bytes), {
      headers: { ...length(bytes), expect: "100-continue" },
      // No byte of it is sent.
      body: silence(),
    });
    assert.deepEqual([again.status, again.body], [200, { sha256: sha256Of(bytes), size: 2 * MiB }]);
    assert.equal((await putRaw(host, bytes)).status, 200);
    assert.deepEqual(await rows(world), before);
  },
);

/** A body that sends nothing for longer than the test waits. */
async function* silence(): AsyncGenerator<Buffer> {
  await new Promise((resolve) => setTimeout(resolve, 1_000).unref());
  yield* [];
}

scenario(
  "Wrong bytes, a cut body, a body of unknown length and a wrong name store nothing",
  [],
  async ({ caller, world }) => {
    const host = await pairBlobHost(caller, world.baseUrl);
    const before = await rows(world);
    const bytes = randomBytes(2 * MiB);
    const wrong = await putRaw(host, bytes, sha256Of(randomBytes(3)));
    assertRefused(wrong, 400, "invalid_input");
    const sha256 = sha256Of(bytes);
    const cut = host.ask("PUT", sha256, {
      headers: length(bytes),
      body: [bytes.subarray(0, MiB)],
      cut: true,
    });
    await assert.rejects(cut);
    const chunked = await host.ask("PUT", sha256, {
      headers: { "transfer-encoding": "chunked" },
      body: [bytes],
    });
    assertRefused(chunked, 400, "invalid_input");
    for (const name of ["x", sha256.toUpperCase(), `${sha256}0`, sha256.slice(1)]) {
      assertRefused(await putRaw(host, bytes, name), 400, "invalid_input", name);
    }
    // A sender that is refused in the middle of its body receives the reason too.
    for (let round = 0; round < 10; round++) {
      const replies = await Promise.all([1, 2, 3, 4].map(() => putRaw(host, bytes, "x")));
      for (const reply of replies) assertRefused(reply, 400, "invalid_input");
    }
    await untilRows(world, before);
    assertRefused(await host.ask("GET", sha256), 404, "not_found");
    assertRefused(await host.ask("DELETE", sha256), 405, "method_not_allowed");
    assert.equal((await putRaw(host, bytes)).status, 201);
  },
);

scenario(
  "Another organization's blob is refused with the same words as a missing one",
  [],
  async ({ caller, stranger, world }) => {
    const host = await pairBlobHost(caller, world.baseUrl);
    const foreign = await pairBlobHost(stranger, world.baseUrl);
    const bytes = randomBytes(1000);
    assert.equal((await putRaw(host, bytes)).status, 201);
    const there = await foreign.ask("GET", sha256Of(bytes));
    const nowhere = await foreign.ask("GET", sha256Of(randomBytes(9)));
    assertRefused(there, 404, "not_found");
    assert.equal(refusalText(there), refusalText(nowhere));
    // It has to upload the same bytes itself, and does not learn that another organization has them.
    assert.equal((await putRaw(foreign, bytes)).status, 201);
    assert.equal((await foreign.ask("GET", sha256Of(bytes))).status, 200);
  },
);

scenario(
  "Only a paired host with a fresh proof for exactly this request is accepted",
  [],
  async ({ caller, world }) => {
    const host = await pairBlobHost(caller, world.baseUrl);
    const other = await pairBlobHost(caller, world.baseUrl);
    const bytes = randomBytes(100);
    const sha256 = sha256Of(bytes);
    const elsewhere = sha256Of(randomBytes(5));
    const ask = (headers: Record<string, string | undefined>, method = "PUT") =>
      host.ask(method, sha256, {
        headers: method === "PUT" ? { ...length(bytes), ...headers } : headers,
        ...(method === "PUT" && { body: [bytes] }),
      });
    const proof = (text: string) => ({ "x-hawser-proof": text });
    for (const method of ["PUT", "GET"]) {
      assertRefused(await ask({ authorization: undefined }, method), 401, "unauthenticated");
      const apiKey = { authorization: `Bearer ${caller.key}` };
      assertRefused(await ask(apiKey, method), 401, "unauthenticated");
      for (const bad of [
        {},
        proof(""),
        proof(host.prove(method, elsewhere)),
        proof(host.prove(method === "PUT" ? "GET" : "PUT", sha256)),
        proof(host.prove(method, sha256, Date.now() - 61_000)),
        proof(host.prove(method, sha256, Date.now() + 61_000)),
        proof(other.prove(method, sha256)),
      ]) {
        const headers = { "x-hawser-proof": undefined, ...bad };
        assertRefused(await ask(headers, method), 403, "forbidden", JSON.stringify(bad));
      }
    }
    assert.equal((await ask({})).status, 201);
    await caller.delete_instance({ instanceId: host.instanceId });
    assertRefused(await ask({}), 403, "forbidden");
    assertRefused(await ask({}, "GET"), 403, "forbidden");
  },
);

scenario(
  "Twenty uploads at once on two hosts stay within the organization's quota, to the byte",
  [],
  async ({ stranger, world }) => {
    const hosts = await Promise.all([1, 2].map(() => pairBlobHost(stranger, world.baseUrl)));
    const setQuota = (sql: string) => ownerSql(world.database.url, sql);
    await setQuota("DELETE FROM blob_quotas");
    await setQuota(
      `UPDATE organizations SET blob_bytes_per_day = ${7 * MiB} WHERE name = 'Globex'`,
    );
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => putRaw(hosts[i % 2]!, randomBytes(MiB))),
    );
    const refused = replies.filter(({ status }) => status !== 201);
    assert.equal(refused.length, 13);
    for (const reply of refused) {
      const { retryAfterMs } = assertRefused(reply, 429, "quota_exceeded");
      assert.ok(retryAfterMs! > 0 && retryAfterMs! <= 86_400_000);
      assert.ok(Number(reply.headers.get("retry-after")) > 0);
    }
    const [used] = await ownerSql<{ bytes: string }>(
      world.database.url,
      "SELECT bytes FROM blob_quotas JOIN organizations USING (organization_id) WHERE name = 'Globex'",
    );
    assert.equal(Number(used!.bytes), 7 * MiB);
    await setQuota("UPDATE organizations SET blob_bytes_per_day = 5368709120");
  },
);

scenario(
  "A sender that is too slow is cut, and nothing is stored",
  [],
  async ({ caller, world }) => {
    const host = await pairBlobHost(caller, world.baseUrl);
    const before = await rows(world);
    const bytes = randomBytes(512 * 1024);
    async function* dripping() {
      yield bytes.subarray(0, 300_000);
      for (let at = 300_000; at < 300_060; at++) {
        yield bytes.subarray(at, at + 1);
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
    const started = performance.now();
    const reply = await host.ask("PUT", sha256Of(bytes), {
      headers: length(bytes),
      body: dripping(),
    });
    const took = performance.now() - started;
    assertRefused(reply, 400, "invalid_input");
    assert.ok(took > 12_000 && took < 20_000, `${took} ms`);
    tell(`a dripping upload of 512 KiB is cut after ${(took / 1000).toFixed(1)} s`);
    await untilRows(world, before);
  },
);

scenario(
  "A shortened log entry names a stored blob, whichever process is killed in between",
  [],
  async ({ caller, world }) => {
    await using host = await startJournalHost(
      caller,
      world.baseUrl,
      join(directory, "h"),
      "cutter",
    );
    const { instanceId } = host;
    const [sessionId] = await insertSessions(world, world.organizations[0], { instanceId });
    const dangling = async () => {
      const [row] = await ownerSql<{ named: string; missing: string; applied: string }>(
        world.database.url,
        `SELECT count(*) AS applied,
                count(*) FILTER (WHERE whole IS NOT NULL) AS named,
                count(*) FILTER (WHERE whole IS NOT NULL AND b.blob_id IS NULL) AS missing
           FROM session_log l
           CROSS JOIN LATERAL (SELECT l.update #>> '{_meta,hawser/whole,sha256}') AS w (whole)
           LEFT JOIN blobs b ON b.organization_id = l.organization_id
            AND b.sha256 = decode(whole, 'hex') AND b.stored_at IS NOT NULL`,
      );
      const { named, missing, applied } = row!;
      assert.equal(Number(missing), 0, "a name in the log leads nowhere");
      return { named: Number(named), applied: Number(applied) };
    };
    const text = (n: number) => randomBytes(3 * MiB).toString("base64") + n;
    const wholes: string[] = [];
    for (let round = 0; round < 5; round++) {
      const update = {
        sessionUpdate: "agent_message_chunk",
        messageId: `m${round}`,
        text: text(round),
      };
      wholes.push(JSON.stringify(update));
      await host.append(sessionId!, [update, { sessionUpdate: "plan", round }]);
      // Each time at another moment: before, during and after the upload.
      await new Promise((resolve) => setTimeout(resolve, round * 60));
      await host.kill();
      await dangling();
      await host.start();
    }
    const end = await until(
      "all entries are applied",
      30_000,
      dangling,
      ({ applied }) => applied >= 10,
    );
    assert.deepEqual(end, { named: 5, applied: 10 });
    const reader = await pairBlobHost(caller, world.baseUrl);
    for (const whole of wholes) {
      const path = join(directory, "whole");
      await reader.lane.get(sha256Of(Buffer.from(whole)), path, patience());
      assert.equal(readFileSync(path, "utf8"), whole);
    }
    tell(
      `5 entries of 4 MiB, 5 kills: 10 entries applied, 5 blobs named, 0 of them missing at any look`,
    );
  },
);
