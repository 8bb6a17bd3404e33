// How long a turn waits for its model. opencode repeats a call that was refused or cut for as long as it
// takes, and waits for a silent one nearly as long; this says when that is enough.
import { watchSilence } from "../silence.ts";
import { explainRetries, explainSilence } from "./failures.ts";
import type { LiveEvent, Part } from "./frames.ts";

export interface Limits {
  /** How long nothing may come from the model. */
  silenceMs: number;
  /** How long it may be asked again and again without one whole answer. */
  retryMs: number;
}

export const usualLimits: Limits = { silenceMs: 5 * 60_000, retryMs: 2 * 60_000 };

export interface Patience {
  /** A turn begins, or was taken up. */
  begin(): void;
  take(event: LiveEvent): void;
  end(): void;
}

/** Gives up at most once in a turn. Time in which `isWorking`, or a person is asked, is not silence. */
export function openPatience(
  { silenceMs, retryMs }: Limits,
  isWorking: () => boolean,
  giveUp: (reason: string) => void,
): Patience {
  /** When the first call failed after the last whole answer, by session: sub-agents ask too. */
  const failingSince = new Map<string, number>();
  const silence = watchSilence(silenceMs, isWorking, (quietMs) => giveUp(explainSilence(quietMs)));

  function takeRetry(sessionID: string, retry: NonNullable<RetryEvent["retry"]>): void {
    const now = Date.now();
    const since = failingSince.get(sessionID) ?? now;
    failingSince.set(sessionID, since);
    // A wait that would end too late is not begun.
    if (retry.next - since > retryMs) giveUp(explainRetries(retry, now));
  }

  return {
    begin() {
      failingSince.clear();
      silence.begin();
    },
    take(event) {
      if (event.type === "status") {
        if (event.retry) takeRetry(event.sessionID, event.retry);
        return;
      }
      const part = partIn(event);
      if (part?.type === "step-finish") failingSince.delete(part.sessionID);
      if (event.type !== "sync" || part) silence.heard();
    },
    end: () => silence.end(),
  };
}

type RetryEvent = Extract<LiveEvent, { type: "status" }>;

/** What a change is of, if it is of a message's content. */
function partIn(event: LiveEvent): Part | undefined {
  if (event.type !== "sync" || !event.event.type.startsWith("message.part.updated.")) {
    return undefined;
  }
  return event.event.data["part"] as Part;
}
