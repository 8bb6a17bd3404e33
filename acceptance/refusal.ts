// Reads the refusal or the result from a reply, with its type.
import assert from "node:assert/strict";
import type { ErrorBody } from "@hawser/contract";
import type { Reply } from "@hawser/testkit/caller.ts";

/** The refusal in a reply. Fails if the reply is a success. */
export function refusalOf(reply: Reply): ErrorBody["error"] {
  const body = reply.body as Partial<ErrorBody>;
  assert.ok(body.error, `expected a refusal, got ${reply.status}: ${reply.text.slice(0, 300)}`);
  return body.error;
}

/** Asserts status and code, and returns the refusal for further assertions. */
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

/** The result in a reply. Fails if the reply is a refusal. */
export function resultOf(reply: Reply): Record<string, unknown> {
  assert.equal(reply.status, 200, reply.text);
  return (reply.body as { result: Record<string, unknown> }).result;
}
