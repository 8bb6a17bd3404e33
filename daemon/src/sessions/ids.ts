// Ids that a host makes: for turns, messages, requests and shell commands. They begin with the time, so
// they sort in the order in which they were made.
import { randomBytes } from "node:crypto";
import { formatId, parseId } from "@hawser/contract";

/** A UUID of version 7. */
function makeUuid(now: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(now, 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Digits of a UUID that name the database of its record, with the UUID's variant (decision 0045). */
const shardDigits = [19, 22] as const;

/** A request is stored in the database of its session, so its id has the same shard. */
export function makeRequestId(now: number, sessionId: string): string {
  const uuid = makeUuid(now);
  const shard = (parseId("session", sessionId) ?? uuid).slice(...shardDigits);
  return formatId("request", uuid.slice(0, shardDigits[0]) + shard + uuid.slice(shardDigits[1]));
}

// The contract has no records for turns, messages and shell commands; their ids look like the others.
const withPrefix = (prefix: string, now: number) =>
  formatId("request", makeUuid(now)).replace(/^[a-z]+/, prefix);
export const makeTurnId = (now: number): string => withPrefix("trn", now);
export const makeShellId = (now: number): string => withPrefix("shl", now);
export const makeMessageId = (now: number): string => withPrefix("msg", now);
