// Calls an action until it is answered, refused for good, or out of time. Every attempt has an idempotency
// key, so a change takes effect once however often it is sent. Reads ignore the key.
import type { CallOptions } from "./actions.ts";
import { Refused, Unanswered } from "./errors.ts";
import { repeat } from "./repeat.ts";
import { broken, request, type Service } from "./request.ts";

export async function call(
  service: Service,
  action: string,
  body: unknown = {},
  options: CallOptions = {},
): Promise<unknown> {
  const text = JSON.stringify(body);
  let idempotencyKey = options.idempotencyKey ?? (await randomKey());
  return await repeat(service, options, {
    async attempt(signal) {
      const response = await request(service, action, `/api/rest/actions/${action}`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": idempotencyKey },
        body: text,
        signal,
      });
      const answer: unknown = await response
        .json()
        .catch((error: unknown) => broken(action, error));
      return (answer as { result: unknown }).result;
    },
    async mayRepeat(error) {
      if (error instanceof Unanswered) error.idempotencyKey = idempotencyKey;
      if (!isStored(error)) return true;
      // The same key would repeat the refusal. Only the caller can replace a key that it chose.
      if (options.idempotencyKey !== undefined) return false;
      idempotencyKey = await randomKey();
      return true;
    },
  });
}

/**
 * Whether the service keeps the refusal for the key. It keeps what the action itself refused. It keeps neither
 * its own faults and limits nor an outcome that is not known.
 */
function isStored(error: unknown): boolean {
  return error instanceof Refused && error.status === 409 && error.code !== "in_progress";
}

/** 128 random bits. Not randomUUID, which browsers offer to pages with https only. */
async function randomKey(): Promise<string> {
  const { crypto } = globalThis as { crypto?: Crypto };
  const bytes = (crypto ?? (await cryptoOfNode())).getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

type Crypto = typeof globalThis.crypto;

/** Node 18 has no global crypto. The name is a variable and marked, so that bundlers for browsers ignore it. */
async function cryptoOfNode(): Promise<Crypto> {
  const name = "node:crypto";
  const module: unknown = await import(/* webpackIgnore: true */ /* @vite-ignore */ name);
  return (module as { webcrypto: Crypto }).webcrypto;
}
