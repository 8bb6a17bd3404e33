// Creating API keys. The text of a key exists only here and in the answer to its creator.
import {
  formatId,
  type ApiKeyRecord,
  type Caller as CallerReference,
  type Permission,
} from "@hawser/contract";
import { idPrefixes } from "@hawser/contract";
import type { Caller } from "../dispatch/caller.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { hashSecret, makeSecretText, secretPrefixes } from "./secret-text.ts";
import { insertApiKey, newId, type ApiKeyRow } from "./store.ts";

export interface NewApiKey {
  organizationId: string;
  name: string;
  userId: string | null;
  sessionId: string | null;
  permissions: readonly Permission[];
  createdBy: CallerReference | null;
  /** Null for bootstrap. */
  creator: Pick<Caller, "userId" | "apiKeyId"> | null;
  expiresAt: string | null;
}

export async function makeApiKey(
  sql: SystemSql,
  wanted: NewApiKey,
): Promise<{ apiKey: ApiKeyRecord; key: string }> {
  const { id } = (await sql.first(newId))!;
  // The id in the key lets its owner find it in listings, and lets support name it.
  const shownId = formatId("apiKey", id).slice(idPrefixes.apiKey.length + 1);
  const { creator } = wanted;
  const key = makeSecretText(`${secretPrefixes.apiKey}_${shownId}`);
  const row = await sql.first(
    insertApiKey,
    wanted.organizationId,
    id,
    wanted.name,
    hashSecret(key),
    wanted.userId,
    wanted.sessionId,
    wanted.permissions,
    wanted.createdBy,
    wanted.expiresAt,
    creator?.userId ?? null,
    creator?.apiKeyId ?? null,
  );
  return { apiKey: apiKeyRecord(row!), key };
}

export function apiKeyRecord(row: ApiKeyRow): ApiKeyRecord {
  return {
    apiKeyId: formatId("apiKey", row.api_key_id),
    name: row.name,
    scope: row.session_id ? "agent" : row.user_id ? "user" : "organization",
    user: row.user_id && {
      userId: formatId("user", row.user_id),
      name: row.user_name ?? "former member",
    },
    sessionId: row.session_id && formatId("session", row.session_id),
    permissions: row.permissions,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  } as ApiKeyRecord;
}
