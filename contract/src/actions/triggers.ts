// Triggers: listing, creating, changing and deleting them. list_schedule_runs has their runs.
import { z } from "zod";
import { action } from "../action.ts";
import { exactlyOneOf, objectTo } from "../exactly-one.ts";
import { TriggerId } from "../ids.ts";
import { TriggerEvent, TriggerRecord, TriggerSource } from "../records/trigger.ts";
import { hosts, name, prompt, targets, template } from "../schedule-template.ts";

const events = z.array(TriggerEvent).min(1).meta({ description: "For github; default: comment." });

const commandWord = z
  .string()
  .regex(/^[!-~]{1,40}$/, "must be 1 to 40 visible ASCII characters without spaces")
  .meta({ description: "Begins a line of the comment; default: /hawser." });

export const triggerActions = {
  list_triggers: action({
    summary: "List the organization's triggers.",
    group: "schedules",
    permission: "sessions:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({}),
    result: z.strictObject({ triggers: z.array(TriggerRecord) }),
    refusals: [],
    closedToAgents: true,
  }),

  create_trigger: action({
    summary: "Make an address where events of GitHub or other systems start sessions.",
    details:
      "Give exactly one of `directory`, `cloneRepo` and `cloneUrl`. Sessions run unattended; the sender's text is marked as untrusted. Runs act with the calling key.",
    group: "schedules",
    permission: "sessions:edit",
    effect: "changes",
    reach: "records",
    shownBy: "list_triggers",
    input: z
      .strictObject({
        prompt,
        instanceIds: hosts,
        source: TriggerSource,
        events: events.optional(),
        commandWord: commandWord.optional(),
        ...template,
      })
      .check(exactlyOneOf(...targets))
      .check((payload) => {
        const { source, ...rest } = payload.value;
        if (source === "github") return;
        const wrong = (["events", "commandWord"] as const).filter(
          (field) => rest[field] !== undefined,
        );
        objectTo(payload, wrong, "must be left out for the source json");
      }),
    result: z.strictObject({
      trigger: TriggerRecord,
      secret: z.string().meta({ description: "For the sender's settings, shown only here." }),
    }),
    refusals: ["not_found", "limit_reached"],
    resultHoldsSecret: true,
    needsFreshSignIn: true,
    closedToAgents: true,
  }),

  update_trigger: action({
    summary: "Change, pause or resume a trigger, or make a new secret.",
    details:
      "The former secret is valid for 24 hours. Later runs act with the calling key, unless it only pauses.",
    group: "schedules",
    permission: "sessions:edit",
    effect: "changes",
    reach: "records",
    shownBy: "list_triggers",
    input: z.strictObject({
      triggerId: TriggerId,
      name: name.nullable().optional(),
      prompt: prompt.optional(),
      events: events.optional(),
      commandWord: commandWord.optional(),
      enabled: z.boolean().meta({ description: "False pauses it." }).optional(),
      rotateSecret: z.boolean().meta({ description: "True makes a new secret." }).optional(),
    }),
    result: z.strictObject({
      trigger: TriggerRecord,
      secret: z
        .string()
        .nullable()
        .meta({ description: "The new secret, shown only here; null if it was kept." }),
    }),
    refusals: ["not_found", "limit_reached"],
    resultHoldsSecret: true,
    needsFreshSignIn: true,
    closedToAgents: true,
  }),

  delete_trigger: action({
    summary: "Delete a trigger; the sessions it started stay.",
    group: "schedules",
    permission: "sessions:edit",
    effect: "destroys",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ triggerId: TriggerId }),
    result: z.strictObject({
      triggerId: TriggerId,
      deleted: z.literal(true).meta({ description: "Always true." }),
    }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),
};
