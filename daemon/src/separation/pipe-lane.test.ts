// Blobs of a worker: bytes arrive unchanged, and a hostile worker reaches no file but its own.
import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { existsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, afterEach, test } from "node:test";
import { largestBlob } from "@hawser/host-protocol";
import { BlobRefused, type BlobLane, type Patience } from "../blobs/lane.ts";
import { silentLog } from "../log.ts";
import { blobHandlers, createPipeLane } from "./pipe-lane.ts";
import { openPipe, type Pipe } from "./pipe.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-pipe-lane-"));
after(() => rmSync(directory, { recursive: true, force: true }));
const opened: { end: () => void }[] = [];
afterEach(() => {
  for (const { end } of opened.splice(0)) end();
});

const pieceBytes = 512 * 1024;
const patience = (deadlineMs = 10_000): Patience => ({
  deadlineMs,
  signal: new AbortController().signal,
});
const sha256Of = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** The control plane's blobs, as files. */
function keepBlobs() {
  const kept = mkdtempSync(join(directory, "kept-"));
  const lane: BlobLane = {
    async put(source) {
      const { size } = statSync(source);
      if (size > largestBlob) throw new BlobRefused("payload_too_large", "Too large.");
      const sha256 = sha256Of(readFileSync(source as string));
      copyFileSync(source, join(kept, sha256));
      return { sha256, size };
    },
    async get(sha256, path) {
      if (!existsSync(join(kept, sha256))) throw new BlobRefused("not_found", "There is no blob.");
      copyFileSync(join(kept, sha256), path);
      return { size: statSync(path).size };
    },
  };
  return { kept, lane };
}

/** A worker with a pipe to its front, whose files are in `files`. */
function connect(lane: BlobLane): { worker: Pipe; lane: BlobLane; files: string; end: () => void } {
  const files = join(directory, randomUUID());
  const { end, ...handlers } = blobHandlers(lane, files);
  const [there, back] = [new PassThrough(), new PassThrough()];
  const front = openPipe(there, back, handlers, silentLog);
  const worker = openPipe(back, there, {}, silentLog);
  const connected = {
    worker,
    lane: createPipeLane(worker),
    files,
    end() {
      front.close();
      end();
    },
  };
  opened.push(connected);
  return connected;
}

test("blobs of no byte, of one and of several pieces arrive unchanged in both directions", async () => {
  const { kept, lane } = keepBlobs();
  const { lane: ours, files } = connect(lane);
  for (const size of [0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 3 * pieceBytes + 7]) {
    const bytes = randomBytes(size);
    const sha256 = sha256Of(bytes);
    const [source, target] = [join(directory, randomUUID()), join(directory, randomUUID())];
    writeFileSync(source, bytes);
    assert.deepEqual(await ours.put(source, patience()), { sha256, size });
    assert.deepEqual(await ours.put(bytes, patience()), { sha256, size });
    assert.ok(readFileSync(join(kept, sha256)).equals(bytes));
    assert.deepEqual(await ours.get(sha256, target, patience()), { size });
    assert.ok(readFileSync(target).equals(bytes));
    assert.equal(statSync(target).mode & 0o777, 0o600);
  }
  assert.deepEqual(readdirSync(files), [], "nothing is left at the front");
  assert.deepEqual(
    readdirSync(directory).filter((name) => name.endsWith(".part")),
    [],
  );
});

test("the largest blob passes, and one byte more is refused as too large", async () => {
  const { lane: ours, files } = connect(keepBlobs().lane);
  const source = join(directory, randomUUID());
  const bytes = Buffer.alloc(largestBlob + 1, "abc");
  writeFileSync(source, bytes.subarray(0, largestBlob));
  const put = await ours.put(source, patience(60_000));
  assert.equal(put.size, largestBlob);
  const target = join(directory, randomUUID());
  assert.deepEqual(await ours.get(put.sha256, target, patience(60_000)), { size: largestBlob });
  assert.equal(sha256Of(readFileSync(target)), put.sha256);
  await assert.rejects(ours.put(bytes, patience(60_000)), { code: "payload_too_large" });
  assert.deepEqual(readdirSync(files), []);
});

test("refusals reach the worker with their codes, and leave no file", async () => {
  const { lane: ours, files } = connect(keepBlobs().lane);
  const target = join(directory, randomUUID());
  const missing = ours.get(sha256Of(Buffer.from("missing")), target, patience());
  await assert.rejects(
    missing,
    (error) => error instanceof BlobRefused && error.code === "not_found",
  );
  await assert.rejects(ours.put(join(directory, "no such file"), patience()), { code: "ENOENT" });
  assert.equal(existsSync(target), false);
  assert.deepEqual(readdirSync(files), []);
});

/** Transfers that take until they are given up. */
function stuck() {
  const given: Patience[] = [];
  const wait = (patience: Patience) => {
    given.push(patience);
    return new Promise<never>((_, reject) => {
      patience.signal.addEventListener("abort", () => reject(new Error("given up")));
    });
  };
  const lane: BlobLane = {
    put: (_source, patience) => wait(patience),
    get: (_sha256, _path, patience) => wait(patience),
  };
  return { lane, given };
}

const sha256 = "0".repeat(64);

