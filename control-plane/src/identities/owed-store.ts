// The SQL of the removals of agent accounts that hosts owe.
import { statement, systemStatement } from "../postgres/statement.ts";

/** Marks the accounts of a user who leaves: $2 user. Run it after the membership is deleted. */
export const oweRemovals = statement(
  `UPDATE agent_accounts SET removal_owed = true, tried_at = date_trunc('milliseconds', hawser_now())
    WHERE organization_id = $1 AND user_id = $2`,
);

/** All accounts of one owner on one host. */
export interface OwedRemoval {
  organization_id: string;
  instance_id: string;
  owner_id: string;
}

/** $1 organization, $2 user. Only hosts that are connected. */
export const selectOwedOf = systemStatement<OwedRemoval>(
  "find the agent accounts of a removed member on connected hosts",
  `SELECT DISTINCT a.organization_id, a.instance_id, a.owner_id
     FROM agent_accounts a
     JOIN instances i ON i.organization_id = a.organization_id AND i.instance_id = a.instance_id
    WHERE a.organization_id = $1 AND a.user_id = $2 AND a.removal_owed
      AND i.status = 'online' AND i.deleted_at IS NULL`,
);

/** $1 instances. */
export const selectOwedBy = systemStatement<OwedRemoval>(
  "find the removals of agent accounts owed by hosts that are back",
  `SELECT DISTINCT organization_id, instance_id, owner_id FROM agent_accounts
    WHERE instance_id = ANY ($1::uuid[]) AND removal_owed`,
);

/** Removals owed by connected hosts that were not asked for a minute. */
export const selectOwedForLong = systemStatement<OwedRemoval>(
  "find the removals of agent accounts that connected hosts have owed for a while",
  `SELECT DISTINCT a.organization_id, a.instance_id, a.owner_id
     FROM (SELECT o.organization_id, o.instance_id, o.owner_id
             FROM agent_accounts o
             JOIN instances i ON i.organization_id = o.organization_id AND i.instance_id = o.instance_id
            WHERE o.removal_owed AND o.tried_at < hawser_now() - interval '1 minute'
              AND i.status = 'online' AND i.deleted_at IS NULL
            ORDER BY o.tried_at LIMIT 100) a`,
);

/** All kinds get the same time: if one had a later time, `settleRemoval` would leave it. */
export const noteTried = systemStatement<{ tried_at: string }>(
  "record that a host was asked to remove an agent account",
  `WITH moment AS MATERIALIZED (SELECT date_trunc('milliseconds', hawser_now()) AS now)
   UPDATE agent_accounts SET tried_at = moment.now
     FROM moment
    WHERE organization_id = $1 AND instance_id = $2 AND owner_id = $3 AND removal_owed
   RETURNING tried_at`,
);

/** $4 when the host was asked. A removal that became owed after that stays owed. */
export const settleRemoval = systemStatement(
  "delete the agent accounts that a host has removed",
  `DELETE FROM agent_accounts
    WHERE organization_id = $1 AND instance_id = $2 AND owner_id = $3 AND removal_owed AND tried_at <= $4`,
);
