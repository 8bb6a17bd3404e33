// The client for commands in a shell. It reports on standard error what a call waits for, and gives up soon if
// no service listens at the address.
import { createClient, Refused, Unanswered, type Client } from "@hawser/client";
import { CommandFailed } from "./command-failed.ts";
import { fetchFromOwn } from "./listener.ts";
import type { Login } from "./settings.ts";
import { printNotice } from "./terminal.ts";

export interface Connection extends Disposable {
  client: Client;
  /** Aborted with a `CommandFailed` if no service listens at the address. */
  signal: AbortSignal;
  /** Sends a request like those of the client. */
  fetch: typeof fetch;
  url: string;
  key: string;
}

interface ConnectOptions {
  /** Names the result in messages, such as "the answer of whoami". */
  waitsFor: string;
  deadlineMs: number;
  /** How long to try again if a service that has answered listens no longer. */
  unreachableMs: number;
  /** Reports only failures. */
  isQuiet?: boolean;
}

/** A wait that is longer is reported. */
const quietMs = 1_000;
export const noConnection = 3;
/** For single calls and first connections: a service that restarts is back within this time. */
export const unreachableMs = 5_000;

const unreachable = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];

export function connect(login: Login, options: ConnectOptions): Connection {
  checkLogin(login);
  const { url, key } = login;
  const send = login.isOwn ? fetchFromOwn : fetch;
  const given = new AbortController();
  const startedAt = performance.now();
  /** When an address without a service was first found; undefined while a service answers. */
  let missingSince: number | undefined;
  let patienceMs = Math.min(unreachableMs, options.unreachableMs);
  const waiting = options.isQuiet ? undefined : `Waiting for ${options.waitsFor} …`;
  let state = waiting;
  let shown: string | undefined;

  const show = () => {
    if (state === shown || performance.now() - startedAt < quietMs) return;
    if (state !== undefined) printNotice(state);
    else if (shown !== undefined) printNotice("Connected again.");
    shown = state;
  };
  const timer = setInterval(show, 250).unref();
  const failed = (why: string) => {
    state = `${why} Trying again …`;
    show();
  };

  const observed: typeof fetch = async (...request) => {
    try {
      const response = await send(...request);
      missingSince = undefined;
      patienceMs = options.unreachableMs;
      if (response.ok) state = waiting;
      else failed(await refusalIn(response.clone()));
      return response;
    } catch (error) {
      if (error instanceof CommandFailed) {
        given.abort(error);
        throw error;
      }
      const { code, message } = causeOf(error);
      failed(`${url} does not answer (${message}).`);
      if (unreachable.includes(code)) {
        missingSince ??= performance.now();
        if (performance.now() - missingSince >= patienceMs) {
          given.abort(new CommandFailed(nothingListens(url, message), noConnection));
        }
      }
      throw error;
    }
  };
  return {
    client: createClient({ url, key, deadlineMs: options.deadlineMs, fetch: observed }),
    signal: given.signal,
    fetch: observed,
    url: url.replace(/\/+$/, ""),
    key,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

function checkLogin({ url, key }: Login): void {
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw new CommandFailed(
      `The address of the service is not an http or https address: ${url}. Correct HAWSER_URL.`,
      2,
    );
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new CommandFailed("The key contains characters that no key has. Correct HAWSER_KEY.", 2);
  }
}

const nothingListens = (url: string, why: string) =>
  `No service answers at ${url} (${why}). Start it with "hawser up", or correct HAWSER_URL.`;

function causeOf(error: unknown): { code: string; message: string } {
  const { message, cause } = error as Error & { cause?: Error & { code?: string } };
  const code = cause?.code ?? "";
  return { code, message: cause?.message || code || message };
}

async function refusalIn(response: Response): Promise<string> {
  const body = (await response.json().catch(() => undefined)) as
    | { error?: { code?: string; message?: string } }
    | undefined;
  const { code, message } = body?.error ?? {};
  return code ? `${message} (${code})` : `The answer was ${response.status}.`;
}

/** The error as a sentence for the user, with the next step; undefined if the program itself is wrong. */
export function explain(error: unknown): CommandFailed | undefined {
  if (error instanceof CommandFailed) return error;
  if (error instanceof Refused) return new CommandFailed(describeRefusal(error), 1);
  if (error instanceof Unanswered) {
    const again = error.idempotencyKey
      ? ` If it changes something, it is not known whether it did. Repeat it with --idempotency-key ${error.idempotencyKey}: it takes effect once.`
      : "";
    return new CommandFailed(`${error.message}${again}`, noConnection);
  }
  // The client's own sentence about an answer of another program.
  if (error instanceof Error && error.message.includes("is not Hawser")) {
    return new CommandFailed(error.message, noConnection);
  }
  return undefined;
}

function describeRefusal({ message, code, refusal }: Refused): string {
  const { nextAction, incidentId, sessionId } = refusal;
  const lines = [message];
  if (nextAction) lines.push(`Next: hawser call ${nextAction}`);
  if (sessionId) lines.push(`Session: ${sessionId}`);
  lines.push(`Code: ${code}${incidentId ? `, incident ${incidentId}` : ""}`);
  return lines.join("\n");
}
