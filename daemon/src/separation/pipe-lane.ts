// Blobs of a worker. Only the front has the host's key, so it transfers them: the bytes go through the pipe in
// pieces, and wait in a file of the front.
import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createReadStream, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { join } from "node:path";
import { largestBlob } from "@hawser/host-protocol";
import { BlobRefused, type BlobLane, type Patience } from "../blobs/lane.ts";
import type { Handlers, Pipe } from "./pipe.ts";

const pieceBytes = 512 * 1024;
/** Transfers of one worker at once. */
const mostOpen = 8;
const longestMs = 3600_000;

/** The front answers a moment after its own deadline. */
const graceMs = 5_000;

interface Piece {
  id: string;
  offset: number;
}

/** The worker's side. */
export function createPipeLane(pipe: Pick<Pipe, "call">): BlobLane {
  let running = 0;
  const freed = new EventEmitter();
  freed.setMaxListeners(0);
  const hasRoom = () => running < mostOpen;

  /** Waits for its turn. Closes the transfer when the work is done, or as soon as it is given up. */
  async function transfer<Value>(
    signal: AbortSignal,
    work: (id: string) => Promise<Value>,
  ): Promise<Value> {
    while (!hasRoom()) await once(freed, "one", { signal });
    signal.throwIfAborted();
    const id = randomUUID();
    const close = () => pipe.call("blob_close", { id }).catch(() => {});
    const abort = () => void close();
    signal.addEventListener("abort", abort);
    running += 1;
    try {
      return await work(id);
    } finally {
      signal.removeEventListener("abort", abort);
      await close();
      running -= 1;
      freed.emit("one");
    }
  }

  return {
    async put(source, { deadlineMs, signal }) {
      return transfer(signal, async (id) => {
        await pipe.call("put_open", { id });
        let offset = 0;
        const bytes =
          typeof source === "string"
            ? createReadStream(source, { highWaterMark: pieceBytes, signal })
            : piecesOf(source);
        for await (const piece of bytes as AsyncIterable<Buffer>) {
          await pipe.call("put_piece", { id, offset, data: piece.toString("base64") });
          offset += piece.length;
        }
        const put = await pipe.call("put_end", { id, deadlineMs }, deadlineMs + graceMs);
        return put as { sha256: string; size: number };
      });
    },
    async get(sha256, path, { deadlineMs, signal }) {
      const part = `${path}.part`;
      return transfer(signal, async (id) => {
        const opened = await pipe.call(
          "get_open",
          { id, sha256, deadlineMs },
          deadlineMs + graceMs,
        );
        const { size } = opened as { size: number };
        try {
          const file = await open(part, "w", 0o600);
          try {
            for (let offset = 0; offset < size;) {
              signal.throwIfAborted();
              const data = (await pipe.call("get_piece", { id, offset })) as string;
              const piece = Buffer.from(data, "base64");
              if (piece.length === 0) throw new Error("The blob ended too early.");
              await file.write(piece);
              offset += piece.length;
            }
            await file.sync();
          } finally {
            await file.close();
          }
          await rename(part, path);
          return { size };
        } finally {
          rmSync(part, { force: true });
        }
      });
    },
  };
}

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

/** The front's side, for one worker. Its files are below `directory`. The worker chooses the ids, so they name no file. */
export function blobHandlers(lane: BlobLane, directory: string): Handlers & { end: () => void } {
  const transfers = new Map<string, { file: string; closed: AbortController }>();
  // A front that was killed has removed nothing.
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true, mode: 0o700 });

  function add(id: string) {
    if (transfers.size >= mostOpen) throw new Error("There are too many transfers at once.");
    if (typeof id !== "string" || transfers.has(id)) throw new Error("This is no new transfer.");
    const transfer = { file: join(directory, randomUUID()), closed: new AbortController() };
    transfers.set(id, transfer);
    return transfer;
  }

  function find(id: string) {
    const transfer = transfers.get(id);
    if (!transfer) throw new Error("There is no such transfer.");
    return transfer;
  }

  function close(id: string): void {
    const transfer = transfers.get(id);
    transfers.delete(id);
    transfer?.closed.abort();
    if (transfer) rmSync(transfer.file, { force: true });
  }

  return {
    put_open({ id }: Piece) {
      writeFileSync(add(id).file, "", { mode: 0o600 });
    },
    async put_piece({ id, offset, data }: Piece & { data: unknown }) {
      checkOffset(offset);
      if (typeof data !== "string") throw new Error("These are no bytes.");
      const bytes = Buffer.from(data, "base64");
      if (offset + bytes.length > largestBlob) throw tooLarge();
      const file = await open(find(id).file, "r+");
      try {
        await file.write(bytes, 0, bytes.length, offset);
      } finally {
        await file.close();
      }
    },
    put_end({ id, deadlineMs }: Piece & { deadlineMs: number }) {
      const { file, closed } = find(id);
      return lane.put(file, patience(deadlineMs, closed.signal));
    },
    async get_open({ id, sha256, deadlineMs }: Piece & { sha256: string; deadlineMs: number }) {
      // The name becomes a part of an address.
      if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error("This is no name of a blob.");
      const { file, closed } = add(id);
      try {
        const { size } = await lane.get(sha256, file, patience(deadlineMs, closed.signal));
        // The transfer was closed while the last bytes were written.
        if (closed.signal.aborted) rmSync(file, { force: true });
        return { size };
      } catch (error) {
        close(id);
        throw error;
      }
    },
    async get_piece({ id, offset }: Piece) {
      checkOffset(offset);
      const file = await open(find(id).file, "r");
      try {
        const piece = Buffer.alloc(pieceBytes);
        const { bytesRead } = await file.read(piece, 0, pieceBytes, offset);
        return piece.subarray(0, bytesRead).toString("base64");
      } finally {
        await file.close();
      }
    },
    blob_close: ({ id }: Piece) => close(id),
    end() {
      for (const id of transfers.keys()) close(id);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const tooLarge = () => new BlobRefused("payload_too_large", "A blob has at most 64 MiB.");

function checkOffset(offset: number): void {
  if (!Number.isSafeInteger(offset) || offset < 0) throw new Error("This is no place in a blob.");
}

const patience = (deadlineMs: number, signal: AbortSignal): Patience => ({
  deadlineMs: Math.min(Math.max(Math.round(deadlineMs) || 0, 0), longestMs),
  signal,
});
