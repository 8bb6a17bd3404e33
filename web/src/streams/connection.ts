// Keeps one stream connected: connects again after a break with growing pauses, at once when the machine wakes up, and
// reports the state. Ends only by a refusal that waiting does not change, or when it is stopped.
import { readEvents, type StreamFrame } from "./read-events.ts";
import type { WatchWake } from "./wake.ts";

export type ConnectionState =
  /** `since`: when the stream last showed that it works; undefined before the first connection. */
  | { is: "connecting"; since: number | undefined }
  | { is: "live" }
  /** The service refuses the stream: 401 signed out, 403 not allowed, 404 gone. */
  | { is: "refused"; status: number; code: string | undefined };

export interface KeepConnected {
  /** Where to connect, and after which position. Read for each connection. */
  target: () => { url: string; headers?: Record<string, string>; lastEventId?: string | undefined };
  /** Called when a connection is open, before its frames. */
  onOpen?: () => void;
  /** Returns "again" to give up this connection and to connect again at once. */
  onFrame: (frame: StreamFrame) => "again" | undefined | void;
  onState: (state: ConnectionState) => void;
  watchWake: WatchWake;
  signal: AbortSignal;
  silenceMs?: number;
  /** How long to wait after this many failures in a row. */
  pauseMs?: (failures: number) => number;
  now?: () => number;
}

const pausesMs = [1_000, 2_000, 4_000, 8_000, 15_000];

/** Full jitter: pages that lost the same node do not return in step. */
export function jitteredPause(failures: number, random = Math.random): number {
  return random() * (pausesMs[failures - 1] ?? pausesMs.at(-1)!);
}

/** A connection that lasted this long was a good one: the next pause is short again. */
const goodConnectionMs = 5_000;
/** A younger connection was made after the wake-up began. */
const youngMs = 1_000;

/** Resolves when the stream is over; never rejects. */
export async function keepConnected(options: KeepConnected): Promise<void> {
  const { target, onOpen, onFrame, onState, watchWake, signal } = options;
  const { pauseMs = jitteredPause, now = Date.now } = options;
  let failures = 0;
  let since: number | undefined;
  while (!signal.aborted) {
    onState({ is: "connecting", since });
    const attempt = new AbortController();
    const startedAt = now();
    let openedAt: number | undefined;
    let again = false;
    const unwatch = watchWake(({ isSuspect }) => {
      if (!isSuspect || now() - (openedAt ?? startedAt) < youngMs) return;
      again = true;
      attempt.abort();
    });
    const end = await readEvents({
      ...target(),
      ...(options.silenceMs !== undefined && { silenceMs: options.silenceMs }),
      signal: AbortSignal.any([signal, attempt.signal]),
      onOpen() {
        openedAt = since = now();
        onOpen?.();
        onState({ is: "live" });
      },
      onAlive() {
        since = now();
      },
      onFrame(frame) {
        // Frames that were in the same piece of text belong to a connection that was given up.
        if (again || signal.aborted || onFrame(frame) !== "again") return;
        again = true;
        attempt.abort();
      },
    });
    unwatch();
    if (signal.aborted) return;
    if (openedAt !== undefined && now() - openedAt >= goodConnectionMs) failures = 0;
    if (end.why === "refused" && end.status !== 429) {
      onState({ is: "refused", status: end.status, code: end.code });
      return;
    }
    failures += 1;
    if (again && failures < 3) continue;
    onState({ is: "connecting", since });
    const waitMs = end.why === "refused" ? end.retryAfterMs : undefined;
    await pause(Math.max(waitMs ?? 0, pauseMs(failures)), watchWake, signal);
  }
}

/** Waits, at most until a wake-up or the end. */
function pause(ms: number, watchWake: WatchWake, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      unwatch();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    const unwatch = watchWake(done);
    signal.addEventListener("abort", done);
  });
}
