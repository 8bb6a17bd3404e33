// Ids of messages as opencode makes them: they sort by time, in steps of a 4096th of a millisecond. Ours
// end in a hash of our own message's id.
import { createHash } from "node:crypto";

const steps = 0x1000n;
const bits = (1n << 48n) - 1n;
let last = 0n;

export function messageIdFor(ownId: string, now = Date.now()): string {
  const at = BigInt(now) * steps + 1n;
  last = at > last ? at : last + 1n;
  const time = (last & bits).toString(16).padStart(12, "0");
  return `msg_${time}${hashOf(ownId)}`;
}

/** Whether opencode's id was made for our message, at whatever time. */
export const isIdFor = (ownId: string, id: string): boolean =>
  /^msg_[0-9a-f]{26}$/.test(id) && id.endsWith(hashOf(ownId));

const hashOf = (ownId: string) => createHash("sha256").update(ownId).digest("hex").slice(0, 14);
