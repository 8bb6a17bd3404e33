// The answers to calls that the service makes by itself, with the key of a caller.
import { Refusal, type RefusalCode } from "@hawser/contract";
import type { Answer } from "../dispatch/dispatcher.ts";

/**
 * `later`: the call may pass, or may have passed already, so the same call is made again. `forbidden`: the key may
 * not do it, on any host. Both are sentences.
 */
export type OwnAnswer =
  | { result: Record<string, unknown> }
  | { refusal: Refusal }
  | { later: string; isUnknown: boolean; sessionId: string | undefined }
  | { forbidden: string };

const laterCodes: readonly RefusalCode[] = [
  "in_progress",
  "unavailable",
  "internal",
  "rate_limited",
  "concurrency_limited",
];
const rightCodes: readonly RefusalCode[] = ["forbidden", "unauthenticated"];

export function readOwnAnswer(answer: Answer): OwnAnswer {
  if ("result" in answer) return { result: answer.result as Record<string, unknown> };
  const { code, message, details } = answer.refusal;
  if (laterCodes.includes(code)) {
    return { later: message, isUnknown: code === "in_progress", sessionId: details.sessionId };
  }
  return rightCodes.includes(code) ? { forbidden: message } : { refusal: answer.refusal };
}

/**
 * The end of the idempotency key of a call, if earlier ones reached their host too late. Under their keys every
 * retry would get that refusal.
 */
export const lateSuffix = ({ late_calls }: { late_calls: number }) =>
  late_calls > 0 ? `:${late_calls}` : "";

/** The refusal if every call of ten minutes reached its host too late. */
export const neverInTime = () =>
  new Refusal(
    "host_offline",
    "For ten minutes, no call reached the host in time, so it has done nothing.",
  );
