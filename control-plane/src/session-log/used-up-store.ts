// The SQL by which the intake of reports hands over the turns that a used-up quota ended, and by which callers who wait
// see that such a turn is to continue.
import { statement, systemStatement } from "../postgres/statement.ts";

/**
 * $1 is a JSON array of turns, one for each session. Inserts those of organizations that have such turns continued.
 * A session is continued once: prompts that waited behind the turn fail like it, and must not be forked too.
 */
export const insertUsedUp = systemStatement(
  "record the turns that a used-up quota ended, to continue them",
  `INSERT INTO turn_continuations (organization_id, session_id, turn_id)
   SELECT ended.organization_id, ended.session_id, ended.turn_id
     FROM jsonb_to_recordset($1::jsonb) AS ended (organization_id uuid, session_id uuid, turn_id text)
     JOIN organizations o ON o.organization_id = ended.organization_id AND o.fallback_mid_turn
    WHERE NOT EXISTS (
            SELECT FROM turn_continuations c
             WHERE c.organization_id = ended.organization_id AND c.session_id = ended.session_id
               AND (c.step <> 'ended' OR c.problem IS NULL))
   ON CONFLICT DO NOTHING`,
);

/**
 * $1 organization, $2 session, $3 turn. A row if no session continues the turn yet, and one may. A turn without a key
 * is not continued.
 */
export const selectContinuing = statement<{ turn_id: string }>(
  `SELECT c.turn_id FROM turn_continuations c
     JOIN turn_keys k ON k.organization_id = c.organization_id AND k.session_id = c.session_id AND k.turn_id = c.turn_id
    WHERE c.organization_id = $1 AND c.session_id = $2 AND c.turn_id = $3 AND c.step = 'fork'`,
);