async function untilGiven(given: readonly unknown[], count: number): Promise<void> {
  for (let i = 0; i < 200 && given.length < count; i++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(given.length, count);
}

test("a transfer that the worker gives up ends at the front at once", async () => {
  const { lane, given } = stuck();
  const { lane: ours, files } = connect(lane);
  const stop = new AbortController();
  const impatient = { deadlineMs: 900_000, signal: stop.signal };
  const both = [
    ours.put(Buffer.from("bytes"), impatient),
    ours.get(sha256, join(directory, randomUUID()), impatient),
  ];
  await untilGiven(given, 2);
  stop.abort();
  for (const { status } of await Promise.allSettled(both)) assert.equal(status, "rejected");
  assert.ok(given.every(({ signal }) => signal.aborted));
  assert.deepEqual(readdirSync(files), []);
  await assert.rejects(ours.put(Buffer.from("bytes"), impatient), { name: "AbortError" });
});

test("more transfers than the front allows wait for their turn", async () => {
  const { lane, given } = stuck();
  const { lane: ours } = connect(lane);
  const stops = Array.from({ length: 12 }, () => new AbortController());
  const all = stops.map(({ signal }) =>
    ours.get(sha256, join(directory, randomUUID()), { deadlineMs: 60_000, signal }).catch(String),
  );
  await untilGiven(given, 8);
  stops.at(-1)!.abort();
  await all.at(-1);
  for (const stop of stops.slice(0, 3)) stop.abort();
  await untilGiven(given, 11);
  for (const stop of stops) stop.abort();
  await Promise.all(all);
});

test("the end of the worker ends its transfers and removes its files, and so does the next start", async () => {
  const { lane, given } = stuck();
  const { worker, files, end } = connect(lane);
  await worker.call("put_open", { id: "a" });
  await worker.call("put_piece", { id: "a", offset: 0, data: "AAAA" });
  const calls = [
    worker.call("put_end", { id: "a", deadlineMs: 60_000 }),
    worker.call("get_open", { id: "b", sha256, deadlineMs: 60_000 }),
  ];
  await untilGiven(given, 2);
  assert.equal(readdirSync(files).length, 1);
  end();
  for (const { status } of await Promise.allSettled(calls)) assert.equal(status, "rejected");
  assert.ok(given.every(({ signal }) => signal.aborted));
  assert.equal(existsSync(files), false);

  const left = join(directory, randomUUID());
  blobHandlers(lane, left);
  writeFileSync(join(left, "of a front that was killed"), "");
  blobHandlers(lane, left);
  assert.deepEqual(readdirSync(left), []);
});

test("a hostile worker reaches no other file, and no more than its transfers", async () => {
  const { lane, given } = stuck();
  const { worker, files } = connect(lane);
  const other = connect(lane);
  await other.worker.call("put_open", { id: "theirs" });
  const refused = (name: string, body: object) => assert.rejects(worker.call(name, body), name);

  for (const id of ["theirs", "../theirs", "", 7, null, {}, ["a"]]) {
    for (const name of ["put_piece", "get_piece", "put_end"]) {
      await refused(name, { id, offset: 0, data: "AAAA", deadlineMs: 1_000 });
    }
    await worker.call("blob_close", { id });
  }
  assert.equal(readdirSync(other.files).length, 1);
  for (const id of [undefined, 7, null, {}]) await refused("put_open", { id });

  await worker.call("put_open", { id: "../../outside" });
  await refused("put_open", { id: "../../outside" });
  assert.match(readdirSync(files).join(), /^[0-9a-f-]{36}$/);
  const at = (offset: unknown) => ({ id: "../../outside", offset, data: "AAAA" });
  for (const offset of [-1, 0.5, NaN, Infinity, "0", null, undefined, {}, 2 ** 60, largestBlob]) {
    await refused("put_piece", at(offset));
  }
  for (const offset of [-1, 0.5, "0", null, {}, 2 ** 60]) await refused("get_piece", at(offset));
  for (const data of [undefined, null, 7, { length: 2 ** 31 }, [1]]) {
    await refused("put_piece", { ...at(0), data });
  }
  await worker.call("put_piece", at(largestBlob - 3));
  assert.equal(statSync(join(files, readdirSync(files)[0]!)).size, largestBlob);
  assert.equal(await worker.call("get_piece", at(largestBlob + 5)), "");

  for (const name of ["../other", "", "A".repeat(64), `${sha256}/..`, 7, null]) {
    await refused("get_open", { id: randomUUID(), sha256: name, deadlineMs: 1_000 });
  }
  for (let i = 1; i < 8; i++) await worker.call("put_open", { id: `more ${i}` });
  await refused("put_open", { id: "too many" });
  await refused("get_open", { id: "too many", sha256, deadlineMs: 1_000 });
  assert.equal(readdirSync(files).length, 8);
  assert.deepEqual(given, []);

  const deadlines = [-5, NaN, "x", 1e15, null];
  for (const deadlineMs of deadlines)
    void worker.call("put_end", { id: "more 1", deadlineMs }).catch(() => {});
  await untilGiven(given, deadlines.length);
  assert.deepEqual(
    given.map(({ deadlineMs }) => deadlineMs),
    [0, 0, 0, 3600_000, 0],
  );
});
