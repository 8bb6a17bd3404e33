// Repeats a request until it is answered, refused for good, or out of time.
import type { CallOptions } from "./actions.ts";
import type { Service } from "./request.ts";
import { limitBy, pause, pauseAfter } from "./waiting.ts";

interface Repeated<Answer> {
  /** The signal ends the attempt, with the caller's signal or when its time is over. */
  attempt: (signal: AbortSignal) => Promise<Answer>;
  /** Called after each failed attempt. */
  mayRepeat?: (error: unknown) => Promise<boolean>;
}

export async function repeat<Answer>(
  service: Service,
  { signal, deadlineMs = service.deadlineMs }: CallOptions,
  { attempt, mayRepeat = () => Promise.resolve(true) }: Repeated<Answer>,
): Promise<Answer> {
  const endsAt = performance.now() + deadlineMs;
  for (let failures = 1; ; failures++) {
    signal?.throwIfAborted();
    const limit = limitBy(signal);
    limit.within(Math.min(service.attemptMs, endsAt - performance.now()));
    try {
      return await attempt(limit.signal);
    } catch (error) {
      signal?.throwIfAborted();
      const pauseMs = pauseAfter(error, failures);
      const isAllowed = await mayRepeat(error);
      if (!isAllowed || pauseMs === undefined || performance.now() + pauseMs >= endsAt) throw error;
      await pause(pauseMs, signal);
    } finally {
      limit.end();
    }
  }
}
