// How much of a subscription's quota Claude Code has used. It reports limits only near them, so it is also asked
// after each turn. With an API key there is no quota.
import type { Quota } from "../quota.ts";
import type { RateLimit } from "./messages.ts";
import type { AccountUsage } from "./sdk.ts";

/** Periods of the whole subscription. Others count one model, other programs, or credits that are paid for. */
const counted = ["five_hour", "seven_day"];

/** An event near a limit, or beyond it. Others have no number. */
export function noteLimit(quota: Quota, limit: RateLimit): void {
  const { status, rateLimitType = "", utilization, resetsAt } = limit;
  if (!counted.includes(rateLimitType)) return;
  const used = status === "rejected" ? 100 : (utilization ?? NaN) * 100;
  if (Number.isNaN(used)) return;
  quota.note(rateLimitType, { used, resetsAt: resetsAt === undefined ? null : resetsAt * 1000 });
}

export function noteUsage(quota: Quota, { rate_limits: periods }: AccountUsage): void {
  for (const name of counted) {
    const period = periods?.[name];
    if (typeof period?.utilization !== "number") continue;
    const resetsAt = Date.parse(period.resets_at ?? "");
    quota.note(name, {
      used: period.utilization,
      resetsAt: Number.isNaN(resetsAt) ? null : resetsAt,
    });
  }
}
