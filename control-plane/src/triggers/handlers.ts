// What the actions on triggers do. A trigger is a schedule without times: what it starts is a row of `schedules`, and
// its runs are made and judged like those of a schedule.
import { Refusal, notFound, parseId, type InputOf, type triggerActions } from "@hawser/contract";
import { callerReference } from "../access/caller-reference.ts";
import type { ChangeContext, HandlersFor } from "../dispatch/handler.ts";
import type { TenantSql } from "../postgres/statement.ts";
import {
  given,
  longestPrompts,
  newTemplate,
  refuseBeyondLimits,
  refuseTooLarge,
} from "../schedules/choice.ts";
import * as schedules from "../schedules/store.ts";
import { triggerRecord } from "./record.ts";
import { makeSalt, secretOf } from "./secret.ts";
import * as store from "./store.ts";

export interface TriggerServices {
  /** The public address of the service. */
  baseUrl: string;
  /** The secret from which the secrets of triggers are derived. */
  triggerSecret: Buffer;
}

type Update = InputOf<(typeof triggerActions)["update_trigger"]>;

const defaultWord = "/hawser";

export const triggerHandlers: HandlersFor<typeof triggerActions, TriggerServices> = {
  async list_triggers({ sql, baseUrl }) {
    const rows = await sql.rows(store.selectTriggers, sql.organizationId);
    return { triggers: rows.map((row) => triggerRecord(row, baseUrl)) };
  },

  async create_trigger(context, input) {
    const { sql, caller } = context;
    const { source, events = ["comment"], commandWord = defaultWord } = input;
    const clock = await sql.first(schedules.lockClock, sql.organizationId);
    const template = await newTemplate(sql, input);
    refuseTooLarge(template, longestPrompts.trigger);
    await refuseBeyondLimits(sql, template.prompt, null);
    const made = await sql.first(
      schedules.insertSchedule,
      sql.organizationId,
      await callerReference(sql, caller),
      ...schedules.valuesOf({ ...template, frequency: "event", start_at: clock!.now }),
      null,
      caller.apiKeyId,
    );
    const id = made!.schedule_id;
    const salt = makeSalt();
    const filter = source === "github" ? [[...new Set(events)], commandWord] : [[], null];
    sql.later(store.insertTrigger, sql.organizationId, id, source, ...filter, salt);
    return {
      trigger: await readRecord(context, id),
      secret: secretOf(context.triggerSecret, salt),
    };
  },

  async update_trigger(context, input) {
    const { sql, caller } = context;
    const { triggerId, enabled, rotateSecret, ...changes } = input;
    // The organization is locked before the trigger, so that two calls cannot wait for each other.
    if (changes.prompt) await sql.first(schedules.lockClock, sql.organizationId);
    const id = await lockTrigger(sql, triggerId);
    const stored = (await sql.first(store.selectTrigger, sql.organizationId, id))!;
    refuseFilterOfJson(stored, changes);
    const key = [sql.organizationId, id] as const;
    if (changes.prompt) {
      refuseTooLarge({ prompt: changes.prompt }, longestPrompts.trigger);
      await refuseBeyondLimits(sql, changes.prompt, id);
    }
    if (isAnyGiven(changes) || rotateSecret || enabled) {
      const name = given(changes.name, stored.name);
      const prompt = given(changes.prompt, stored.prompt);
      const actsAs = [caller.apiKeyId, await callerReference(sql, caller)] as const;
      sql.later(store.updateTemplate, ...key, name, prompt, ...actsAs);
      if (enabled) sql.later(schedules.resumeSchedule, ...key, null, ...actsAs);
    }
    const events = given(changes.events && [...new Set(changes.events)], stored.events);
    sql.later(store.updateFilter, ...key, events, given(changes.commandWord, stored.command_word));
    if (enabled === false) sql.later(schedules.pauseSchedule, ...key);
    const salt = rotateSecret ? makeSalt() : undefined;
    if (salt) sql.later(store.rotateSecret, ...key, salt);
    return {
      trigger: await readRecord(context, id),
      secret: salt ? secretOf(context.triggerSecret, salt) : null,
    };
  },

  async delete_trigger({ sql }, { triggerId }) {
    const id = parseId("trigger", triggerId);
    const row = id && (await sql.first(store.deleteTrigger, sql.organizationId, id));
    if (!row) throw notFound("trigger");
    return { triggerId, deleted: true };
  },
};

const isAnyGiven = (changes: object) => Object.values(changes).some((value) => value !== undefined);

/** Every delivery of the source json starts a run. */
function refuseFilterOfJson(
  { source }: store.TriggerRow,
  changes: Pick<Update, "events" | "commandWord">,
): void {
  const wrong = (["events", "commandWord"] as const).filter((name) => changes[name] !== undefined);
  if (source === "github" || wrong.length === 0) return;
  throw new Refusal("invalid_input", "Only triggers of the source github have events to choose.", {
    fields: wrong.map((field) => ({ field, message: "must be left out for the source json" })),
  });
}

async function lockTrigger(sql: TenantSql, triggerId: string): Promise<string> {
  const id = parseId("trigger", triggerId);
  const row = id && (await sql.first(store.lockTrigger, sql.organizationId, id));
  if (!row) throw notFound("trigger");
  return id;
}

const readRecord = async ({ sql, baseUrl }: ChangeContext & TriggerServices, id: string) =>
  triggerRecord((await sql.first(store.selectTrigger, sql.organizationId, id))!, baseUrl);
