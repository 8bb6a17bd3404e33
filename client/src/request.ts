// One HTTP request to the service: sends it once, and tells a refusal from an answer that never came.
import { Refused, Unanswered, type RefusalBody } from "./errors.ts";

export interface Service {
  /** Without a slash at its end. */
  url: string;
  key: string;
  fetch: typeof fetch;
  /** Limits a call with all its attempts, and how long a stream tries to connect again. */
  deadlineMs: number;
  /** Limits one attempt of a call. */
  attemptMs: number;
  /** A stream that is silent for this long is broken. */
  silenceMs: number;
}

/** Returns a successful answer. Throws `Refused`, or `Unanswered` if the request may be sent again. */
export async function request(
  { url, key, fetch }: Service,
  action: string,
  path: string,
  init: RequestInit,
): Promise<Response> {
  const headers = { ...init.headers, authorization: `Bearer ${key}` };
  // A redirect would change POST to GET.
  const sent = fetch(url + path, { ...init, headers, redirect: "manual" });
  const response = await sent.catch((error: unknown) => broken(action, error));
  if (response.ok) return response;
  const text = await response.text().catch((error: unknown) => broken(action, error));
  const refusal = refusalIn(text);
  if (refusal) throw new Refused(action, response.status, refusal);
  // A balancer answers in its own words when it reaches no node.
  const message = `${action} was answered ${response.status} by something that is not Hawser, at ${url}.`;
  if ([502, 503, 504].includes(response.status)) throw new Unanswered(message);
  throw new Error(`${message} Check the address.`);
}

/** Throws the error of a connection as `Unanswered`. */
export function broken(action: string, error: unknown): never {
  const { message, cause } = error as Error;
  const reason = cause instanceof Error && cause.message ? cause.message : message;
  throw new Unanswered(`${action} got no answer: ${reason}.`, { cause: error });
}

function refusalIn(text: string): RefusalBody | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: RefusalBody };
    return typeof error?.code === "string" ? error : undefined;
  } catch {
    return undefined;
  }
}
