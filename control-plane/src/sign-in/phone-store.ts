// The SQL of devices that a person lets in from a browser. The first two statements run for the calling person, the
// others as hawser_sign_in.
import { statement, systemStatement } from "../postgres/statement.ts";

/** $1 sign-in of the browser, $2 hash of the link's secret, $3 seconds. */
export const insertDeviceSignIn = statement<{ expires_at: string }>(
  `SELECT sign_in.create_device_sign_in($1, $2, $3) AS expires_at`,
);

export interface ConfirmRow {
  state: "confirmed" | "wrong" | "not_opened" | "over";
  tries_left: number;
  device: string | null;
}

/** $1 sign-in of the browser, $2 hash of the digits, $3 seconds that the device then has to enter. */
export const confirmDeviceSignIn = statement<ConfirmRow>(
  `SELECT state, tries_left, device FROM sign_in.confirm_device_sign_in($1, $2, $3)`,
);

/** Only while the browser is signed in, with an account: a provider's sign-in must not become one of an account. */
const ofLiveSignIn = `sign_in.device_sign_ins d
     JOIN sign_in.sign_ins s ON s.sign_in_id = d.sign_in_id
      AND s.organization_id IS NULL AND s.ended_at IS NULL
      AND s.expires_at > hawser_now() AND d.expires_at > hawser_now()`;

/** $1 hash of the link's secret. Locks the row, so that one device opens the link. */
export const lockDeviceLink = systemStatement<{ sign_in_id: string }>(
  "find the browser whose link a device opens",
  `SELECT d.sign_in_id FROM ${ofLiveSignIn}
    WHERE d.link_hash = $1 AND d.device_hash IS NULL FOR UPDATE OF d`,
);

/** $2 hash of the device's cookie, $3 hash of the digits, $4 device, $5 seconds. */
export const openDeviceLink = systemStatement<{ expires_at: string }>(
  "let a device wait until its digits are typed",
  `UPDATE sign_in.device_sign_ins
      SET device_hash = $2, digits_hash = $3, device = $4, expires_at = hawser_now() + make_interval(secs => $5)
    WHERE sign_in_id = $1 RETURNING expires_at`,
);

export interface WaitingDeviceRow {
  sign_in_id: string;
  user_id: string;
  is_confirmed: boolean;
}

/** $1 hash of the device's cookie. Locks the row, so that the device enters once. */
export const lockWaitingDevice = systemStatement<WaitingDeviceRow>(
  "find out whether a device may enter",
  `SELECT d.sign_in_id, s.user_id, d.confirmed_at IS NOT NULL AS is_confirmed FROM ${ofLiveSignIn}
    WHERE d.device_hash = $1 AND d.tries_left > 0 FOR UPDATE OF d`,
);

/**
 * $1 hash of the new cookie, $2 device, $3 sign-in of the browser. Everything that limits the browser's sign-in limits
 * the new one: it is as old, and as fresh. Otherwise two devices could let each other in for ever.
 */
export const insertSignInLike = systemStatement<{ sign_in_id: string }>(
  "create a sign-in from another one",
  `INSERT INTO sign_in.sign_ins (token_hash, user_id, way, device, authenticated_at, expires_at)
   SELECT $1, user_id, 'device', $2, authenticated_at, expires_at FROM sign_in.sign_ins WHERE sign_in_id = $3
   RETURNING sign_in_id`,
);

export const deleteDeviceSignIn = systemStatement(
  "end the wait of a device",
  `DELETE FROM sign_in.device_sign_ins WHERE sign_in_id = $1`,
);

/** At most 1,000; no row if none is left. */
export const deleteOldDeviceSignIns = systemStatement<{ sign_in_id: string }>(
  "delete links that no device has used in time",
  `DELETE FROM sign_in.device_sign_ins
    WHERE sign_in_id IN (
      SELECT sign_in_id FROM sign_in.device_sign_ins
       WHERE expires_at < hawser_now() ORDER BY expires_at LIMIT 1000)
   RETURNING sign_in_id`,
);
