// The account that codex is logged in to. Codex asks the account's service about it.
import type { AppServer } from "./app-server.ts";
import { CallRefused } from "./connection.ts";
import type { Answers } from "./protocol.ts";

/** Codex itself waits up to 15 seconds for the service. */
const readMs = 20_000;

/** `account` is null if codex has no login, or one that the service rejects. Throws like a call. */
export async function readLogin(server: AppServer): Promise<Answers["account/read"]> {
  try {
    return await server.call("account/read", {}, readMs);
  } catch (error) {
    const isRejected = error instanceof CallRefused && /sign in again/i.test(error.message);
    if (!isRejected) throw error;
    return { account: null, requiresOpenaiAuth: true };
  }
}
