// `hawser db url`: the address of the database, for psql and other tools.
import { resolve } from "node:path";
import type { Command } from "commander";
import { commandFor } from "../command-for.ts";
import { CommandFailed } from "../command-failed.ts";
import { dataDirectory, readSettings } from "../settings.ts";
import { companyDatabase } from "./database.ts";
import { clusterMajor, databaseUrl } from "./postgres.ts";
import { runningUp } from "./run-state.ts";

export function addDb(program: Command): void {
  program
    .command("db")
    .description("commands for the database")
    .command("url")
    .description("print the address of the database, for psql; it connects as an administrator")
    .option("--data <directory>", "the data directory (default ~/.hawser-server)")
    .action((options: { data?: string }) => {
      console.log(urlOf(resolve(dataDirectory(options.data))));
    });
}

function urlOf(data: string): string {
  const { postgresUrl } = readSettings(data);
  if (postgresUrl) return companyDatabase(data, postgresUrl).ownerUrl;
  if (clusterMajor(data) === undefined) {
    throw new CommandFailed(
      `There is no database in ${data}. To make one: ${commandFor(data, "up")}`,
    );
  }
  if (!runningUp(data)) {
    throw new CommandFailed(
      `PostgreSQL does not run, because Hawser does not. To start it: ${commandFor(data, "up")}`,
    );
  }
  return databaseUrl(data, "postgres", "hawser");
}
