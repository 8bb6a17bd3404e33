// How long a link waits before it dials again. After a loss that may concern all hosts it waits a random
// part of the window that the control plane has set, so that hosts return as fast as edges can link them
// and no faster (decision 0044). The window is kept in memory only.
import { DuplicateHost } from "./attach.ts";
import { backOff, type BackOff } from "./back-off.ts";
import { EdgeBusy } from "./edge-busy.ts";
import type { LinkTiming } from "./timing.ts";
import { isUnknownHost, waitBefore } from "./up-call.ts";

export interface Waits {
  /** Sets the window. */
  spreadOver: (seconds: number) => void;
  /** The link has lasted for a while, so the waits begin short again. */
  linkIsStable: () => void;
  /** The wait after a link was lost. */
  afterLoss: () => number;
  /** The wait after there was no link. */
  afterFailure: (error: unknown) => number;
}

export function createWaits(timing: LinkTiming): Waits {
  let windowMs = 0;
  let failures = 0;

  /** Without any answer, each host dials about once per window, which is what the edges can bear. */
  function dialLimits(): BackOff {
    if (windowMs <= timing.early.longestMs) return timing;
    return { firstMs: timing.firstMs, longestMs: windowMs };
  }

  return {
    spreadOver: (seconds) => void (windowMs = Math.min(seconds * 1_000, timing.longestMs)),
    linkIsStable: () => void (failures = 0),
    afterLoss: () => Math.random() * windowMs + backOff(++failures, dialLimits()),
    afterFailure(error) {
      if (error instanceof DuplicateHost) return timing.duplicateMs * (0.75 + Math.random() / 2);
      // A wait that the edge has chosen is no reason for longer waits of the host's own.
      if (error instanceof EdgeBusy) return error.waitMs;
      const limits = isUnknownHost(error) ? timing.unknownHost : dialLimits();
      return waitBefore(error, backOff(++failures, limits));
    },
  };
}
