// Uploads of blobs: which failures are retried, which are given up, and that nothing is lost.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { blobsPath, makeNkey, wholeUpdate } from "@hawser/host-protocol";
import { openJournal, type Journal } from "../journal/journal.ts";
import { createServerClock } from "../link/server-clock.ts";
import { silentLog } from "../log.ts";
import { BlobRefused, createBlobLane, type BlobLane } from "./lane.ts";
import { startUploads } from "./upload-blobs.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

const directory = mkdtempSync(join(tmpdir(), "hawser-uploads-"));
const server = createServer();
let answer: Answer;
let tries: number;
let lane: BlobLane;
let files = 0;

before(async () => {
  // A door that asks nobody to go on, as behind some proxies; whoever waits for that sends anyway.
  const take = (request: IncomingMessage, response: ServerResponse) => {
    tries++;
    void answer(request, response);
  };
  server.on("request", take);
  server.on("checkContinue", take);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  lane = createBlobLane({
    serverUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: makeNkey("user"),
    token: () => "t",
    clock: createServerClock(),
  });
});
beforeEach(() => void (tries = 0));
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(directory, { recursive: true, force: true });
});

const refuse =
  (status: number, code: string): Answer =>
  (_request, response) =>
    void response.writeHead(status).end(JSON.stringify({ error: { code, message: code } }));

/** Takes bodies in and keeps them by name. */
function keepIn(blobs: Map<string, Buffer>): Answer {
  return async (request, response) => {
    response.writeContinue();
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    blobs.set(request.url!.slice(blobsPath.length), Buffer.concat(pieces));
    response.writeHead(201).end("{}");
  };
}

const patience = (deadlineMs = 10_000) => ({ deadlineMs, signal: new AbortController().signal });
const sha256Of = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

test("a buffer and a file are put under their hash, after as many tries as it takes", async () => {
  const blobs = new Map<string, Buffer>();
  const bytes = Buffer.alloc(300_000, "abc");
  const path = join(directory, "file");
  writeFileSync(path, bytes);
  const failing = [refuse(503, "unavailable"), refuse(401, "unauthenticated")];
  answer = (request, response) => {
    const failure = failing.shift();
    if (failure || tries !== 3) return (failure ?? keepIn(blobs))(request, response);
    request.socket.destroy();
    return undefined;
  };
  const name = { sha256: sha256Of(bytes), size: 300_000 };
  assert.deepEqual(await lane.put(bytes, patience()), name);
  assert.equal(tries, 4);
  assert.ok(blobs.get(name.sha256)!.equals(bytes));
  blobs.clear();
  assert.deepEqual(await lane.put(path, patience()), name);
  assert.ok(blobs.get(name.sha256)!.equals(bytes));
});

test("a no that would be said again is not asked for twice, and a deadline ends the rest", async () => {
  for (const [status, code] of [
    [413, "payload_too_large"],
    [429, "quota_exceeded"],
    [400, "invalid_input"],
  ] as const) {
    tries = 0;
    answer = refuse(status, code);
    const refused = (error: unknown) => error instanceof BlobRefused && error.code === code;
    await assert.rejects(lane.put(Buffer.from("x"), patience()), refused);
    assert.equal(tries, 1);
  }
  answer = refuse(503, "unavailable");
  const started = performance.now();
  await assert.rejects(lane.put(Buffer.from("x"), patience(700)));
  assert.ok(performance.now() - started < 3_000);
});

test("what is got is whole and right, or there is no file", async () => {
  const bytes = Buffer.alloc(200_000, "xyz");
  const path = join(directory, "got");
  answer = (_request, response) => {
    if (tries === 1)
      response.writeHead(200, { "content-length": bytes.length }).end(bytes.fill("o", 0, 1));
    else if (tries === 2) {
      response.writeHead(200, { "content-length": bytes.length }).write(bytes.subarray(9));
      setTimeout(() => response.destroy(), 20);
    } else response.writeHead(200).end(bytes.fill("x", 0, 1));
  };
  assert.deepEqual(await lane.get(sha256Of(bytes), path, patience()), { size: 200_000 });
  assert.equal(tries, 3);
  answer = refuse(404, "not_found");
  await assert.rejects(lane.get(sha256Of(bytes), join(directory, "none"), patience()), BlobRefused);
  assert.ok(
    !readdirSync(directory).some((name) => name.startsWith("none") || name.endsWith(".part")),
  );
});

interface Bed extends AsyncDisposable {
  journal: Journal;
  settled: () => Promise<unknown>;
  setLink: (since: string | undefined) => void;
  wake: () => void;
}

function makeBed(patienceMs?: number): Bed {
  const journal = openJournal(join(directory, `${++files}.sqlite`));
  journal.log.introduce("a");
  let since: string | undefined = "now";
  let settled = Promise.withResolvers<void>();
  const uploads = startUploads({
    blobs: journal.blobs,
    lane,
    linkedSince: () => since,
    onSettled: () => settled.resolve(),
    log: silentLog,
    ...(patienceMs !== undefined && { patienceMs }),
  });
  return {
    journal,
    async settled() {
      await settled.promise;
      settled = Promise.withResolvers();
    },
    setLink: (value) => void (since = value),
    wake: uploads.wake,
    async [Symbol.asyncDispose]() {
      await uploads.stop();
      journal.close();
    },
  };
}

const long = { sessionUpdate: "agent_message_chunk", text: "x".repeat(200_000) };
const wholeIn = (journal: Journal) => {
  const [batch] = journal.log.unapplied({ bytes: Infinity, entries: 10 });
  return (batch?.entries[0]!.update["_meta"] as Record<string, object> | undefined)?.[wholeUpdate];
};

test("an entry is sent after its whole is stored, not before", async () => {
  await using bed = makeBed();
  const blobs = new Map<string, Buffer>();
  answer = keepIn(blobs);
  bed.journal.log.append("a", long);
  assert.equal(wholeIn(bed.journal), undefined);
  bed.wake();
  await bed.settled();
  const { sha256 } = wholeIn(bed.journal) as { sha256: string };
  assert.equal(blobs.get(sha256)!.toString(), JSON.stringify(long));
});

test("no quota, or a door that stays shut, costs the whole and not the log", async () => {
  await using bed = makeBed(500);
  answer = refuse(429, "quota_exceeded");
  bed.journal.log.append("a", long);
  bed.wake();
  await bed.settled();
  const size = JSON.stringify(long).length;
  assert.deepEqual(wholeIn(bed.journal), { size, omitted: "quota_exceeded" });
  bed.journal.log.applied([{ sessionId: "a", appliedSeq: 1 }]);
  answer = refuse(502, "bad_gateway");
  bed.journal.log.append("a", long);
  bed.wake();
  await bed.settled();
  assert.deepEqual(wholeIn(bed.journal), { size, omitted: "unreachable" });
});

test("a link that was lost meanwhile gives nothing up", async () => {
  await using bed = makeBed(300);
  answer = () => bed.setLink(undefined);
  bed.journal.log.append("a", long);
  bed.wake();
  await new Promise((resolve) => setTimeout(resolve, 600));
  assert.equal(bed.journal.blobs.pending().length, 1);
  const blobs = new Map<string, Buffer>();
  answer = keepIn(blobs);
  bed.setLink("later");
  bed.wake();
  await bed.settled();
  assert.ok("sha256" in wholeIn(bed.journal)!);
});
