// Which exposures give access at this moment. An exposure acts with the key of its creator: it ends when the key does,
// or when the key may not edit sessions any more.
import { formatId, parseId, type SessionMode } from "@hawser/contract";
import type { Authenticator } from "../access/authenticate.ts";
import { actorOf } from "../dispatch/caller.ts";
import type { SystemSql } from "../postgres/statement.ts";
import * as store from "./store.ts";
import type { OpenExposure } from "./open-exposure.ts";

interface TunnelTerms {
  actor: { type: string; id: string };
  highestMode: SessionMode;
}

export interface ExposureAccess {
  /** Undefined if the exposure gives no access. */
  find(exposureId: string): Promise<OpenExposure | undefined>;
  /** Returns the exposures that give access. Revokes an exposure whose creator has lost the permission. */
  stillGood(exposureIds: string[]): Promise<Set<string>>;
  /** For whom a tunnel is opened, and the widest mode of its prompts. Undefined if it gives no access. */
  termsOf(exposureId: string): Promise<TunnelTerms | undefined>;
}

export function createExposureAccess(
  system: SystemSql,
  callerOfKey: Authenticator["callerOfKey"],
): ExposureAccess {
  async function readOpen(exposureIds: string[]) {
    const ids = exposureIds.map((id) => parseId("exposure", id)).filter((id) => id !== undefined);
    const rows = ids.length === 0 ? [] : await system.rows(store.selectOpen, ids);
    const creators = new Map<string, ReturnType<typeof callerOfKey>>();
    for (const { organization_id, api_key_id } of rows) {
      if (creators.has(api_key_id)) continue;
      creators.set(api_key_id, callerOfKey(organization_id, api_key_id));
    }
    const open = [];
    const lost = [];
    for (const row of rows) {
      const creator = await creators.get(row.api_key_id);
      if (creator?.permissions.has("sessions:edit")) open.push({ row, creator });
      else lost.push(row.exposure_id);
    }
    if (lost.length > 0) await system.rows(store.revokeWithoutRight, lost);
    return open;
  }

  return {
    async find(exposureId) {
      const [open] = await readOpen([exposureId]);
      return open && openExposure(open.row);
    },
    async stillGood(exposureIds) {
      const open = await readOpen(exposureIds);
      return new Set(open.map(({ row }) => formatId("exposure", row.exposure_id)));
    },
    async termsOf(exposureId) {
      const [open] = await readOpen([exposureId]);
      return open && { actor: actorOf(open.creator), highestMode: open.row.highest_mode };
    },
  };
}

function openExposure(row: store.OpenExposureRow): OpenExposure {
  return {
    exposureId: formatId("exposure", row.exposure_id),
    organizationId: formatId("organization", row.organization_id),
    instanceId: formatId("instance", row.instance_id),
    scope: row.session_id === null ? "instance" : "session",
    sessionId: row.session_id && formatId("session", row.session_id),
    passwordHash: row.password_hash,
    expiresAt: Date.parse(row.expires_at),
    port: row.port,
  };
}
