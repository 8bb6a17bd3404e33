// Triggers on a bed of schedules that run: creates triggers, and sends deliveries to them without HTTP.
import { parseId, type InputOf, type ResultOf, type registry } from "@hawser/contract";
import { createTokenBuckets } from "@hawser/control-plane/dispatch/token-bucket.ts";
import { createReceive, type Received } from "@hawser/control-plane/triggers/receive.ts";
import { openFiringBed, type FiringBed } from "./firing-bed.ts";
import type { SignedDelivery } from "./webhook-sender.ts";

type Input = InputOf<(typeof registry)["create_trigger"]>;
export type MadeTrigger = ResultOf<(typeof registry)["create_trigger"]> & {
  /** As it is stored. */
  id: string;
};

export interface TriggerBed extends FiringBed {
  /** A trigger of GitHub, unless `changes` say otherwise. */
  create(changes?: Partial<Input>, options?: { key?: string }): Promise<MadeTrigger>;
  update(
    body: InputOf<(typeof registry)["update_trigger"]>,
    options?: { key?: string },
  ): Promise<ResultOf<(typeof registry)["update_trigger"]>>;
  /** Throws a refusal. */
  send(triggerId: string, delivery: SignedDelivery): Promise<Received>;
}

export async function openTriggerBed(): Promise<TriggerBed> {
  const beds = await openFiringBed();
  const { bed, node } = beds;
  const receive = createReceive({
    database: bed.service.database,
    triggerSecret: bed.triggerSecret,
    limit: createTokenBuckets({ perSecond: 1_000, burst: 1_000 }),
  });
  return {
    ...beds,
    async create(changes = {}, options) {
      const body = {
        prompt: "Look at it.",
        instanceIds: [bed.instanceId],
        source: "github",
        directory: "/srv",
        ...changes,
      };
      const made = (await node.result("create_trigger", body, options)) as MadeTrigger;
      return { ...made, id: parseId("trigger", made.trigger.triggerId)! };
    },
    update: async (body, options) => (await node.result("update_trigger", body, options)) as never,
    send: (triggerId, { headers, body }) =>
      receive({
        id: parseId("trigger", triggerId),
        headers,
        readBody: async () => Buffer.from(body),
        callId: "test",
      }),
    [Symbol.asyncDispose]: () => beds[Symbol.asyncDispose](),
  };
}
