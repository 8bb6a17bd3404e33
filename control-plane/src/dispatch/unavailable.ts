// The answer to a call that the database did not serve.
import { Refusal } from "@hawser/contract";
import { StatementTimeout, type DatabaseUnavailable } from "../postgres/database.ts";

export function unavailable(error: DatabaseUnavailable): Refusal {
  const why =
    error instanceof StatementTimeout
      ? "The database did not finish this in time. Try again. If that does not help, ask for less at once, for example with the action's filters."
      : "The service cannot reach its database right now. Try again.";
  const once = "Use the same idempotency key to be sure that a change happens once.";
  return new Refusal("unavailable", `${why} ${once}`, { retryAfterMs: 1000 });
}
