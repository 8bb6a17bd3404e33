// Pairing tokens: made for a caller, shown once, good for 15 minutes of database time. Only their hash
// is stored. host-identity.ts redeems them.
import { hashSecret, makeSecretText } from "../access/secret-text.ts";
import type { TenantTransaction } from "../postgres/database.ts";
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
    // In the environment, where other users of the host cannot see it; arguments anyone can list.
    installCommand: `curl -fsSL ${baseUrl}/install.sh | HAWSER_TOKEN=${pairingToken} sh`,
    pairingTokenExpiresAt: row!.expires_at,
  };
}
