// Structured logs, one JSON line an event, with ids and no secrets. Callers of the logger name the
// fields they log; nothing is ever logged whole. As a last wall, texts that look like one of our
// own secrets are blanked.
import pino from "pino";

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
  // At once: what waits to be written is lost with a process that is killed, and one that ends would try
  // for ever to write it to a reader that has gone.
  return pino(settings, pino.destination({ fd: 1, sync: true }));
}

/** API keys and pairing tokens, wherever they would turn up. */
const ourSecrets = /\bhw[kp]_[0-9a-z_]{16,}/g;

/** A database error carries row values in its detail; only what names the fault is kept. */
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
