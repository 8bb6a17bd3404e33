// Triggers as results show them.
import { formatId, type TriggerRecord } from "@hawser/contract";
import { sharedFields } from "../schedules/record.ts";
import type { TriggerRow } from "./store.ts";

export function triggerRecord(row: TriggerRow, baseUrl: string): TriggerRecord {
  const triggerId = formatId("trigger", row.schedule_id);
  return {
    triggerId,
    source: row.source,
    events: row.events,
    commandWord: row.command_word,
    address: `${baseUrl}${triggersPath}${triggerId}`,
    ...sharedFields(row),
  };
}

/** The path of a trigger's address, without its id. */
export const triggersPath = "/api/triggers/";
