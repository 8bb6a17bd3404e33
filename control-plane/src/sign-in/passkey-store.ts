// The SQL of passkeys, and of the challenges that browsers have yet to answer.
import { systemStatement } from "../postgres/statement.ts";

export interface PasskeyRow {
  credential_id: string;
  user_id: string;
  public_key: Buffer;
  counter: number;
  transports: string[];
  device: string;
  created_at: string;
  last_used_at: string | null;
}

const passkeyColumns = `credential_id, user_id, public_key, counter, transports, device, created_at, last_used_at`;

/** $1 user. */
export const selectPasskeysOf = systemStatement<PasskeyRow>(
  "find a person's passkeys",
  `SELECT ${passkeyColumns} FROM sign_in.passkeys WHERE user_id = $1 ORDER BY created_at LIMIT 100`,
);

/** $1 id, as browsers name it. */
export const selectPasskey = systemStatement<PasskeyRow>(
  "find a passkey",
  `SELECT ${passkeyColumns} FROM sign_in.passkeys WHERE credential_id = $1`,
);

/** $7 the most that a person has. No row if that is reached, or if the passkey is known. */
export const insertPasskey = systemStatement<{ credential_id: string }>(
  "create a passkey",
  `INSERT INTO sign_in.passkeys (credential_id, user_id, public_key, counter, transports, device)
   SELECT $1, $2, $3, $4, $5, $6
    WHERE (SELECT count(*) FROM sign_in.passkeys WHERE user_id = $2) < $7
   ON CONFLICT (credential_id) DO NOTHING RETURNING credential_id`,
);

/** $2 the counter that was checked. No row if another sign-in has used the same: one of the two is a copy. */
export const usePasskey = systemStatement<{ credential_id: string }>(
  "record the use of a passkey",
  `UPDATE sign_in.passkeys SET counter = $3, last_used_at = hawser_now()
    WHERE credential_id = $1 AND counter = $2 RETURNING credential_id`,
);

/** $1 user. */
export const deletePasskey = systemStatement<{ credential_id: string }>(
  "delete a passkey",
  `DELETE FROM sign_in.passkeys WHERE user_id = $1 AND credential_id = $2 RETURNING credential_id`,
);

export type AttemptPurpose = "passkey" | "new_passkey";

/** $4 seconds in which it can be answered. */
export const insertAttempt = systemStatement(
  "create a challenge",
  `INSERT INTO sign_in.attempts (token_hash, purpose, data, expires_at)
   VALUES ($1, $2, $3, hawser_now() + make_interval(secs => $4))`,
);

/** No row if there is no such challenge, or if it was answered. */
export const takeAttempt = systemStatement<{ data: { challenge: string } }>(
  "answer a challenge once",
  `DELETE FROM sign_in.attempts
    WHERE token_hash = $1 AND purpose = $2 AND expires_at > hawser_now() RETURNING data`,
);

export const deleteOldAttempts = systemStatement(
  "delete challenges that nobody has answered",
  `DELETE FROM sign_in.attempts WHERE expires_at < hawser_now()`,
);
