// Sends the control plane a request over a connection: one request, one answer, parsed by its schema.
import { Refused, upSubject, type UpCall } from "@hawser/host-protocol";
import type { Connection } from "./dial.ts";
import { Forgotten } from "./forgotten.ts";

export interface Schema<Value> {
  parse: (value: unknown) => Value;
}

export type Ask = <Value extends object>(
  name: UpCall,
  body: object,
  reply: Schema<Value>,
  timeoutMs?: number,
) => Promise<Exclude<Value, { forget: true }>>;

/** The control plane did not process the message, and says when to send it again. */
class ToldToWait extends Error {
  readonly code: Refused["refused"];
  readonly retryAfterMs: number;

  constructor({ refused, retryAfterMs }: Refused) {
    super(
      refused === "quota_exceeded"
        ? "The organization has used up its log bytes for today."
        : "The control plane said that this host sends too much.",
    );
    this.code = refused;
    this.retryAfterMs = retryAfterMs;
  }
}

/** How long to wait before the message is sent again: as long as the answer said, if it said more. */
export function waitBefore(error: unknown, backOffMs: number): number {
  return error instanceof ToldToWait ? Math.max(error.retryAfterMs, backOffMs) : backOffMs;
}

/**
 * Throws if there is no answer in time, Forgotten if the answer says that this host is unknown, and
 * ToldToWait if the message was refused for now.
 */
export function createUpCalls(
  connection: Connection,
  instanceId: string,
  defaultTimeoutMs: number,
): Ask {
  return async <Value extends object>(
    name: UpCall,
    body: object,
    reply: Schema<Value>,
    timeoutMs = defaultTimeoutMs,
  ) => {
    const { data } = await connection.nats.request(
      upSubject(instanceId, name),
      JSON.stringify(body),
      { timeout: timeoutMs },
    );
    const answer: unknown = JSON.parse(Buffer.from(data).toString());
    const refused = Refused.safeParse(answer);
    if (refused.success) throw new ToldToWait(refused.data);
    const value = reply.parse(answer);
    if ("forget" in value) throw new Forgotten();
    return value as Exclude<Value, { forget: true }>;
  };
}
