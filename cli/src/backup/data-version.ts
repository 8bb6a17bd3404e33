// Whether the programs of this machine can open the data. Data is never upgraded or replaced by itself.
import { existsSync, readFileSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { CommandFailed } from "../command-failed.ts";
import { carryOver } from "./carry-over.ts";

/** In a finished new cluster, until it has its name. */
export const finishedMark = "hawser-upgraded";

/**
 * Finishes what a killed restore or upgrade left one step before its end. Call it while the lock is held,
 * before anything else is done with the data.
 */
export function settleData(dataDirectory: string): void {
  carryOver(dataDirectory);
  const [cluster, next] = ["postgres", "postgres.next"].map((name) => join(dataDirectory, name));
  const isBetweenRenames =
    !existsSync(cluster!) &&
    existsSync(join(next!, finishedMark)) &&
    readdirSync(dataDirectory).some((name) => /^postgres\.\d+-/.test(name));
  if (isBetweenRenames) renameSync(next!, cluster!);
}

/**
 * Throws a sentence if none of these major versions of PostgreSQL can open the data. Returns the major version
 * of the data; undefined if there is none.
 */
export function checkDataVersion(
  dataDirectory: string,
  { majors }: { majors: readonly number[] },
): number | undefined {
  settleData(dataDirectory);
  const file = join(dataDirectory, "postgres/PG_VERSION");
  if (!existsSync(file)) {
    refuseInterruptedRestore(dataDirectory);
    return undefined;
  }
  const major = Number.parseInt(readFileSync(file, "utf8"), 10);
  if (majors.includes(major)) return major;
  const here = majors.length === 0 ? "none" : majors.toSorted((a, b) => a - b).join(", ");
  const newest = Math.max(0, ...majors);
  throw new CommandFailed(
    major < newest
      ? `The data in ${dataDirectory} is of PostgreSQL ${major}, and this machine has ${here}. Install PostgreSQL ${major} beside it, and start again. To move the data to PostgreSQL ${newest}, run "hawser up --upgrade-database" then. The data was not changed.`
      : `The data in ${dataDirectory} is of PostgreSQL ${major}, and this machine has ${here}, which cannot open newer data. Install PostgreSQL ${major}. The data was not changed.`,
  );
}

/** Between its two renames, a restore leaves no data directory. A new service in its place would hide that. */
function refuseInterruptedRestore(dataDirectory: string): void {
  const next = `${dataDirectory}.restoring`;
  if (!existsSync(join(next, "postgres/PG_VERSION"))) return;
  throw new CommandFailed(
    `A restore into ${dataDirectory} was interrupted. Run "hawser restore" again with the same backup. To start a new service instead, remove ${next} first.`,
  );
}
