// Sends the control plane a request over a connection: one request, one answer, parsed by its schema.
import { received, type MessageSchema } from "@hawser/contract";
import { Refused, upSubject, type UpCall } from "@hawser/host-protocol";
import type { Connection } from "./dial.ts";
import { EdgeBusy } from "./edge-busy.ts";
import { Forgotten } from "./forgotten.ts";

export type Ask = <Value extends object>(
  name: UpCall,
  body: object,
  reply: MessageSchema<Value>,
  timeoutMs?: number,
) => Promise<Exclude<Value, { forget: true } | Refused>>;

/** The control plane did not process the message, and says when to send it again. */
export class ToldToWait extends Error {
  readonly code: string;
  readonly retryAfterMs: number;

  constructor({ refused, retryAfterMs }: WaitAnswer) {
    super(reasons.get(refused) ?? `The control plane does not accept this now (${refused}).`);
    this.code = refused;
    this.retryAfterMs = retryAfterMs;
  }
}

const knownReasons: Record<Refused["refused"], string> = {
  rate_limited: "The control plane said that this host sends too much.",
  quota_exceeded: "The organization has used up its log bytes for today.",
  unknown_host: "The control plane does not find this host.",
};
const reasons = new Map<string, string>(Object.entries(knownReasons));

/** A newer control plane may have further reasons to let a host wait. */
type WaitAnswer = Omit<Refused, "refused"> & { refused: string };

function readWait(answer: Record<string, unknown>): WaitAnswer | undefined {
  const { refused, retryAfterMs } = answer;
  // Answers a hello, and is no reason to repeat it.
  if (typeof refused !== "string" || refused === "duplicate_host") return undefined;
  const { success, data } = Refused.shape.retryAfterMs.safeParse(retryAfterMs);
  return success ? { refused, retryAfterMs: data } : undefined;
}

/**
 * How long to wait before the next attempt: as long as the answer said, if it said more; exactly as long as a
 * busy edge said.
 */
export function waitBefore(error: unknown, backOffMs: number): number {
  if (error instanceof EdgeBusy) return error.waitMs;
  return error instanceof ToldToWait ? Math.max(error.retryAfterMs, backOffMs) : backOffMs;
}

/** Whether the control plane answered that it does not find this host. */
export function isUnknownHost(error: unknown): boolean {
  return error instanceof ToldToWait && error.code === "unknown_host";
}

/** Whether a proof shows that this host was removed. */
export type IsRemoved = (proof: unknown) => boolean;

/**
 * Throws Forgotten if the answer proves that this host was removed, and ToldToWait if the message was refused
 * for now. An answer `forget` without a valid proof counts as `unknown_host`: a node of version 0.1.0 sends it
 * to every host that it does not find, and everyone who can publish on the fabric can send it.
 */
export function throwIfRefused(answer: unknown, isRemoved: IsRemoved): void {
  const fields = (answer ?? {}) as Record<string, unknown>;
  const { forget, proof } = fields;
  if (forget !== undefined) {
    if (isRemoved(proof)) throw new Forgotten();
    throw new ToldToWait({ refused: "unknown_host", retryAfterMs: 0 });
  }
  const wait = readWait(fields);
  if (wait) throw new ToldToWait(wait);
}

export interface UpCallOptions {
  instanceId: string;
  /** Limit for an answer. */
  callMs: number;
  isRemoved: IsRemoved;
  /** Called with each answer that shows whether the control plane finds this host. */
  onAnswer: (isKnown: boolean) => void;
}

/** Throws if there is no answer in time, and as `throwIfRefused` does. */
export function createUpCalls(connection: Connection, options: UpCallOptions): Ask {
  const { instanceId, callMs, isRemoved, onAnswer } = options;
  return async <Value extends object>(
    name: UpCall,
    body: object,
    reply: MessageSchema<Value>,
    timeoutMs = callMs,
  ) => {
    const { data } = await connection.nats.request(
      upSubject(instanceId, name),
      JSON.stringify(body),
      { timeout: timeoutMs },
    );
    const answer: unknown = JSON.parse(Buffer.from(data).toString());
    try {
      throwIfRefused(answer, isRemoved);
    } catch (error) {
      if (isUnknownHost(error)) onAnswer(false);
      throw error;
    }
    const value = received(reply).parse(answer);
    onAnswer(true);
    return value as Exclude<Value, { forget: true } | Refused>;
  };
}
