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
