// Slows down the guessing of passwords (T24). Failures are counted for an address, and for an address at one exposure; never
// for an exposure alone, because then a stranger could lock its user out. An address without failures is never delayed.
import { isIPv6 } from "node:net";

export interface Throttle {
  /**
   * An attempt of an address at an exposure. Waits while as many attempts of the address are being checked as may still
   * fail, so that guesses made at the same time are no way around the limit. Returns how long to wait before the
   * password is checked, or how long none is checked.
   */
  begin(exposureId: string, address: string): Promise<Attempt | { lockedMs: number }>;
  /** How long passwords of this address are not checked; 0 if they are. */
  lockedMs(address: string): number;
}

export interface Attempt {
  delayMs: number;
  /** Call it once. An attempt that could not be checked was not wrong. */
  end: (outcome: { isWrong: boolean }) => void;
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
  failed: number;
  /** Attempts that are being checked. */
  checking: number;
  /** Attempts that wait until one of those has ended. */
  waiting: (() => void)[];
  lockedUntil: number;
  /** How many attempts at each exposure have failed or are being checked. */
  ofExposure: Map<string, number>;
}

export interface ThrottleParts {
  now?: () => number;
  /** Called when an address is locked. */
  onLock?: (network: string) => void;
}

export function createThrottle(parts: ThrottleParts = {}): Throttle {
  const { now = performance.now.bind(performance), onLock = () => {} } = parts;
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
    async begin(exposureId, address) {
      const network = networkOf(address);
      const failures = recent(network) ?? remember(network);
      while (failures.checking > 0 && failures.failed + failures.checking >= mostFailures) {
        await new Promise<void>((resolve) => failures.waiting.push(resolve));
      }
      const locked = failures.lockedUntil - now();
      if (locked > 0) return { lockedMs: locked };
      const { ofExposure } = failures;
      const before = ofExposure.get(exposureId) ?? 0;
      const isCounted = before > 0 || ofExposure.size < mostExposuresOfAddress;
      failures.checking += 1;
      if (isCounted) ofExposure.set(exposureId, before + 1);
      return {
        delayMs: Math.min(longestDelayMs, Math.max(0, before + 1 - freeFailures) * delayStepMs),
        end({ isWrong }) {
          failures.checking -= 1;
          if (!isWrong && isCounted) ofExposure.set(exposureId, ofExposure.get(exposureId)! - 1);
          if (isWrong) fail(network, failures);
          const isLocked = failures.lockedUntil > now();
          const woken = failures.waiting.splice(0, isLocked ? failures.waiting.length : 1);
          for (const wake of woken) wake();
        },
      };
    },
  };

  function remember(network: string): Failures {
    if (addresses.size >= mostAddresses) {
      quiet = addresses;
      addresses = new Map();
    }
    const none = { failed: 0, checking: 0, waiting: [], lockedUntil: -Infinity };
    const failures = { since: now(), ...none, ofExposure: new Map<string, number>() };
    addresses.set(network, failures);
    return failures;
  }

  function fail(network: string, failures: Failures): void {
    failures.failed += 1;
    // Keeps the address from being forgotten as quiet. An attempt of a former period replaces no newer count.
    if ((addresses.get(network) ?? quiet.get(network)) === failures) {
      addresses.set(network, failures);
    }
    if (failures.failed < mostFailures || failures.lockedUntil > now()) return;
    failures.lockedUntil = now() + periodMs;
    onLock(network);
  }
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
