// Brings the wholes of entries that were cut to the control plane, one after the other, while the host
// is linked. Entries wait for that, so that no name in the log ever leads nowhere; but not for ever:
// what cannot be stored is left out of its entry, which says why, and the session's log goes on.
import type { KeptBlobs } from "../journal/kept-blobs.ts";
import { describe, type Log } from "../log.ts";
import { BlobRefused, type BlobLane } from "./lane.ts";

export interface UploadOptions {
  blobs: KeptBlobs;
  lane: Pick<BlobLane, "put">;
  /** Since when the host has been linked without a break; nothing when it is not. */
  linkedSince: () => string | undefined;
  /** Entries that waited may be sent. */
  onSettled: () => void;
  log: Log;
  /** How long a session's log is held up at most. */
  patienceMs?: number;
}

export interface Uploads {
  /** There may be something to upload, or someone to take it. */
  wake: () => void;
  stop: () => Promise<void>;
}

const defaultPatienceMs = 15 * 60_000;

export function startUploads(options: UploadOptions): Uploads {
  const { blobs, lane, linkedSince, onSettled, log } = options;
  const deadlineMs = options.patienceMs ?? defaultPatienceMs;
  const stopped = new AbortController();
  let running: Promise<void> | undefined;
  let isAwake = false;

  async function run(): Promise<void> {
    for (;;) {
      isAwake = false;
      const since = linkedSince();
      const next = blobs.pending()[0];
      if (!next || !since || stopped.signal.aborted) return;
      const { sha256, size, path } = next;
      try {
        const put = await lane.put(path, { deadlineMs, signal: stopped.signal });
        if (put.sha256 !== sha256) throw new BlobRefused("damaged", "The file has changed.");
        if (stopped.signal.aborted) return;
        blobs.stored(sha256);
      } catch (error) {
        if (stopped.signal.aborted) return;
        const reason = reasonOf(error);
        // Where the link broke too, nothing is known against the door; and the log waits anyway.
        if (reason === "unreachable" && linkedSince() !== since) continue;
        log.warn("a log entry goes without its whole", {
          sha256,
          size,
          reason,
          error: describe(error),
        });
        blobs.omit(sha256, reason);
      }
      onSettled();
    }
  }

  function wake(): void {
    isAwake = true;
    if (running || stopped.signal.aborted || blobs.isIdle()) return;
    running = run()
      .catch((error: unknown) => log.warn("blobs were not uploaded", { error: describe(error) }))
      .finally(() => {
        running = undefined;
        // Something was appended after the last look.
        if (isAwake) wake();
      });
  }

  return {
    wake,
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

function reasonOf(error: unknown): string {
  if (error instanceof BlobRefused) return error.code;
  return (error as NodeJS.ErrnoException).code === "ENOENT" ? "lost" : "unreachable";
}
