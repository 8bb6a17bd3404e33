// Which exposures give access at this moment. An exposure acts with the key of its creator: it ends when the key does,
// or when the key may not edit sessions any more.
import { formatId, parseId, type SessionMode } from "@hawser/contract";
import type { ExposureScope } from "@hawser/host-protocol";
import type { Authenticator } from "../access/authenticate.ts";
import { actorOf, type Caller } from "../dispatch/caller.ts";
import type { Log } from "../log.ts";
import type { SystemSql } from "../postgres/statement.ts";
import * as store from "./store.ts";
import type { OpenExposure } from "./open-exposure.ts";

interface TunnelTerms {
  actor: { type: string; id: string };
  highestMode: SessionMode;
}

export interface ExposureAccess {
  /** Undefined if the exposure has ended. Its creator may have lost the permission: see `mayUse`. */
  find(exposureId: string): Promise<OpenExposure | undefined>;
  /** Whether the creator of an exposure that was found has the permission. */
  mayUse(exposure: OpenExposure): Promise<boolean>;
  /** Returns the exposures that give access. Revokes an exposure whose creator has lost the permission. */
  stillGood(exposureIds: string[]): Promise<Set<string>>;
  /** For whom a tunnel is opened, and the widest mode of its prompts. Undefined if it gives no access. */
  termsOf(exposureId: string): Promise<TunnelTerms | undefined>;
}

export function createExposureAccess(
  system: SystemSql,
  callersOfKeys: Authenticator["callersOfKeys"],
  log: Log,
): ExposureAccess {
  async function readRows(exposureIds: string[]) {
    const ids = exposureIds.map((id) => parseId("exposure", id)).filter((id) => id !== undefined);
    return ids.length === 0 ? [] : system.rows(store.selectOpen, ids);
  }

  /** Returns the exposures whose creator has the permission, each with its creator. */
  async function judge(rows: store.OpenExposureRow[]) {
    const keys = new Map(rows.map((row) => [row.api_key_id, row.organization_id]));
    const creators = await callersOfKeys(
      [...keys].map(([apiKeyId, organizationId]) => ({ apiKeyId, organizationId })),
    );
    const open = [];
    const lost = [];
    for (const row of rows) {
      const creator = creators.get(row.api_key_id);
      if (creator && isAllowed(creator)) open.push({ row, creator });
      else lost.push(row.exposure_id);
    }
    if (lost.length > 0) void revoke(lost);
    return open;
  }

  /** What was read decides. Nothing waits for this record of it, which the next check repeats if it fails. */
  async function revoke(lost: string[]): Promise<void> {
    try {
      await system.rows(store.revokeWithoutRight, lost.toSorted());
    } catch (error) {
      log.warn({ err: error }, "exposures of a key without the permission were not revoked");
    }
  }

  return {
    async find(exposureId) {
      const [row] = await readRows([exposureId]);
      return row && openExposure(row);
    },
    async mayUse({ exposureId, organizationId, apiKeyId }) {
      const key = {
        organizationId: parseId("organization", organizationId)!,
        apiKeyId: parseId("apiKey", apiKeyId)!,
      };
      const creator = (await callersOfKeys([key])).get(key.apiKeyId);
      if (creator && isAllowed(creator)) return true;
      void revoke([parseId("exposure", exposureId)!]);
      return false;
    },
    async stillGood(exposureIds) {
      const open = await judge(await readRows(exposureIds));
      return new Set(open.map(({ row }) => formatId("exposure", row.exposure_id)));
    },
    async termsOf(exposureId) {
      const [open] = await judge(await readRows([exposureId]));
      return open && { actor: actorOf(open.creator), highestMode: open.row.highest_mode };
    },
  };
}

const isAllowed = ({ permissions }: Caller) => permissions.has("sessions:edit");

function openExposure(row: store.OpenExposureRow): OpenExposure {
  return {
    exposureId: formatId("exposure", row.exposure_id),
    organizationId: formatId("organization", row.organization_id),
    apiKeyId: formatId("apiKey", row.api_key_id),
    instanceId: formatId("instance", row.instance_id),
    scope: scopeOf(row),
    passwordHash: row.password_hash,
    expiresAt: Date.parse(row.expires_at),
    port: row.port,
  };
}

function scopeOf({ session_id, preview_port }: store.OpenExposureRow): ExposureScope {
  if (session_id === null) return { kind: "instance" };
  const sessionId = formatId("session", session_id);
  return preview_port === null
    ? { kind: "session", sessionId }
    : { kind: "port", sessionId, port: preview_port };
}
