// Decides when a turn has waited long enough for its model. opencode repeats a call that was refused or cut
// without limit, and waits almost as long for a model that sends nothing.
import { explainSilence, type FailedTurn } from "../model-failure.ts";
import { watchSilence } from "../silence.ts";
import { explainRetries } from "./failures.ts";
import type { LiveEvent, Part } from "./frames.ts";

export interface WaitLimits {
  /** How long the model may send nothing. */
  silenceMs: number;
  /** How long calls of the model may fail in a row, without one complete answer. */
  retryMs: number;
}

export const defaultLimits: WaitLimits = { silenceMs: 5 * 60_000, retryMs: 2 * 60_000 };

export interface ModelWatch {
  /** A turn starts, or a running turn is resumed. */
  start(): void;
  onEvent(event: LiveEvent): void;
  stop(): void;
}

/**
 * Calls `giveUp` once in a turn whose model is silent or fails for too long. Time during which `isPaused`
 * returns true, such as while a tool runs or a person is asked, is not silence.
 */
export function watchModel(
  { silenceMs, retryMs }: WaitLimits,
  isPaused: () => boolean,
  giveUp: (end: FailedTurn) => void,
): ModelWatch {
  /** By session, because sub-agents call models too: when the first call failed since the last answer. */
  const failingSince = new Map<string, number>();
  const silence = watchSilence(silenceMs, isPaused, (quietMs) => giveUp(explainSilence(quietMs)));

  function onRetry(sessionID: string, retry: NonNullable<StatusEvent["retry"]>): void {
    const now = Date.now();
    const since = failingSince.get(sessionID) ?? now;
    failingSince.set(sessionID, since);
    // Gives up now if the next call would be too late.
    if (retry.next - since > retryMs) giveUp(explainRetries(retry, now));
  }

  return {
    start() {
      failingSince.clear();
      silence.start();
    },
    onEvent(event) {
      if (event.type === "status") {
        if (event.retry) onRetry(event.sessionID, event.retry);
        return;
      }
      const part = partIn(event);
      if (part?.type === "step-finish") failingSince.delete(part.sessionID);
      if (event.type !== "sync" || part) silence.reset();
    },
    stop: () => silence.stop(),
  };
}

type StatusEvent = Extract<LiveEvent, { type: "status" }>;

/** undefined if the event does not change the content of a message. */
function partIn(event: LiveEvent): Part | undefined {
  if (event.type !== "sync" || !event.event.type.startsWith("message.part.updated.")) {
    return undefined;
  }
  return event.event.data["part"] as Part;
}
