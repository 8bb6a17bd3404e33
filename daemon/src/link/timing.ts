// The link's intervals and limits. Tests shorten some of them.
import type { BackOff } from "./back-off.ts";

export interface LinkTiming {
  /** The link is dead after three silent intervals, that is in less than 30 s. The server pings later. */
  pingMs: number;
  /** Limit for the upgrade, and again for the handshake. */
  patienceMs: number;
  /** Limit for an answer of the control plane. */
  callMs: number;
  /** Limits of the wait between attempts. The window of the control plane has the same upper limit. */
  firstMs: number;
  longestMs: number;
  /** Number of short waits before they grow: a few minutes. */
  early: { longestMs: number; tries: number };
  /** After a link that lasted this long, the waits begin short again. */
  stableMs: number;
  /** Wait between attempts while another machine is linked as this host. */
  duplicateMs: number;
  /** Waits between attempts while the control plane does not find this host. */
  unknownHost: BackOff;
  shortestBeatMs: number;
  /** A smaller clock error cannot be why the edge refused. */
  clockToleranceMs: number;
  /** How long a replaced connection may take to finish its commands. */
  retireMs: number;
  /** The same for a daemon that stops. */
  stopMs: number;
}

export const defaultTiming: LinkTiming = {
  pingMs: 9_000,
  patienceMs: 10_000,
  callMs: 10_000,
  firstMs: 250,
  longestMs: 300_000,
  early: { longestMs: 3_500, tries: 120 },
  stableMs: 5_000,
  duplicateMs: 60_000,
  unknownHost: { firstMs: 2_000, longestMs: 60_000 },
  shortestBeatMs: 1_000,
  clockToleranceMs: 30_000,
  retireMs: 60_000,
  stopMs: 3_000,
};
