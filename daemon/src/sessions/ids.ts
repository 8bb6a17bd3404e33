// Ids that a host makes: for turns, messages, requests and shell commands. They begin with the time, so
// they sort in the order in which they were made.
import { randomBytes } from "node:crypto";
import { formatId } from "@hawser/contract";

/** A UUID of version 7. */
function makeUuid(now: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(now, 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export const makeRequestId = (now: number): string => formatId("request", makeUuid(now));

// The contract has no records for turns, messages and shell commands; their ids look like the others.
const withPrefix = (prefix: string, now: number) => makeRequestId(now).replace(/^[a-z]+/, prefix);
export const makeTurnId = (now: number): string => withPrefix("trn", now);
export const makeShellId = (now: number): string => withPrefix("shl", now);
export const makeMessageId = (now: number): string => withPrefix("msg", now);
