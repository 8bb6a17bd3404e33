// Pairing tokens: created for a caller, shown once, valid for 15 minutes of database time. Only their
// hash is stored. host-identity.ts redeems them.
import { hashSecret, makeSecretText, secretPrefixes } from "../access/secret-text.ts";
import type { TenantTransaction } from "../postgres/database.ts";
import * as store from "./store.ts";

export interface Pairing {
  pairingToken: string;
  installCommand: string;
  pairingTokenExpiresAt: string;
}

/** Creates the instance's only valid token; an earlier one stops working in the same transaction. */
export async function issuePairingToken(
  sql: TenantTransaction,
  baseUrl: string,
  instanceId: string,
): Promise<Pairing> {
  const pairingToken = makeSecretText(secretPrefixes.pairingToken);
  sql.later(store.revokePairingTokens, sql.organizationId, instanceId);
  const row = await sql.first(
    store.insertPairingToken,
    sql.organizationId,
    instanceId,
    hashSecret(pairingToken),
  );
  return {
    pairingToken,
    // The token is an environment variable, which other users of the host cannot see; everyone can list
    // arguments.
    installCommand: `curl -fsSL ${baseUrl}/install.sh | HAWSER_TOKEN=${pairingToken} sh`,
    pairingTokenExpiresAt: row!.expires_at,
  };
}
