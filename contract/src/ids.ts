// Ids. Stored as UUIDv7, shown as a prefix that names the record, and 26 characters of base32. Ids are
// opaque to callers: every id field accepts any string, and a string that names no record is answered
// as not found.
import { z } from "zod";

/** The prefix of each record's ids. */
export const idPrefixes = {
  organization: "org",
  user: "usr",
  apiKey: "key",
  instance: "ins",
  session: "ses",
  request: "req",
  schedule: "sch",
  trigger: "trg",
  run: "run",
  exposure: "exp",
  login: "log",
  audit: "aud",
  file: "fil",
  webhook: "whk",
  delivery: "dlv",
  invitation: "inv",
  signIn: "sgn",
} as const;

export type IdKind = keyof typeof idPrefixes;

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const digits = new Map([...alphabet].map((letter, value) => [letter, value]));

/** Converts a stored UUID to the id that callers see. Runs for every id of every listed row, so no BigInt. */
export function formatId(kind: IdKind, uuid: string): string {
  let text = `${idPrefixes[kind]}_`;
  // With two leading zero bits, 128 bits fill 26 letters of 5 bits.
  let pending = 0;
  let bits = 2;
  for (let i = 0; i < uuid.length; i++) {
    const nibble = hexValue(uuid.charCodeAt(i));
    if (nibble < 0) continue;
    pending = (pending << 4) | nibble;
    bits += 4;
    if (bits >= 5) {
      bits -= 5;
      text += alphabet.charAt(pending >> bits);
      pending &= (1 << bits) - 1;
    }
  }
  return text;
}

function hexValue(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  if (code >= 97 && code <= 102) return code - 87;
  return -1;
}

/** Converts an id to the stored UUID; null if the text is no id of this kind of record. */
export function parseId(kind: IdKind, text: string): string | null {
  const prefix = `${idPrefixes[kind]}_`;
  if (text.length !== prefix.length + 26 || !text.startsWith(prefix)) return null;
  let hex = "";
  let pending = 0;
  let bits = 0;
  for (let i = prefix.length; i < text.length; i++) {
    const digit = digits.get(text.charAt(i));
    if (digit === undefined) return null;
    pending = (pending << 5) | digit;
    bits += 5;
    if (i === prefix.length) {
      // The first letter holds two zero bits and the first three of the 128.
      if (digit > 7) return null;
      bits = 3;
    }
    while (bits >= 4) {
      bits -= 4;
      hex += (pending >> bits).toString(16);
      pending &= (1 << bits) - 1;
    }
  }
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** An id in an action's body or result, and where a caller gets it from. */
const id = (kind: IdKind, description: string) => z.string().meta({ idOf: kind, description });

// The `idOf` mark lets tests find every field that names a record, in every action.
export const OrganizationId = id("organization", "From whoami.");
export const UserId = id("user", "From list_members.");
export const ApiKeyId = id("apiKey", "From list_api_keys.");
export const InstanceId = id("instance", "From list_instances.");
export const SessionId = id("session", "From list_sessions.");
export const RequestId = id("request", "From list_pending_requests.");
export const ScheduleId = id("schedule", "From list_scheduled_prompts.");
export const TriggerId = id("trigger", "From list_triggers.");
export const RunId = id("run", "From list_schedule_runs.");
export const ExposureId = id("exposure", "From list_exposures.");
export const LoginId = id("login", "From start_agent_login.");
export const AuditId = id("audit", "From list_audit_entries.");
export const WebhookId = id("webhook", "From list_webhooks.");
export const InvitationId = id("invitation", "From list_invitations.");
export const SignInId = id("signIn", "From list_sign_ins.");
export const DeliveryId = id("delivery", "From list_webhook_deliveries.");
