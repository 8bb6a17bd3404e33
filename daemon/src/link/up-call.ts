// Sends the control plane a request over a connection: one request, one answer, parsed by its schema.
import { upSubject, type UpCall } from "@hawser/host-protocol";
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

/** Throws if there is no answer in time, and Forgotten if the answer says that this host is unknown. */
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
    const value = reply.parse(JSON.parse(Buffer.from(data).toString()));
    if ("forget" in value) throw new Forgotten();
    return value as Exclude<Value, { forget: true }>;
  };
}
