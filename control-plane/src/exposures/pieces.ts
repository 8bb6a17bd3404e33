// Passes bytes from one stream to another, and bounds how many pieces wait. Streams count the bytes that wait, but each
// piece costs some hundred bytes more: a sender of single bytes would fill the memory of a node, within all its limits
// of bytes.
import type { Readable, Writable } from "node:stream";

/** A queue that ordinary writing fills has a few dozen. */
export const mostPieces = 4_096;
/** Pieces below this size are joined with what arrives together with them. */
const smallPiece = 1_024;

/** Counts one more piece for a queue that holds so many bytes. Returns whether it is one too many. */
function createCount(bytes: () => number): () => boolean {
  let pieces = 0;
  return () => {
    // There are no more pieces than bytes.
    pieces = Math.min(pieces, bytes()) + 1;
    return pieces > mostPieces;
  };
}

/** Calls back when too many pieces have arrived that are not read. Begin before the first one arrives. */
export function limitUnread(stream: Readable, refuse: () => void): void {
  const isTooMany = createCount(() => stream.readableLength);
  const push = stream.push.bind(stream);
  stream.push = (...piece) => {
    if (isTooMany()) refuse();
    return push(...piece);
  };
}

/** Pipes, and calls back when too many pieces were written that are not sent. */
export function passOn(from: Readable, to: Writable, refuse: () => void): void {
  const isTooMany = createCount(() => to.writableLength);
  let joined: Buffer[] = [];

  function write(piece: Buffer): void {
    if (to.destroyed || to.writableEnded) return;
    if (isTooMany()) return refuse();
    if (!to.write(piece)) from.pause();
  }

  function flush(): void {
    if (joined.length === 0) return;
    const piece = Buffer.concat(joined);
    joined = [];
    write(piece);
  }

  from.on("data", (piece: Buffer) => {
    if (joined.length === 0 && piece.length >= smallPiece) return write(piece);
    if (joined.push(piece) === 1) process.nextTick(flush);
  });
  to.on("drain", () => from.resume());
  from.once("end", () => {
    flush();
    if (!to.destroyed && !to.writableEnded) to.end();
  });
}
