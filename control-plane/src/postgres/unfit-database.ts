// Refusals of a command, or of a node that starts, whose database cannot be used. Each says what to do.
import { ConfigError } from "../config.ts";
import { DatabaseUnavailable, ReadOnlyDatabase } from "./database.ts";
import { readOnlyCode } from "./pool.ts";

const notAllowedCode = "42501";

/** `setting` is where the operator has written the address. */
export function unreachable(cause: unknown, setting = "HAWSER_DATABASE_URL"): ConfigError {
  return new ConfigError(
    `PostgreSQL cannot be reached: ${messageOf(cause)}. Check ${setting}, and that the server runs and has a free connection.`,
    { cause },
  );
}

/** Turns what an operator can correct into a ConfigError, and returns other errors as they are. */
export function explainUnfit(error: unknown): unknown {
  const { code } = error as { code?: string };
  if (error instanceof ReadOnlyDatabase || code === readOnlyCode) {
    return new ConfigError(
      "PostgreSQL is read-only. Set HAWSER_DATABASE_URL to the primary, or make the server writable, and run this again.",
      { cause: error },
    );
  }
  if (error instanceof DatabaseUnavailable) return unreachable(error.cause);
  if (code !== notAllowedCode) return error;
  return new ConfigError(
    `PostgreSQL does not allow this: ${messageOf(error)}. Run migrate as the login that owns the schema, and everything else as a login in the roles hawser_app, hawser_system and hawser_sign_in.`,
    { cause: error },
  );
}

/** The same for the login of an administrator, who creates roles and databases. */
export function explainAdmin(error: unknown): unknown {
  const { code } = error as { code?: string };
  if (code !== notAllowedCode) return error;
  return new ConfigError(
    `PostgreSQL does not allow this: ${messageOf(error)}. Set --admin-url to a login that may create roles and databases, such as the superuser.`,
    { cause: error },
  );
}

/** If a name has several addresses and none answers, the error has a code and no message. */
function messageOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}
