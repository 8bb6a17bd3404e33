// How much of a login's quota is used, as the agent reported it. A period that has ended counts as unused, and so
// does everything once the login has changed. Kept in a file, so that it is known after a restart of the daemon.
import { replaceFile } from "../state/replace-file.ts";
import { readJson } from "../state/state.ts";
import { stampOf } from "../find-program.ts";

export interface Period {
  /** Percent. */
  used: number;
  /** When the period ends, in milliseconds since 1970; null if unknown. */
  resetsAt: number | null;
}

export interface Utilization {
  /** Percent of the fullest period. */
  percent: number;
  /** When the agent reported it, in milliseconds since 1970. */
  at: number;
}

export interface Quota {
  /** Reports of a period replace earlier ones of the same period. */
  note(period: string, report: Period): void;
  /** Null if no period is known. */
  read(): Utilization | null;
  /** Another login may be in use. */
  forget(): void;
}

export interface QuotaOptions {
  /** Undefined: it is forgotten with the process. */
  file?: string | undefined;
  /** The file of the login. Only its times are looked at. */
  login?: string;
  now?: () => number;
}

/** A period without a known end is forgotten after this time. */
const forgetMs = 5 * 3600_000;

type Kept = Period & { at: number };

export function openQuota({ file, login, now = Date.now }: QuotaOptions = {}): Quota {
  const stamp = () => (login === undefined ? undefined : stampOf(login)) ?? null;
  const found = file === undefined ? undefined : readKept(file);
  const periods = new Map<string, Kept>(Object.entries(found?.periods ?? {}));
  let notedFor = found?.login ?? stamp();

  function save(): void {
    if (file === undefined) return;
    try {
      replaceFile(file, { login: notedFor, periods: Object.fromEntries(periods) });
    } catch {
      // On a full disk it is known until the daemon stops.
    }
  }

  function dropOfOtherLogin(): void {
    if (notedFor === stamp()) return;
    periods.clear();
    notedFor = stamp();
  }

  return {
    note(period, { used, resetsAt }) {
      dropOfOtherLogin();
      const before = periods.get(period);
      periods.set(period, { used, resetsAt, at: now() });
      if (before?.used !== used || before.resetsAt !== resetsAt) save();
    },
    read() {
      dropOfOtherLogin();
      const current = [...periods.values()].filter(
        ({ resetsAt, at }) => now() < (resetsAt ?? at + forgetMs),
      );
      const fullest = current.sort((one, other) => other.used - one.used)[0];
      return fullest ? { percent: fullest.used, at: fullest.at } : null;
    },
    forget() {
      periods.clear();
      save();
    },
  };
}

/** undefined if there is none, or if it cannot be read: an unknown quota counts as unused. */
function readKept(
  file: string,
): { login: string | null; periods: Record<string, Kept> } | undefined {
  try {
    const kept = readJson(file) as { login: string | null; periods: Record<string, Kept> };
    return typeof kept?.periods === "object" ? kept : undefined;
  } catch {
    return undefined;
  }
}
