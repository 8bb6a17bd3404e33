// Pairing tokens: made for a caller, shown once, redeemed by one host within 15 minutes of database
// time. Only their hash is stored.
import { formatId, notFound } from "@hawser/contract";
import { hashSecret, looksLikeSecret, makeSecretText } from "../access/secret-text.ts";
import { insertEntry } from "../audit/store.ts";
import type { Database, TenantTransaction } from "../postgres/database.ts";
import * as store from "./store.ts";

export interface Pairing {
  pairingToken: string;
  installCommand: string;
  pairingTokenExpiresAt: string;
}

/** Makes the instance's only valid token; a former one stops working in the same transaction. */
export async function issuePairingToken(
  sql: TenantTransaction,
  baseUrl: string,
  instanceId: string,
): Promise<Pairing> {
  const pairingToken = makeSecretText("hwp");
  sql.later(store.revokePairingTokens, sql.organizationId, instanceId);
  const row = await sql.first(
    store.insertPairingToken,
    sql.organizationId,
    instanceId,
    hashSecret(pairingToken),
  );
  return {
    pairingToken,
    installCommand: `curl -fsSL ${baseUrl}/install.sh | sh -s -- --token ${pairingToken}`,
    pairingTokenExpiresAt: row!.expires_at,
  };
}

/** Redeems a token for the one host that gets to use it. Every try is in the audit trail of the token's organization. */
export async function redeemPairingToken(
  database: Database,
  token: string,
  callId: string,
): Promise<{ organizationId: string; instanceId: string }> {
  const refusal = notFound("valid pairing token");
  if (!looksLikeSecret("hwp", token)) throw refusal;
  const hash = hashSecret(token);
  const redeemed = await database.systemTransaction(async (tx) => {
    const won = await tx.first(store.redeemPairingToken, hash);
    const owner = won ?? (await tx.first(store.selectTokenOwner, hash));
    if (!owner) return undefined;
    const refused = "refused" in owner ? { refused: owner.refused } : {};
    const input = { instanceId: formatId("instance", owner.instance_id), ...refused };
    const outcome = won ? "done" : "not_found";
    tx.later(
      insertEntry,
      owner.organization_id,
      null,
      null,
      null,
      "pair_host",
      outcome,
      input,
      {},
      callId,
    );
    return won;
  });
  if (!redeemed) throw refusal;
  return { organizationId: redeemed.organization_id, instanceId: redeemed.instance_id };
}
