// One POST per action. Retries by the refusal's advice only, and a change keeps its idempotency key for all its
// retries: it takes effect at most once.
import type { Actions } from "@hawser/client";
import { organization } from "./organization.ts";
import { isRefused, Refused, Unanswered } from "./refused.ts";
import { request } from "./request.ts";
import { askToSignIn, signInsSoFar } from "./sign-in-again.ts";

export type ActionName = keyof Actions;
export type Input<Name extends ActionName> = NonNullable<Parameters<Actions[Name]>[0]>;
export type Result<Name extends ActionName> = Awaited<ReturnType<Actions[Name]>>;

export interface CallOptions {
  /** For changes: a new one for each press of a button. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Limits a call with all its attempts. */
const deadlineMs = 120_000;
const firstPauseMs = 500;
const longestPauseMs = 8_000;

/** Throws `Refused` or `Unanswered`. Without a sign-in it asks the person to sign in, and then repeats the call. */
export async function call<Name extends ActionName>(
  action: Name,
  input: Input<Name>,
  options: CallOptions = {},
): Promise<Result<Name>> {
  const endsAt = performance.now() + deadlineMs;
  for (let attempt = 0; ; attempt += 1) {
    const soFar = signInsSoFar();
    try {
      return await send(action, input, options);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      if (isRefused(error, "unauthenticated") || isRefused(error, "sign_in_again")) {
        await askToSignIn(error as Refused, soFar);
        continue;
      }
      const pause = pauseBefore(error, attempt, options.idempotencyKey !== undefined);
      if (pause === undefined || performance.now() + pause > endsAt) throw error;
      await wait(pause, options.signal);
    }
  }
}

async function send<Name extends ActionName>(
  action: Name,
  input: Input<Name>,
  { idempotencyKey, signal }: CallOptions,
): Promise<Result<Name>> {
  const headers = {
    ...organization.header(),
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
  };
  const path = `/api/rest/actions/${action}`;
  const { result } = await request<{ result: Result<Name> }>(path, input, { headers, signal });
  return result;
}

/** Milliseconds to wait before the same call is sent again; undefined if it must not be. */
export function pauseBefore(error: unknown, attempt: number, hasKey: boolean): number | undefined {
  const pause = Math.min(firstPauseMs * 2 ** attempt, longestPauseMs);
  // A change without an answer is repeated only if a key keeps it from happening twice. Reads are repeated by the cache.
  if (error instanceof Unanswered) return hasKey && attempt < 5 ? pause : undefined;
  if (!(error instanceof Refused) || error.refusal.retry !== "later") return undefined;
  // Nobody knows yet how it ends, so the call is asked again until it says.
  if (error.code === "in_progress") return hasKey ? pause : undefined;
  // A fault is shown. The person may try again.
  if (error.code === "internal" || attempt >= 5) return undefined;
  return error.refusal.retryAfterMs ?? pause;
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    signal?.addEventListener("abort", abort, { once: true });
  });
}
