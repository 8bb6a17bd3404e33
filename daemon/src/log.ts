// The daemon's own log: one JSON line per event, with ids and no secrets. Callers name the fields; no
// object is logged whole. As a last safeguard, texts that look like our secrets are blanked.

export type Fields = Record<string, string | number | boolean | null | undefined>;

export interface Log {
  info(event: string, fields?: Fields): void;
  warn(event: string, fields?: Fields): void;
}

export function createLog(write: (line: string) => void): Log {
  const say = (level: string) => (event: string, fields?: Fields) => {
    const line = JSON.stringify({ at: new Date().toISOString(), level, event, ...fields });
    write(`${line.replace(secrets, "REDACTED")}\n`);
  };
  return { info: say("info"), warn: say("warn") };
}

/** Discards everything. */
export const silentLog: Log = { info() {}, warn() {} };

/** Every secret that begins with a prefix of the service, seeds of keys, and signed tokens. */
const secrets = /\bhw[a-z]_[0-9a-z_]{16,}|\bS[UAO][A-Z2-7]{54,}|\beyJ[\w-]+\.[\w-]+\.[\w-]+/g;

/** An error's message and its causes, as one sentence for a log line. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error ? `${message} (${describe(cause)})` : message;
}
