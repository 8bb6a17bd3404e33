// The SQL of stored secrets. They belong to the service, not to an organization.
import { systemStatement } from "../postgres/statement.ts";

export interface StoredSecret {
  name: string;
  wrapped: Buffer;
  /** null if it was stored before the id was. */
  master_key_id: string | null;
}

export const insertSecret = systemStatement<{ name: string }>(
  "store an encrypted secret",
  `INSERT INTO secrets (name, wrapped, master_key_id) VALUES ($1, $2, $3)
   ON CONFLICT (name) DO NOTHING RETURNING name`,
);

export const selectSecret = systemStatement<StoredSecret>(
  "read an encrypted secret",
  `SELECT name, wrapped, master_key_id FROM secrets WHERE name = $1`,
);

export const lockSecret = systemStatement<StoredSecret>(
  "lock an encrypted secret that is replaced",
  `SELECT name, wrapped, master_key_id FROM secrets WHERE name = $1 FOR UPDATE`,
);

export const lockAllSecrets = systemStatement<StoredSecret>(
  "lock the encrypted secrets while the master key is replaced",
  `SELECT name, wrapped, master_key_id FROM secrets ORDER BY name FOR UPDATE`,
);

export const updateSecret = systemStatement(
  "replace an encrypted secret",
  `UPDATE secrets SET wrapped = $2, master_key_id = $3 WHERE name = $1`,
);
