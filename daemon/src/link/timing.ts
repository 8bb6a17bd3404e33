// How long the link waits for what. Tests shorten some of it.

export interface LinkTiming {
  /** Three silent intervals, and the link is dead: in less than 30 s. */
  pingMs: number;
  /** For the upgrade, and again for the handshake. */
  patienceMs: number;
  /** For an answer of the control plane. */
  callMs: number;
  /** The limits of the wait between tries. */
  firstMs: number;
  longestMs: number;
  /** A few minutes of short waits, before they grow. */
  early: { longestMs: number; tries: number };
  /** A link that lasted so long was a good one: the next loss begins with short waits again. */
  stableMs: number;
  /** Between tries while another machine has this host's place. */
  duplicateMs: number;
  shortestBeatMs: number;
  /** A clock off by less cannot be why the edge refused. */
  clockToleranceMs: number;
  /** How long a connection that was replaced may take to finish its commands. */
  retireMs: number;
  /** The same when the daemon stops. */
  stopMs: number;
}

export const defaultTiming: LinkTiming = {
  pingMs: 8_000,
  patienceMs: 10_000,
  callMs: 10_000,
  firstMs: 250,
  longestMs: 300_000,
  early: { longestMs: 3_500, tries: 120 },
  stableMs: 5_000,
  duplicateMs: 60_000,
  shortestBeatMs: 1_000,
  clockToleranceMs: 30_000,
  retireMs: 60_000,
  stopMs: 3_000,
};
