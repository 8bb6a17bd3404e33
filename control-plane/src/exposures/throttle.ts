// Slows down the guessing of passwords (T24). Failures are counted for an address, and for an address at one exposure; never
// for an exposure alone, because then a stranger could lock its user out. An address without failures is never delayed.
import { isIPv6 } from "node:net";

export interface Throttle {
  /**
   * Counts an attempt of an address at an exposure as a failure, until it has `passed`: guesses that are made at the same
   * time count too. Returns how long to wait before the password is checked, or how long none is checked.
   */
  begin(exposureId: string, address: string): Attempt | { lockedMs: number };
  /** How long passwords of this address are not checked; 0 if they are. */
  lockedMs(address: string): number;
}

export interface Attempt {
  delayMs: number;
  passed: () => void;
}

const periodMs = 60_000;
/** Failures at one exposure that are answered at once. */
const freeFailures = 10;
/** Failures of an address at all exposures, after which it is locked for a period. */
const mostFailures = 100;
/** The delay grows with each failure, so that a person who mistypes hardly notices it. */
const delayStepMs = 100;
const longestDelayMs = 2_000;
/** Bounds the memory: of twice as many addresses, those that were quiet for longest are forgotten. */
const mostAddresses = 10_000;
const mostExposuresOfAddress = 200;

interface Failures {
  since: number;
  total: number;
  lockedUntil: number;
  ofExposure: Map<string, number>;
}

export function createThrottle(now: () => number = performance.now.bind(performance)): Throttle {
  let addresses = new Map<string, Failures>();
  /** Addresses that have not failed since `addresses` was emptied. */
  let quiet = new Map<string, Failures>();

  function recent(address: string): Failures | undefined {
    const found = addresses.get(address) ?? quiet.get(address);
    if (!found) return undefined;
    const at = now();
    if (at < found.lockedUntil || at - found.since < periodMs) return found;
    return undefined;
  }

  function lockedMs(address: string): number {
    const failures = recent(networkOf(address));
    return Math.max(0, (failures?.lockedUntil ?? -Infinity) - now());
  }

  return {
    lockedMs,
    begin(exposureId, address) {
      const locked = lockedMs(address);
      if (locked > 0) return { lockedMs: locked };
      const network = networkOf(address);
      const failures = recent(network) ?? {
        since: now(),
        total: 0,
        lockedUntil: -Infinity,
        ofExposure: new Map<string, number>(),
      };
      if (addresses.size >= mostAddresses) {
        quiet = addresses;
        addresses = new Map();
      }
      addresses.set(network, failures);
      if (failures.total >= mostFailures) {
        failures.lockedUntil = now() + periodMs;
        return { lockedMs: periodMs };
      }
      const { ofExposure } = failures;
      const before = ofExposure.get(exposureId) ?? 0;
      failures.total += 1;
      if (before > 0 || ofExposure.size < mostExposuresOfAddress) {
        ofExposure.set(exposureId, before + 1);
      }
      return {
        delayMs: Math.min(longestDelayMs, Math.max(0, before + 1 - freeFailures) * delayStepMs),
        passed() {
          failures.total -= 1;
          ofExposure.set(exposureId, Math.max(0, (ofExposure.get(exposureId) ?? 0) - 1));
        },
      };
    },
  };
}

/** A customer usually has a whole /64 of IPv6, so its addresses count as one. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  if (!isIPv6(plain)) return plain;
  const [head, tail] = plain.split("%")[0]!.split("::") as [string, string?];
  const groups = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : 8 - groups.length - last.length;
  const all = [...groups, ...Array.from({ length: Math.max(0, zeros) }, () => "0"), ...last];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}
