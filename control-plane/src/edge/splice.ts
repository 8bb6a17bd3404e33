// Connects two sockets: the bytes of each are written to the other, with backpressure, and both end
// together. The first can be held back to a speed.
import type { Socket } from "node:net";

/** How long one side may take to send its last bytes after the other has closed. */
const lingerMs = 5_000;

/**
 * Calls `ended` once both are closed. Returns a function that ends both. `received` is called with
 * each chunk that came from `one`, and returns for how long to read nothing more from it, in ms.
 */
export function splice(
  one: Socket,
  other: Socket,
  ended: () => void,
  received: (chunk: Buffer) => number,
): () => void {
  let open = 2;
  let linger: NodeJS.Timeout | undefined;

  const limit = () => {
    linger ??= setTimeout(() => {
      one.destroy();
      other.destroy();
    }, lingerMs);
  };

  const join = (from: Socket, to: Socket) => {
    // pipe handles backpressure: it stops reading while the other side's buffer is full.
    from.pipe(to);
    from.on("error", () => {}); // "close" follows, and is handled below
    from.once("end", limit);
    from.once("close", () => {
      to.unpipe(from);
      // Keep reading after the other side has closed, so that the end is seen.
      to.resume();
      to.end();
      limit();
      if (--open > 0) return;
      clearTimeout(linger);
      ended();
    });
  };
  join(one, other);
  join(other, one);
  one.on("data", (chunk: Buffer) => {
    const waitMs = received(chunk);
    if (waitMs === 0) return;
    // pipe has written the chunk, and stops reading when it is taken away.
    one.unpipe(other);
    setTimeout(() => {
      if (other.destroyed) one.resume();
      else one.pipe(other);
    }, waitMs);
  });
  return () => {
    one.end();
    other.end();
    limit();
  };
}
