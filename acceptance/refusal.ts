// Reading replies: the refusal or the result in one, typed, so that a test says what it means.
import assert from "node:assert/strict";
import type { ErrorBody } from "@hawser/contract";
import type { Reply } from "@hawser/testkit/caller.ts";

/** The refusal in a reply, which must be one. */
export function refusalOf(reply: Reply): ErrorBody["error"] {
  const body = reply.body as Partial<ErrorBody>;
  assert.ok(body.error, `expected a refusal, got ${reply.status}: ${reply.text.slice(0, 300)}`);
  return body.error;
}

/** Asserts status and code, and answers the refusal for a closer look. */
export function assertRefused(
  reply: Reply,
  status: number,
  code: string,
  about = "",
): ErrorBody["error"] {
  const error = refusalOf(reply);
  assert.deepEqual([reply.status, error.code], [status, code], `${about} ${reply.text}`);
  return error;
}

/** Asserts a 400 and that it names this field. */
export function assertInvalid(reply: Reply, field: string, about = ""): void {
  const { fields = [] } = assertRefused(reply, 400, "invalid_input", about);
  const named = fields.map((entry) => entry.field);
  assert.ok(named.includes(field), `${about}: ${field} is not named in ${reply.text}`);
}

/** The result in a reply, which must be a success. */
export function resultOf(reply: Reply): Record<string, unknown> {
  assert.equal(reply.status, 200, reply.text);
  return (reply.body as { result: Record<string, unknown> }).result;
}
