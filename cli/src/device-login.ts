// How this program gets a key: it asks the service, shows a code, and asks again until a person has approved the code
// in a browser.
import { setTimeout as pause } from "node:timers/promises";
import { CommandFailed } from "./command-failed.ts";
import { noConnection } from "./connect.ts";
import { printNotice } from "./terminal.ts";

export interface Begun {
  deviceCode: string;
  userCode: string;
  verificationUrl: string;
  intervalSeconds: number;
  expiresInSeconds: number;
}

/** Where this program asks, and how: no other user's program may get a secret that is meant for an own service. */
export interface Asked {
  url: string;
  request: typeof fetch;
}

export interface Approved {
  key: string;
  apiKeyId: string;
}

const answerMs = 15_000;
/** Whatever a service says. */
const longestSeconds = 3_600;
const longestPauseMs = 30_000;

export async function beginLogin(asked: Asked, name: string): Promise<Begun> {
  const { url } = asked;
  const { status, body } = await send(asked, "begin", { name }).catch((error: unknown) => {
    if (error instanceof CommandFailed) throw error;
    throw new CommandFailed(
      `No service answers at ${url} (${reasonOf(error)}). Correct the address.`,
      noConnection,
    );
  });
  const begun = body as Partial<Begun & Refused> | undefined;
  if (begun?.error?.code === "unknown_path") {
    throw new CommandFailed(
      `The service at ${url} is older than this command, and has no login. Set HAWSER_URL and HAWSER_KEY instead.`,
    );
  }
  if (begun?.error) throw refused(begun.error);
  const { deviceCode, userCode = "", verificationUrl: page = "" } = begun ?? {};
  const isShown = /^[A-Z-]{1,40}$/.test(userCode) && URL.canParse(page) && /^https?:/.test(page);
  if (status === 200 && deviceCode && isShown) {
    // Without line breaks, which could look like lines of this program.
    return { ...(begun as Begun), verificationUrl: new URL(page).href };
  }
  throw new CommandFailed(
    `The answer of ${url} is not Hawser's. Correct the address.`,
    noConnection,
  );
}

/** Asks until the person has answered, or until the code is too old. */
export async function untilApproved(
  asked: Asked,
  { deviceCode, intervalSeconds, expiresInSeconds }: Begun,
): Promise<Approved> {
  const until = performance.now() + Math.min(expiresInSeconds, longestSeconds) * 1000;
  let pauseMs = Math.min(Math.max(intervalSeconds, 1) * 1000, longestPauseMs);
  let isLost = false;
  while (performance.now() < until) {
    await pause(pauseMs);
    let answer: Partial<Approved & Refused & { state: string }> | undefined;
    try {
      answer = (await send(asked, "poll", { deviceCode })).body as typeof answer;
    } catch (error) {
      if (error instanceof CommandFailed) throw error;
      if (!isLost) printNotice(`${asked.url} does not answer (${reasonOf(error)}). Trying again …`);
      isLost = true;
      continue;
    }
    isLost = false;
    if (answer?.error && answer.error.retry !== "later") throw refused(answer.error);
    if (answer?.state === "approved" && answer.key && answer.apiKeyId) return answer as Approved;
    if (answer?.state === "refused") {
      throw new CommandFailed(
        "It was refused in the browser, or you have signed out there since. No key was made.",
      );
    }
    if (answer?.state === "expired") break;
    if (answer?.state !== "pending") pauseMs = Math.min(pauseMs + 2_000, longestPauseMs);
  }
  throw new CommandFailed(
    'The code is not good any more: nobody approved it in time, or the answer to it was lost. Run "hawser login" again. If you had approved it, also revoke the key that the service lists for this machine.',
  );
}

interface Refused {
  error: { code: string; message: string; retry: string };
}

const refused = ({ code, message }: Refused["error"]) =>
  new CommandFailed(`${message}\nCode: ${code}`);

/** `body` is undefined if the answer is not JSON. */
async function send(
  { url, request }: Asked,
  step: "begin" | "poll",
  body: object,
): Promise<{ status: number; body: unknown }> {
  const response = await request(`${url}/api/sign-in/device/${step}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    redirect: "error",
    signal: AbortSignal.timeout(answerMs),
  });
  return { status: response.status, body: await response.json().catch(() => undefined) };
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error & { cause?: Error & { code?: string } };
  return cause?.message || cause?.code || message;
}
