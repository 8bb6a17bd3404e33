// The links of each host at this edge: how many a host may have, and how fast they may send. Each edge
// counts for itself (decision 0032).
import { createTokenBuckets } from "../dispatch/token-bucket.ts";

export interface HostLinks {
  /** Reserves a place for a link, or says after how long there may be one. */
  open(publicKey: string): HostLinkPlace | { retryAfterMs: number };
}

export interface HostLinkPlace {
  /** Whether another link of the host was opened in the last minute. */
  isRepeated: boolean;
  /** `end` ends the link. It is called if a newer link needs the place and this one is silent. */
  linked(end: () => void): void;
  /** Counts what the host sent. Returns for how long nothing more may be read from it, in ms. */
  received(bytes: number, messages: number): number;
  close(): void;
}

/** A daemon needs two while it renews its token, and a third while it is updated. */
const mostLinks = 4;
/** A living daemon sends a ping every 8 s and answers those of NATS, so a silent link is dead. */
const silentMs = 10_000;
/** A daemon that fails to connect tries again every 2 s on average. */
const openingRate = { perSecond: 1, burst: 30 };
/**
 * Together for the links of a host. A log of 60 MB that waited for its link takes a minute; half a dozen of the
 * largest replies to commands, of 300 kB each, do not wait.
 */
const bytesPerMs = 1024;
const burstBytes = 2 * 1024 * 1024;
/**
 * A message counts as this many bytes more than it has: 1,000 small ones a second, or 2,000 at once. A
 * small message costs NATS and a node as much work as a large one.
 */
const bytesPerMessage = 1024;
const sweepEveryMs = 60_000;
/** A host that loses its link waits for a part of the window, and has no reason to lose the next one at once. */
const repeatedMs = 60_000;

interface Host {
  places: Set<Place>;
  /** When its last link was opened. */
  linkedAt: number;
  /** Bytes it may send at once, messages included; negative after more were read. */
  bytes: number;
  countedAt: number;
}

interface Place {
  heardAt: number;
  end?: () => void;
}

export function createHostLinks(now: () => number = performance.now.bind(performance)): HostLinks {
  const hosts = new Map<string, Host>();
  const openings = createTokenBuckets(openingRate, now);
  let sweptAt = now();

  /** Returns the time until there is a place; undefined if there is one now. */
  function makeRoom({ places }: Host): number | undefined {
    if (places.size < mostLinks) return undefined;
    const [quietest] = [...places].toSorted((a, b) => a.heardAt - b.heardAt);
    const silentForMs = now() - quietest!.heardAt;
    if (silentForMs < silentMs || !quietest!.end) return Math.max(1_000, silentMs - silentForMs);
    places.delete(quietest!);
    quietest!.end();
    return undefined;
  }

  const isRecentlyLinked = ({ linkedAt }: Host) => now() - linkedAt < repeatedMs;

  /** Forgets hosts that left long enough ago to have all their bytes again. */
  function sweep(): void {
    for (const [publicKey, host] of hosts) {
      const hasAllBytes = now() - host.countedAt > sweepEveryMs;
      if (host.places.size === 0 && hasAllBytes && !isRecentlyLinked(host)) hosts.delete(publicKey);
    }
    sweptAt = now();
  }

  function spend(host: Host, bytes: number): number {
    const at = now();
    host.bytes = Math.min(burstBytes, host.bytes + (at - host.countedAt) * bytesPerMs) - bytes;
    host.countedAt = at;
    return host.bytes < 0 ? Math.ceil(-host.bytes / bytesPerMs) : 0;
  }

  return {
    open(publicKey) {
      const { retryAfterMs } = openings.take(publicKey);
      if (retryAfterMs !== undefined) return { retryAfterMs };
      if (now() - sweptAt > sweepEveryMs) sweep();
      let host = hosts.get(publicKey);
      if (!host) {
        host = { places: new Set(), linkedAt: -Infinity, bytes: burstBytes, countedAt: now() };
        hosts.set(publicKey, host);
      }
      const { places } = host;
      const waitMs = makeRoom(host);
      if (waitMs !== undefined) return { retryAfterMs: waitMs };
      const place: Place = { heardAt: now() };
      places.add(place);
      return {
        isRepeated: isRecentlyLinked(host),
        linked(end) {
          place.end = end;
          host.linkedAt = now();
        },
        received(bytes, messages) {
          place.heardAt = now();
          return spend(host, bytes + messages * bytesPerMessage);
        },
        close: () => void places.delete(place),
      };
    },
  };
}
