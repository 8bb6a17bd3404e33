// The SQL of programs that wait for a key which a person approves. All of it runs as hawser_sign_in.
import { systemStatement } from "../postgres/statement.ts";

/** $1 hash of the program's secret, $2 hash of the code, $3 name, $4 seconds. No row if the code is in use. */
export const insertDeviceLogin = systemStatement<{ expires_at: string }>(
  "record that a program asks for a key",
  `INSERT INTO sign_in.device_logins (secret_hash, code_hash, name, expires_at)
   VALUES ($1, $2, $3, hawser_now() + make_interval(secs => $4))
   ON CONFLICT (code_hash) DO NOTHING RETURNING expires_at`,
);

export interface DeviceLoginRow {
  name: string;
  created_at: string;
  expires_at: string;
}

const isOpen = `approved_by IS NULL AND refused_at IS NULL AND expires_at > hawser_now()`;

/** $1 hash of the code. No row if the program does not wait, or has its answer. */
export const selectOpenDeviceLogin = systemStatement<DeviceLoginRow>(
  "show which program asks for a key",
  `SELECT name, created_at, expires_at FROM sign_in.device_logins WHERE code_hash = $1 AND ${isOpen}`,
);

/** $2 hash of the cookie, $3 organization. */
export const approveDeviceLogin = systemStatement<DeviceLoginRow>(
  "let a program have a key",
  `UPDATE sign_in.device_logins SET approved_by = $2, organization_id = $3
    WHERE code_hash = $1 AND ${isOpen} RETURNING name, created_at, expires_at`,
);

export const refuseDeviceLogin = systemStatement<DeviceLoginRow>(
  "let a program have no key",
  `UPDATE sign_in.device_logins SET refused_at = hawser_now()
    WHERE code_hash = $1 AND ${isOpen} RETURNING name, created_at, expires_at`,
);

export interface AskedRow {
  state: "over" | "refused" | "approved" | "too_soon" | "waiting";
  name: string;
  approved_by: Buffer | null;
  organization_id: string | null;
}

/** $1 hash of the program's secret, $2 milliseconds that it has to pause. Locks the row: one program gets the key. */
export const lockDeviceLogin = systemStatement<AskedRow>(
  "find out whether a program may have its key",
  `SELECT name, approved_by, organization_id,
          CASE WHEN fetched_at IS NOT NULL OR expires_at <= hawser_now() THEN 'over'
               WHEN refused_at IS NOT NULL THEN 'refused'
               WHEN approved_by IS NOT NULL THEN 'approved'
               WHEN asked_at > hawser_now() - make_interval(secs => $2::int / 1000.0) THEN 'too_soon'
               ELSE 'waiting' END AS state
     FROM sign_in.device_logins WHERE secret_hash = $1 FOR UPDATE`,
);

/** $2: whether the program gets its key with this answer. */
export const noteAsked = systemStatement(
  "record that a program asked for its key",
  `UPDATE sign_in.device_logins
      SET asked_at = hawser_now(), fetched_at = CASE WHEN $2::boolean THEN hawser_now() END
    WHERE secret_hash = $1`,
);

/** At most 1,000; no row if none is left. */
export const deleteOldDeviceLogins = systemStatement<{ secret_hash: Buffer }>(
  "delete what programs have waited for",
  `DELETE FROM sign_in.device_logins
    WHERE secret_hash IN (
      SELECT secret_hash FROM sign_in.device_logins
       WHERE expires_at < hawser_now() ORDER BY expires_at LIMIT 1000)
   RETURNING secret_hash`,
);
