// One call of an action by a client of a run. Every outcome, even a broken connection, is recorded.
import { refusalText } from "@hawser/testkit/caller.ts";
import type { Answer } from "./command-records.ts";

export interface Question {
  action: string;
  input: object;
  /** The API key. */
  key: string;
  idempotencyKey?: string;
  /** By default longer than a node waits for a host. */
  patienceMs?: number;
}

export async function ask(baseUrl: string, question: Question): Promise<Answer> {
  const { action, input, key, idempotencyKey, patienceMs = 15_000 } = question;
  const started = Date.now();
  const about = () => {
    const at = Date.now();
    return { node: baseUrl.split(":").at(-1)!, at, tookMs: at - started };
  };
  try {
    const response = await fetch(`${baseUrl}/api/rest/actions/${action}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        ...(idempotencyKey && { "idempotency-key": idempotencyKey }),
      },
      body: JSON.stringify(input),
      signal: AbortSignal.timeout(patienceMs),
    });
    const body = refusalText({ text: await response.text() });
    const { status } = response;
    const code = status === 200 ? "ok" : String(JSON.parse(body).error.code);
    return { ...about(), status, code, body, final: isFinal(status, code) };
  } catch (error) {
    const code = (error as Error).name;
    return { ...about(), status: 0, code, body: "", final: false };
  }
}

/** Whether repeating the call cannot change this answer, by the interface. */
function isFinal(status: number, code: string): boolean {
  return status === 200 || (status < 500 && status !== 429 && code !== "in_progress");
}
