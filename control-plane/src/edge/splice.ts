// Connects two sockets: the bytes of each are written to the other, with backpressure, and both end
// together.
import type { Socket } from "node:net";

/** How long one side may take to send its last bytes after the other has closed. */
const lingerMs = 5_000;

/** Calls `ended` once both are closed. Returns a function that ends both. */
export function splice(one: Socket, other: Socket, ended: () => void): () => void {
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
  return () => {
    one.end();
    other.end();
    limit();
  };
}
