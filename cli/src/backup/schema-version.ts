// Whether this version of hawser knows the schema of a database. The control plane's own `migrate` applies
// what is missing and accepts a newer schema, because nodes of two versions run side by side during an
// upgrade (decision 0047). One machine has one version, so here a newer schema is refused.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { CommandFailed } from "../command-failed.ts";
import { runSql, type Server } from "./run-program.ts";

/** The names of the applied migrations, in their order; empty before the first. */
export async function readApplied(server: Server): Promise<string[]> {
  const [exists] = await runSql(server, "SELECT to_regclass('hawser_migrations') IS NOT NULL");
  if (exists !== "t") return [];
  return (await runSql(server, "SELECT name FROM hawser_migrations")).toSorted();
}

/** Throws a sentence if the database has migrations that this package does not contain. */
export async function checkSchemaVersion(server: Server, packageDirectory: string): Promise<void> {
  const unknown = unknownMigrations(await readApplied(server), packageDirectory);
  if (unknown.length === 0) return;
  throw new CommandFailed(
    `The data was used by a newer version of hawser: its database has ${unknown.at(-1)}, which this version does not know. Install that version again, for example with "npx hawser@latest up". The data was not changed.`,
  );
}

/** Migrations that this package does not contain. */
export function unknownMigrations(applied: string[], packageDirectory: string): string[] {
  const known = new Set(readdirSync(join(packageDirectory, "migrations")));
  return applied.filter((name) => !known.has(name));
}
