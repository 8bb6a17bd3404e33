// What was done through exposures, as their records and the audit trail show it: counts for each address, without an
// entry for each request.
import { randomUUID } from "node:crypto";
import { formatId, parseId } from "@hawser/contract";
import { insertEntry } from "../audit/store.ts";
import type { SystemDatabase } from "../postgres/database.ts";
import { noteUse } from "./store.ts";
import type { ExposureUse } from "./open-exposure.ts";

/** The entries name the creator of the exposure, with whose key it acts. */
export function recordUse(
  database: Pick<SystemDatabase, "systemTransaction">,
  uses: ExposureUse[],
): Promise<void> {
  const byExposure = Map.groupBy(uses, ({ exposureId }) => exposureId);
  const admitted = [...byExposure.values()].map((all) => all.some(wasAdmitted));
  const ids = [...byExposure.keys()].map((id) => parseId("exposure", id)!);
  return database.systemTransaction(async (tx) => {
    const rows = await tx.rows(noteUse, ids, admitted);
    const creators = new Map(rows.map((row) => [formatId("exposure", row.exposure_id), row]));
    for (const { organizationId, lastUsedAt: _lastUsedAt, ...input } of uses) {
      const { api_key_id = null, created_by } = creators.get(input.exposureId) ?? {};
      const userId = created_by?.type === "user" ? parseId("user", created_by.id)! : null;
      const who = [parseId("organization", organizationId)!, api_key_id, userId, null] as const;
      const outcome = wasAdmitted(input) ? "ok" : "unauthenticated";
      tx.later(insertEntry, ...who, "use_exposure", outcome, input, {}, randomUUID(), null);
    }
  });
}

/** A stream that stays open moves bytes without a new request. */
function wasAdmitted({
  requests,
  bytesIn,
  bytesOut,
}: Pick<ExposureUse, "requests" | "bytesIn" | "bytesOut">): boolean {
  return requests + bytesIn + bytesOut > 0;
}
