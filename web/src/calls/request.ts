// One HTTP request to the service. Only this folder and streams/ use fetch.
import type { RefusalBody } from "@hawser/client";
import { otherPerson, pagePerson } from "./page-person.ts";
import { Refused, Unanswered } from "./refused.ts";

export interface RequestOptions {
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** Limits one attempt. The service itself waits up to 30 seconds for a host. */
const attemptMs = 40_000;

/** Sends `body` with POST, or GET without one, and returns the answer's body. Throws `Refused` or `Unanswered`. */
export async function request<Answer>(
  path: string,
  body?: object,
  { headers, signal }: RequestOptions = {},
): Promise<Answer> {
  const limit = AbortSignal.timeout(attemptMs);
  try {
    const response = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        ...(body && { "content-type": "application/json", ...pagePerson.header() }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
      // A cached answer would be drawn as the present.
      cache: "no-store",
      redirect: "error",
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    const answer = readJson(await response.text());
    if (response.ok && answer !== undefined) return answer as Answer;
    const refusal = (answer as { error?: RefusalBody } | undefined)?.error;
    if (refusal) throw refusedBy(response.status, refusal);
    throw new Unanswered(`Hawser did not answer: something else answered ${response.status}.`);
  } catch (error) {
    if (error instanceof Refused || error instanceof Unanswered || signal?.aborted) throw error;
    throw new Unanswered("Hawser did not answer. The connection may be down.", { cause: error });
  }
}

/** The refusal, which the whole page has to know if somebody else is signed in. */
export function refusedBy(status: number, refusal: RefusalBody): Refused {
  if (refusal.code === otherPerson) pagePerson.noteOther();
  return new Refused(status, refusal);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
