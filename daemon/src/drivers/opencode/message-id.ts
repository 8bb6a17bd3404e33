// Message ids in opencode's format. They sort by time, in units of 1/4096 ms. Ids made here end with a hash
// of the Hawser message's id, so that the message can be found again.
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

/** Whether an id of opencode was made for this message of ours. */
export const isIdFor = (ownId: string, id: string): boolean =>
  /^msg_[0-9a-f]{26}$/.test(id) && id.endsWith(hashOf(ownId));

const hashOf = (ownId: string) => createHash("sha256").update(ownId).digest("hex").slice(0, 14);
