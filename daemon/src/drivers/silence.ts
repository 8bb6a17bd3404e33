// Detects a model that accepts a request and never answers it: nothing is received for too long.

export interface SilenceWatch {
  start(): void;
  /** Something was received: counts the silence from now. */
  reset(): void;
  stop(): void;
}

/**
 * Calls `onSilence` once per start, with the milliseconds of silence, after at least `longestMs`. Time
 * during which `isPaused` returns true is not silence.
 */
export function watchSilence(
  longestMs: number,
  isPaused: () => boolean,
  onSilence: (quietMs: number) => void,
): SilenceWatch {
  let quietSince = 0;
  let timer: NodeJS.Timeout | undefined;
  const check = () => {
    if (isPaused()) quietSince = Date.now();
    const quietMs = Date.now() - quietSince;
    if (quietMs >= longestMs) onSilence(quietMs);
    else timer = setTimeout(check, longestMs - quietMs).unref();
  };
  return {
    start() {
      clearTimeout(timer);
      quietSince = Date.now();
      timer = setTimeout(check, longestMs).unref();
    },
    reset() {
      quietSince = Date.now();
    },
    stop: () => clearTimeout(timer),
  };
}
