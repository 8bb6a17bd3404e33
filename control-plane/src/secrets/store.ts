// The SQL of stored secrets. They belong to the service, not to an organization.
import { systemStatement } from "../postgres/statement.ts";

export const insertSecret = systemStatement<{ name: string }>(
  "store an encrypted secret",
  `INSERT INTO secrets (name, wrapped) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING name`,
);

export const selectSecret = systemStatement<{ wrapped: Buffer }>(
  "read an encrypted secret",
  `SELECT wrapped FROM secrets WHERE name = $1`,
);

export const lockSecret = systemStatement<{ wrapped: Buffer }>(
  "lock an encrypted secret that is replaced",
  `SELECT wrapped FROM secrets WHERE name = $1 FOR UPDATE`,
);

export const updateSecret = systemStatement(
  "replace an encrypted secret",
  `UPDATE secrets SET wrapped = $2 WHERE name = $1`,
);
