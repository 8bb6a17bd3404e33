// Converts a session's row to the record that callers see.
import type { SessionRecord } from "@hawser/contract";
import { sessionListEntry } from "./listing.ts";
import type { SessionRow } from "./store.ts";

export function sessionRecord(row: SessionRow): SessionRecord;
export function sessionRecord(row: SessionRow | undefined): SessionRecord | undefined;
export function sessionRecord(row: SessionRow | undefined): SessionRecord | undefined {
  if (!row) return undefined;
  const { mode, model, usage, capabilities, fallback, trusted_parts: trustedParts } = row;
  return { ...sessionListEntry(row), mode, model, usage, capabilities, fallback, trustedParts };
}
