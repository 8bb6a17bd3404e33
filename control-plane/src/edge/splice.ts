// Two sockets made one: what comes in at either goes out at the other, no faster than it is taken,
// and they end together.
import type { Socket } from "node:net";

/** How long one side may take to send its last bytes once the other has gone. */
const lingerMs = 5_000;

/** Calls `ended` once both are closed. Gives a function that ends both. */
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
    // Backpressure is pipe's: it stops reading while the other side's buffer is full.
    from.pipe(to);
    from.on("error", () => {}); // "close" follows, and says all there is to say
    from.once("end", limit);
    from.once("close", () => {
      to.unpipe(from);
      // Reading on what nobody takes any more lets the end of it be seen.
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
