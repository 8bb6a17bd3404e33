// Structured logs: one JSON line per event, with ids and without secrets. Callers of the logger name
// each field they log. As a last safeguard, texts that look like our own secrets are masked.
import pino from "pino";

/** Characters of lines that wait to be written. Later lines are lost. */
const mostUnwritten = 1024 * 1024;

export type Log = pino.Logger;

export function createLog(level: string): Log {
  const settings = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
    hooks: {
      streamWrite: (line: string) => line.replace(ourSecrets, "hw_REDACTED"),
    },
  };
  // Write synchronously: buffered lines are lost when the process is killed, and a process that ends
  // would try forever to write them to a reader that has gone.
  const destination = pino.destination({ fd: 1, sync: true, maxLength: mostUnwritten });
  // A full disk, for example: without a listener, a line that cannot be written would end the process.
  // Unwritten lines are written when that is possible again.
  destination.on("error", () => {});
  return pino(settings, destination);
}

/** Matches tickets of tunnels, every other secret that begins with a prefix of ours, and secrets of webhooks. */
const ourSecrets = /\b(?:hwt_[\w.-]{16,}|hw[a-z]_[0-9a-z_]{16,}|whsec_[0-9A-Za-z+/=]{16,})/g;

/** A database error contains row values in its detail, so only these fields are logged. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  const code = (error as { code?: unknown }).code;
  return {
    name,
    message,
    code,
    stack,
    ...(cause !== undefined && { cause: describeError(cause) }),
  };
}
