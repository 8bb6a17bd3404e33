// The daemon's own log: one JSON line an event, with ids and no secrets. Whoever logs names the
// fields; nothing is logged whole. As a last wall, texts that look like a secret of ours are blanked.

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

/** A log that nobody reads. */
export const silentLog: Log = { info() {}, warn() {} };

/** Pairing tokens and API keys, seeds of keys, and signed tokens, wherever they would turn up. */
const secrets = /\bhw[kp]_[0-9a-z_]{16,}|\bS[UAO][A-Z2-7]{54,}|\beyJ[\w-]+\.[\w-]+\.[\w-]+/g;

/** What an error says, and what caused it, as one sentence for a log line. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error ? `${message} (${describe(cause)})` : message;
}
