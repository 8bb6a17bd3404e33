// The SQL of the agent kinds that hosts last reported.
import type { ReportedAgentKind } from "@hawser/host-protocol";
import { statement } from "../postgres/statement.ts";

/** No row if the instance was deleted in the meantime. */
export const keepKinds = statement<{ taken_at: string }>(
  `INSERT INTO agent_kind_listings (organization_id, instance_id, agent_kinds)
   SELECT organization_id, instance_id, $3 FROM instances
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL
   ON CONFLICT (organization_id, instance_id)
     DO UPDATE SET agent_kinds = excluded.agent_kinds, taken_at = hawser_now()
   RETURNING taken_at`,
);

export const selectKinds = statement<{ agent_kinds: ReportedAgentKind[]; taken_at: string }>(
  `SELECT agent_kinds, taken_at FROM agent_kind_listings
    WHERE organization_id = $1 AND instance_id = $2`,
);
