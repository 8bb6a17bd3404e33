// Converts a session's row to the record that callers see.
import {
  formatId,
  type Continuation,
  type SessionRecord,
  type UserReference,
} from "@hawser/contract";
import { sessionListEntry } from "./listing.ts";
import type { SessionRow } from "./store.ts";

export function sessionRecord(row: SessionRow): SessionRecord;
export function sessionRecord(row: SessionRow | undefined): SessionRecord | undefined;
export function sessionRecord(row: SessionRow | undefined): SessionRecord | undefined {
  if (!row) return undefined;
  const { mode, model, usage, capabilities, fallback, trusted_parts: trustedParts } = row;
  return {
    ...sessionListEntry(row),
    mode,
    model,
    usage,
    capabilities,
    fallback,
    trustedParts,
    accountOf: accountOf(row),
    sharedWith: sharedWith(row),
    continuation: continuationOf(row),
  };
}

/** Whose agent account a session uses; null: the host's own. */
function accountOf({ account_user_id, account_user_name }: SessionRow): UserReference | null {
  if (account_user_id === null) return null;
  const name = account_user_name ?? "former member";
  return { userId: formatId("user", account_user_id), name };
}

const sharedWith = ({ shared_with }: SessionRow): UserReference[] | null =>
  shared_with &&
  shared_with.map(({ user_id, name }) => ({ userId: formatId("user", user_id), name }));

function continuationOf({ continuation }: SessionRow): Continuation | null {
  if (!continuation) return null;
  const { turnId, forkId, problem } = continuation;
  return { turnId, sessionId: forkId && formatId("session", forkId), problem };
}
