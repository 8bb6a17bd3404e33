// A caller of the product, over HTTP with a key. Actions are typed by the registry, and every result is
// checked against the action's result schema, so a wrong result fails whichever test receives it.
import { AsyncLocalStorage } from "node:async_hooks";
import { registry, type ActionName, type InputOf, type ResultOf } from "@hawser/contract";
import { recordExample } from "./record-example.ts";

export interface Reply {
  status: number;
  headers: Headers;
  /** The parsed body; its text if it is not JSON. */
  body: any;
  text: string;
}

/** A refusal as text, without the id of its call, so that two refusals that say the same are equal. */
export const refusalText = ({ text }: Pick<Reply, "text">) => text.replace(/,"callId":"[^"]*"/, "");

export interface RawCall {
  method?: string;
  body?: string | Uint8Array<ArrayBuffer> | undefined;
  headers?: Record<string, string>;
}

interface CallOptions {
  idempotencyKey?: string;
}

export type Calls = {
  [Name in ActionName]: (
    input: InputOf<(typeof registry)[Name]>,
    options?: CallOptions,
  ) => Promise<ResultOf<(typeof registry)[Name]>>;
};

export type Caller = Calls & {
  key: string;
  /** Calls an action with any body and returns the reply, whatever its status. */
  try(action: string, input?: unknown, headers?: Record<string, string>): Promise<Reply>;
  /** Sends any request with the key. */
  request(path: string, call?: RawCall): Promise<Reply>;
};

/** A reply with the path of its request. */
export interface SeenReply extends Reply {
  path: string;
}

/** Counts the requests made inside a run: a test that makes none proves no requirement. */
export const requestCounter = new AsyncLocalStorage<{ requests: number; replies: SeenReply[] }>();

export async function request(baseUrl: string, path: string, call: RawCall = {}): Promise<Reply> {
  const counted = requestCounter.getStore();
  const response = await fetch(baseUrl + path, {
    method: call.method ?? "GET",
    headers: call.headers ?? {},
    ...(call.body !== undefined && { body: call.body }),
    signal: AbortSignal.timeout(30_000),
    redirect: "manual",
  });
  const text = await response.text();
  const reply = { status: response.status, headers: response.headers, body: parse(text), text };
  if (counted) {
    counted.requests += 1;
    counted.replies.push({ path, ...reply });
  }
  return reply;
}

export function createCaller(baseUrl: string, key: string): Caller {
  const authorization = { authorization: `Bearer ${key}` };
  const own = {
    key,
    request: (path: string, call: RawCall = {}) =>
      request(baseUrl, path, { ...call, headers: { ...authorization, ...call.headers } }),
    try: (action: string, input: unknown = {}, headers: Record<string, string> = {}) =>
      request(baseUrl, `/api/rest/actions/${action}`, {
        method: "POST",
        headers: { ...authorization, "content-type": "application/json", ...headers },
        body: JSON.stringify(input),
      }),
  };
  const calls = callsBy(async (name, input, { idempotencyKey }) => {
    const headers: Record<string, string> = idempotencyKey
      ? { "idempotency-key": idempotencyKey }
      : {};
    const reply = await own.try(name, input, headers);
    if (reply.status !== 200) throw new CallRefused(name, reply);
    const { result } = reply.body as { result: unknown };
    recordExample(name, input, result);
    return result;
  });
  return { ...calls, ...own };
}

/** Every action as a function, sent by `send`. Each result is checked against its schema. */
export function callsBy(
  send: (action: ActionName, input: unknown, options: CallOptions) => Promise<unknown>,
): Calls {
  const byName = Object.keys(registry).map((name) => [
    name,
    async (input: unknown, options: CallOptions = {}) =>
      registry[name as ActionName].result.parse(await send(name as ActionName, input, options)),
  ]);
  return Object.fromEntries(byName) as Calls;
}

/** The service refused a call that a test expected to pass. */
class CallRefused extends Error {
  readonly reply: Reply;
  constructor(action: string, reply: Reply) {
    super(`${action} was answered ${reply.status}: ${reply.text.slice(0, 500)}`);
    this.name = "CallRefused";
    this.reply = reply;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
