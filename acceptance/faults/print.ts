// Prints the result of a run in a few lines, and how to repeat a run that broke a promise.
import type { RotationResult } from "./rotations.ts";
import type { RunResult } from "./run.ts";
import type { ScheduleFaultResult } from "./schedules.ts";
import type { ApprovalsResult } from "./sessions/run-approvals.ts";
import type { SessionsResult } from "./sessions/run-sessions.ts";
import type { UpFaultResult } from "./up.ts";
import type { Violation } from "./violation.ts";
import type { WebhookFaultResult } from "./webhooks.ts";

export function printLink(result: RunResult): void {
  const { done, failed, unknown } = result.commands;
  const parts = [
    `${result.fault}: ${result.injections.length} injections`,
    `commands ${done} done / ${failed} failed visibly / ${unknown} unknown`,
    `${result.entries} entries applied`,
    `online after ${result.onlineMs} ms, quiet after ${result.quietMs} ms`,
  ];
  const again = `link --fault ${result.fault} --seed ${result.seed}`;
  print(parts, result, again, result.injections);
}

export function printSessions(result: SessionsResult): void {
  const { accepted, refused, unknown } = result.prompts;
  const outcomes = Object.entries(result.outcomes).map(([name, count]) => `${count} ${name}`);
  const unnoticed = result.unnoticedMs.toSorted((a, b) => a - b);
  const parts = [
    `sessions of ${result.kinds.join(", ")}: ${result.kills.length} kills and cuts`,
    `prompts ${accepted} accepted / ${refused} refused / ${unknown} unknown`,
    `turns ${outcomes.join(" / ")}`,
    `${result.entries} entries`,
    `${unnoticed.length} ends without a notice seen after at most ${unnoticed.at(-1) ?? 0} ms`,
  ];
  const again = `sessions --kinds ${result.kinds.join(",")} --seed ${result.seed}`;
  print(parts, result, again, result.kills);
}

export function printApprovals(result: ApprovalsResult): void {
  const told = Object.entries(result.told).map(([name, count]) => `${count} ${name}`);
  const sorted = result.acceptedMs.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  const parts = [
    `approvals: ${result.kills.length} kills`,
    `${result.requests} requests`,
    `callers received ${told.join(" / ")}`,
    `answer to accepted by the agent p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`,
  ];
  print(parts, result, `approvals --seed ${result.seed}`, result.kills);
}

export function printRotation(result: RotationResult): void {
  const parts = [
    `rotation of the ${result.key} key with ${result.hosts} hosts`,
    `${result.commands} commands, ${result.repeated} of them repeated, ${result.refused} refused for the moment, ${result.lost.length} lost`,
    `shown offline ${result.offline.length}, moving ${result.moving}`,
    `${result.returned} hosts returned`,
  ];
  print(parts, result, `rotation --key ${result.key} --hosts ${result.hosts}`, []);
}

export function printSchedules(result: ScheduleFaultResult): void {
  const { median, longest } = result.startedMs;
  const parts = [
    `${result.schedules} schedules due at once: ${result.injections.length} injections`,
    `started after ${median} ms at the median, ${longest} ms at most`,
  ];
  print(parts, result, `schedules --schedules ${result.schedules}`, result.injections);
}

export function printWebhooks(result: WebhookFaultResult): void {
  const { median, p99 } = result.otherMs;
  const parts = [
    `${result.deliveries} deliveries to receivers that fail at random: ${result.injections.length} injections`,
    `${result.messages} messages, ${result.repeats} accepted again`,
    `another organization's events arrived after ${median} ms at the median, p99 ${p99} ms`,
    `what the killed node was sending after ${result.interruptedMs} ms`,
  ];
  const again = `webhooks --deliveries ${result.deliveries} --seed ${result.seed}`;
  print(parts, result, again, result.injections);
}

export function printUp(result: UpFaultResult): void {
  const parts = [
    `${result.kills} kills of hawser up and its parts`,
    `${result.starts} next starts worked`,
    `ready after ${result.readyMs.median} ms at the median, at most ${result.readyMs.most} ms`,
  ];
  print(parts, result, `up --kills ${result.kills} --seed ${result.seed}`, result.injections);
}

function print(
  parts: string[],
  { violations, seconds }: { violations: Violation[]; seconds: number },
  again: string,
  injections: string[],
): void {
  const count = violations.length;
  const end = count === 0 ? "history good" : `${count} VIOLATIONS`;
  console.log([...parts, end, `${seconds} s`].join(", "));
  for (const [rule, all] of Map.groupBy(violations, ({ rule }) => rule)) {
    console.log(`  ${rule}: ${all.length}`);
    for (const { lines } of all.slice(0, 3)) console.log(`    ${lines.join("\n    ")}`);
  }
  if (count === 0) return;
  console.log(`  again: npm run faults -- ${again}\n  injected:`);
  for (const line of injections) console.log(`    ${line}`);
}
