// An exposure as callers see it.
import { formatId, type ExposureRecord } from "@hawser/contract";
import type { ExposureRow } from "./store.ts";

export function exposureRecord(row: ExposureRow): ExposureRecord {
  return {
    exposureId: formatId("exposure", row.exposure_id),
    instanceId: formatId("instance", row.instance_id),
    scope: row.session_id === null ? "instance" : "session",
    sessionId: row.session_id && formatId("session", row.session_id),
    port: row.preview_port,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
  };
}
