// The SQL of passkeys, and of the challenges that browsers have answered.
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

/** $1 user. */
export const deletePasskeysOf = systemStatement(
  "delete all passkeys of a person",
  `DELETE FROM sign_in.passkeys WHERE user_id = $1`,
);

/** $1 user. Lets the person's passkeys be removed one after the other. */
export const lockAccount = systemStatement<{ has_password: boolean }>(
  "let the passkeys of an account be removed one after the other",
  `SELECT password_hash IS NOT NULL AS has_password FROM sign_in.accounts WHERE user_id = $1 FOR UPDATE`,
);

/** $1 user. The organizations that require a provider, and that no other owner could enter if it fails. */
export const selectBreakGlassOf = systemStatement<{ name: string }>(
  "find the organizations that need a person's way to sign in",
  `SELECT o.name FROM memberships m
     JOIN sign_in_settings p ON p.organization_id = m.organization_id AND p.required
      AND m.user_id = ANY (p.except_user_ids)
     JOIN organizations o ON o.organization_id = m.organization_id
    WHERE m.user_id = $1 AND m.role = 'owner' AND m.sign_in_key IS NOT NULL
      AND NOT EXISTS (
        SELECT FROM memberships e
         WHERE e.organization_id = m.organization_id AND e.user_id <> m.user_id AND e.role = 'owner'
           AND e.user_id = ANY (p.except_user_ids) AND e.sign_in_key IS NOT NULL
           AND (EXISTS (SELECT FROM sign_in.accounts a WHERE a.user_id = e.user_id AND a.password_hash IS NOT NULL)
                OR EXISTS (SELECT FROM sign_in.passkeys k WHERE k.user_id = e.user_id)))
    LIMIT 1`,
);

/** $1 hash of the challenge, $2 seconds after which it is too old anyway. No row if it was answered before. */
export const spendChallenge = systemStatement<{ challenge_hash: Buffer }>(
  "answer a challenge once",
  `INSERT INTO sign_in.spent_challenges (challenge_hash, expires_at) VALUES ($1, hawser_now() + make_interval(secs => $2))
   ON CONFLICT (challenge_hash) DO NOTHING RETURNING challenge_hash`,
);

/** At most 1,000; no row if none is left. */
export const deleteSpentChallenges = systemStatement<{ challenge_hash: Buffer }>(
  "delete challenges that are too old to be answered again",
  `DELETE FROM sign_in.spent_challenges
    WHERE challenge_hash IN (
      SELECT challenge_hash FROM sign_in.spent_challenges
       WHERE expires_at < hawser_now() ORDER BY expires_at LIMIT 1000)
   RETURNING challenge_hash`,
);
