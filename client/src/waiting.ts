// Waiting with an end: pauses that a signal ends, and work that a time limit ends.
import { Refused, Unanswered } from "./errors.ts";

const firstPauseMs = 100;
const longestPauseMs = 5_000;

/** How long to wait after so many failures in a row; undefined if the same call would fail again. */
export function pauseAfter(error: unknown, failures: number): number | undefined {
  // Random, so that clients that failed together do not return together.
  const backoffMs =
    Math.min(firstPauseMs * 2 ** (failures - 1), longestPauseMs) * (0.5 + Math.random() / 2);
  if (error instanceof Unanswered) return backoffMs;
  if (!(error instanceof Refused) || error.refusal.retry !== "later") return undefined;
  return Math.max(error.refusal.retryAfterMs ?? 0, backoffMs);
}

/** Throws the signal's reason if it is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** A signal that follows the caller's, and that a time limit can abort. Older browsers lack AbortSignal.any. */
export interface Limit {
  signal: AbortSignal;
  /** Aborts after this time, instead of an earlier set one. */
  within(ms: number): void;
  /** Removes the time limit. */
  unlimited(): void;
  /** Aborts. No-op if everything is read. */
  end(): void;
}

export function limitBy(outer: AbortSignal | undefined): Limit {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const unlimited = () => clearTimeout(timer);
  const follow = () => controller.abort(outer!.reason);
  const end = () => {
    unlimited();
    outer?.removeEventListener("abort", follow);
    controller.abort();
  };
  if (outer?.aborted) follow();
  outer?.addEventListener("abort", follow, { once: true });
  return {
    signal: controller.signal,
    within(ms) {
      unlimited();
      timer = setTimeout(
        () => controller.abort(new Error(`nothing arrived within ${Math.round(ms)} ms`)),
        ms,
      );
    },
    unlimited,
    end,
  };
}
