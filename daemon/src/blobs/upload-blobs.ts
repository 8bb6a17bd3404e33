// Uploads the full updates of shortened log entries, one after the other, while the host is linked. Entries
// wait for their blobs, so that no name in the log is missing. But they do not wait for ever: a blob that
// cannot be stored is left out of its entry, with the reason, and the session's log continues.
import type { KeptBlobs } from "../journal/kept-blobs.ts";
import { describe, type Log } from "../log.ts";
import { BlobRefused, type BlobLane } from "./lane.ts";

export interface UploadOptions {
  blobs: KeptBlobs;
  lane: Pick<BlobLane, "put">;
  /** Since when the host has been linked without a break; undefined if it is not linked. */
  linkedSince: () => string | undefined;
  /** Called when entries that waited may be sent. */
  onSettled: () => void;
  log: Log;
  /** Longest delay of a session's log. */
  patienceMs?: number;
}

export interface Uploads {
  /** Call it when a blob was added, or the link is online. */
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
        // If the link broke, too, the failure proves nothing about the blob; and the log waits anyway.
        if (reason === "unreachable" && linkedSince() !== since) continue;
        log.warn("a log entry is sent without its blob", {
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
        // A blob was added after the last read.
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
