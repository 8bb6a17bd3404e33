// The SQL of triggers: their records, and the deliveries that are sent to them.
import type { TriggerEvent, TriggerSource } from "@hawser/contract";
import { statement, systemStatement } from "../postgres/statement.ts";
import { planSql } from "../schedules/plan.ts";
import { hostKeysSql, lastRun, withLastRun, type SharedRow } from "../schedules/store.ts";

/** Deliveries that wait for their turn, of one trigger and of all triggers of an organization. */
const mostWaiting = 100;
const mostWaitingOfOrganization = 1_000;

export type TriggerRow = SharedRow & {
  source: TriggerSource;
  events: TriggerEvent[];
  command_word: string | null;
};

const triggerRows = `SELECT t.source, t.events, t.command_word, ${withLastRun}
     FROM triggers t
     JOIN schedules s ON s.organization_id = t.organization_id AND s.schedule_id = t.schedule_id
     ${lastRun}`;

/** The newest first. */
export const selectTriggers = statement<TriggerRow>(
  `${triggerRows} WHERE t.organization_id = $1 ORDER BY t.schedule_id DESC`,
);

export const selectTrigger = statement<TriggerRow>(
  `${triggerRows} WHERE t.organization_id = $1 AND t.schedule_id = $2`,
);

/** Locks the trigger: nothing else changes it, and no delivery starts a run, before the transaction ends. */
export const lockTrigger = statement<{ schedule_id: string }>(
  `SELECT s.schedule_id FROM schedules s
     JOIN triggers t ON t.organization_id = s.organization_id AND t.schedule_id = s.schedule_id
    WHERE s.organization_id = $1 AND s.schedule_id = $2 FOR UPDATE OF s`,
);

/** $2 its schedule, $3 source, $4 events, $5 command word, $6 salt. */
export const insertTrigger = statement(
  `INSERT INTO triggers (organization_id, schedule_id, source, events, command_word, salt)
   VALUES ($1, $2, $3, $4::text[], $5, $6)`,
);

/** $3 name, $4 prompt, $5 the caller's key, $6 who that is. */
export const updateTemplate = statement(
  `UPDATE schedules
      SET name = $3, prompt = $4, api_key_id = $5, acts_as = $6,
          host_keys = ${hostKeysSql("schedules.instance_ids")}
    WHERE organization_id = $1 AND schedule_id = $2`,
);

/** $3 events, $4 command word. */
export const updateFilter = statement(
  `UPDATE triggers SET events = $3::text[], command_word = $4 WHERE organization_id = $1 AND schedule_id = $2`,
);

/** $3 salt of the new secret. */
export const rotateSecret = statement(
  `UPDATE triggers SET salt = $3, former_salt = salt, former_until = hawser_now() + interval '24 hours'
    WHERE organization_id = $1 AND schedule_id = $2`,
);

export const deleteTrigger = statement<{ schedule_id: string }>(
  `DELETE FROM schedules s USING triggers t
    WHERE s.organization_id = $1 AND s.schedule_id = $2
      AND t.organization_id = s.organization_id AND t.schedule_id = s.schedule_id
   RETURNING s.schedule_id`,
);

/** A trigger to which something was sent. */
export interface AddressedRow {
  organization_id: string;
  schedule_id: string;
  source: TriggerSource;
  events: TriggerEvent[];
  command_word: string | null;
  /** One for each secret that is accepted now. */
  salts: Buffer[];
  now_seconds: number;
}

export const selectAddressed = systemStatement<AddressedRow>(
  "find the trigger to which a delivery is addressed",
  `SELECT organization_id, schedule_id, source, events, command_word,
          array_remove(ARRAY[salt, CASE WHEN former_until > hawser_now() THEN former_salt END], NULL) AS salts,
          extract(epoch FROM hawser_now())::float8 AS now_seconds
     FROM triggers WHERE schedule_id = $1`,
);

/** Locks the trigger, so that a delivery that is sent twice at once sees its own run. */
export const lockAddressed = systemStatement<{ enabled: boolean; pause_reason: string | null }>(
  "lock a trigger while a delivery starts a run",
  `SELECT enabled, pause_reason FROM schedules
    WHERE organization_id = $1 AND schedule_id = $2 FOR NO KEY UPDATE`,
);

export const selectDelivered = systemStatement<{ run_id: string }>(
  "find the run that a delivery has started before",
  `SELECT run_id FROM schedule_runs WHERE organization_id = $1 AND schedule_id = $2 AND delivery_id = $3`,
);

/**
 * $3 delivery, $4 what follows the prompt. No row if too many wait. Two deliveries can arrive at the same moment, and
 * the times of a schedule's runs differ.
 */
export const insertDelivered = systemStatement<{ run_id: string }>(
  "record the run that a delivery to a trigger starts",
  `INSERT INTO schedule_runs (organization_id, schedule_id, run_at, plan, api_key_id, step, delivery_id, failure)
   SELECT s.organization_id, s.schedule_id,
          greatest(hawser_now(), (SELECT max(r.run_at) + interval '1 microsecond' FROM schedule_runs r
                                   WHERE r.organization_id = $1 AND r.schedule_id = $2)),
          ${planSql("s", false)} || jsonb_build_object('prompt', s.prompt || $4::text), s.api_key_id, 'wait', $3,
          'It waits for its turn.'
     FROM schedules s,
          (SELECT count(*) AS all_runs, count(*) FILTER (WHERE schedule_id = $2) AS own_runs
             FROM schedule_runs WHERE organization_id = $1 AND step = 'wait') AS waiting
    WHERE s.organization_id = $1 AND s.schedule_id = $2
      AND own_runs < ${mostWaiting} AND all_runs < ${mostWaitingOfOrganization}
   ON CONFLICT DO NOTHING
   RETURNING run_id`,
);

/** Whether the last audit entry about wrong signatures is a minute old. */
const isEntryDue = `(forged_noted_at IS NULL
            OR forged_noted_at NOT BETWEEN hawser_now() - interval '1 minute' AND hawser_now())`;

/**
 * Counts deliveries with a wrong signature, $3 of them. A row if an audit entry is due, at most once a minute, with the
 * number of deliveries since the last one.
 */
export const countForged = systemStatement<{ count: number }>(
  "count deliveries with a wrong signature",
  `WITH found AS MATERIALIZED (
     SELECT organization_id, schedule_id, forged + $3::integer AS count, ${isEntryDue} AS is_due
       FROM triggers WHERE organization_id = $1 AND schedule_id = $2 FOR UPDATE),
   counted AS (
     UPDATE triggers t
        SET forged = CASE WHEN is_due THEN 0 ELSE count END,
            forged_noted_at = CASE WHEN is_due THEN hawser_now() ELSE t.forged_noted_at END
       FROM found WHERE t.organization_id = found.organization_id AND t.schedule_id = found.schedule_id)
   SELECT count FROM found WHERE is_due`,
);

/** The numbers of deliveries for which an audit entry is due. They count as noted from now on. */
export const takeForged = systemStatement<{
  organization_id: string;
  schedule_id: string;
  count: number;
}>(
  "take the numbers of deliveries with a wrong signature that no audit entry counts",
  `WITH found AS MATERIALIZED (
     SELECT organization_id, schedule_id, forged AS count FROM triggers
      WHERE forged > 0 AND ${isEntryDue} LIMIT 1000 FOR UPDATE SKIP LOCKED),
   taken AS (
     UPDATE triggers t SET forged = 0, forged_noted_at = hawser_now()
       FROM found WHERE t.organization_id = found.organization_id AND t.schedule_id = found.schedule_id)
   SELECT organization_id, schedule_id, count FROM found`,
);
