// Steps of scenarios about exposures: requests with the login of an exposure, and open event streams.
import assert from "node:assert/strict";
import type { NewExposure } from "@hawser/contract";

/** What a client needs to use an exposure. */
type Login = Pick<NewExposure, "url" | "username" | "password">;

/** A request through an exposure, with its login unless another one is given. */
export function through(
  { url, username, password }: Login,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  const login = Buffer.from(`${username}:${password}`).toString("base64");
  return fetch(new URL(path, url), {
    redirect: "manual",
    signal: AbortSignal.timeout(30_000),
    ...init,
    headers: { authorization: `Basic ${login}`, ...init.headers },
  });
}

export interface OpenStream {
  /** Everything that has arrived. */
  text: () => string;
  /** Resolves with the time of the end, as `performance.now()`. */
  ended: Promise<number>;
}

/** Opens opencode's stream of all events, or one at the same path. Returns after its first event. */
export async function openStream(exposure: Login): Promise<OpenStream> {
  const response = await through(exposure, "/global/event", {
    signal: AbortSignal.timeout(120_000),
  });
  if (!response.ok || !response.body) throw new Error(`The stream: ${response.status}`);
  let text = "";
  const begun = Promise.withResolvers<void>();
  const body = response.body as AsyncIterable<Uint8Array>;
  const ended = (async () => {
    try {
      for await (const chunk of body) {
        text += Buffer.from(chunk).toString();
        begun.resolve();
      }
    } catch {
      // A stream that is cut ends with an error.
    }
    begun.resolve();
    return performance.now();
  })();
  await begun.promise;
  return { text: () => text, ended };
}

/** An ended exposure answers 401. A loopback port of its own is closed soon after its end. */
export async function assertEnded(exposure: Login): Promise<void> {
  const answer = await through(exposure, "/session").then(
    (response) => response.status,
    (error: unknown) => (error as { cause?: { code?: string } }).cause?.code ?? String(error),
  );
  assert.ok([401, "ECONNREFUSED", "ECONNRESET"].includes(answer), String(answer));
}
