// Compares an answer with its case's label, and describes what is wrong with it.
import { refusals, type RefusalCode } from "@hawser/contract";
import type { Case } from "./cases.ts";
import type { Outcome, Reply } from "./client.ts";

/** What is wrong with the outcome of a case; undefined if it is right. */
export function judge(sent: Case, outcome: Outcome): string | undefined {
  if ("hungUp" in outcome) return sent.unfinished ? undefined : "the client hung up";
  if ("failure" in outcome) return `no answer: ${outcome.failure}`;
  const { reply } = outcome;
  return judgeStatus(sent, reply.status) ?? judgeBody(reply);
}

export function expectation({ label: { verdict, status = 400 }, unfinished }: Case): string {
  if (unfinished) return "nothing done, as the request is never finished";
  if (verdict === "refuse") return `refused with ${status}`;
  return verdict === "accept" ? "accepted: 200, 404 or 409" : "a clean answer, either way";
}

function judgeStatus(sent: Case, status: number): string | undefined {
  const { verdict, status: refusedWith = 400 } = sent.label;
  if (status >= 500) return `status ${status}`;
  const accepted = [200, 404, 409].includes(status);
  if (verdict === "accept" && !accepted) return `${status} where it must be accepted`;
  if (verdict === "refuse" && status !== refusedWith) {
    return `${status} where it must be refused with ${refusedWith}`;
  }
  if (verdict === "either" && !accepted && status !== 400) return `status ${status}`;
  return undefined;
}

const stack = /\n\s+at |node:internal|node_modules|\.[cm]?[jt]s:\d+/;

function judgeBody(reply: Reply): string | undefined {
  if (stack.test(reply.text) || stack.test(unescape(reply.text))) return "a stack in the body";
  if (!/^application\/json\b/.test(reply.contentType)) return `an answer of ${reply.contentType}`;
  let body: unknown;
  try {
    body = JSON.parse(reply.text);
  } catch {
    return "an answer that is not JSON";
  }
  if (typeof body !== "object" || body === null) return "an answer that is no object";
  if (reply.status === 200) {
    return Object.keys(body).join() === "result" ? undefined : "a success without just a result";
  }
  return isErrorBody(body, reply.status) ? undefined : "an error body of unknown shape";
}

/** Line breaks as they were before they were written as JSON. */
function unescape(text: string): string {
  return text.replaceAll("\\n", "\n");
}

function isErrorBody(body: object, status: number): boolean {
  const { error, ...others } = body as { error?: Record<string, unknown> };
  if (Object.keys(others).length > 0 || typeof error !== "object") return false;
  const { code, message, retry, callId, fields = [], ...optional } = error;
  const { retryAfterMs = 0, incidentId = "", ...unknown } = optional;
  return (
    typeof code === "string" &&
    Object.hasOwn(refusals, code) &&
    refusals[code as RefusalCode].status === status &&
    refusals[code as RefusalCode].retry === retry &&
    typeof callId === "string" &&
    typeof message === "string" &&
    message !== "" &&
    Array.isArray(fields) &&
    fields.every(isFieldError) &&
    typeof retryAfterMs === "number" &&
    typeof incidentId === "string" &&
    Object.keys(unknown).length === 0
  );
}

function isFieldError(entry: unknown): boolean {
  const { field, message, ...unknown } = entry as Record<string, unknown>;
  return (
    typeof field === "string" && typeof message === "string" && Object.keys(unknown).length === 0
  );
}
