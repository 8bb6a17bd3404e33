// The commands `hawser backup` and `hawser restore`.
import { join, resolve } from "node:path";
import type { Command } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { CommandFailed } from "../command-failed.ts";
import { findPostgres } from "../engines/find-postgres.ts";
import { dataDirectory } from "../settings.ts";
import { makeBackup, readableSize } from "./make-backup.ts";
import { describeRestored, restoreBackup } from "./restore-backup.ts";

/** This program is lib/server/hawser.mjs of its package. */
const packageDirectory = join(import.meta.dirname, "../..");

const onProgress = (sentence: string) => void process.stderr.write(`${sentence}\n`);

export function addBackup(program: Command): void {
  program
    .command("backup")
    .description("Write everything of this service into one file, while it runs or not.")
    .option("--out <file>", "where to write it (default: a new file in backups/ of the data)")
    .option("--data <directory>", "the data of the service (default: ~/.hawser-server)")
    .action(async (options: { out?: string; data?: string }) => {
      refuseRoot();
      const data = resolve(dataDirectory(options.data));
      const { path, size } = await makeBackup({
        dataDirectory: data,
        out: options.out === undefined ? undefined : resolve(options.out),
        hawser: manifest.version,
        findPostgres: (major) =>
          findPostgres({ dataDirectory: data, packageDirectory, major, onProgress }),
        onProgress,
      });
      process.stdout.write(`${path}  ${readableSize(size)}\n`);
      onProgress(
        "The backup contains every key of this service, also the master key and the operator's seed: it opens everything. Keep it private.",
      );
    });
}

export function addRestore(program: Command): void {
  program
    .command("restore")
    .description(
      "Make the data of a service from a backup of your own: a backup can run programs as you.",
    )
    .argument("<file>", "a file that hawser backup has written")
    .option("--data <directory>", "where to put it (default: ~/.hawser-server)")
    .option("--replace", "move existing data aside; nothing is deleted")
    .action(async (file: string, options: { data?: string; replace?: boolean }) => {
      refuseRoot();
      const data = resolve(dataDirectory(options.data));
      const restored = await restoreBackup({
        file: resolve(file),
        dataDirectory: data,
        replace: options.replace ?? false,
        packageDirectory,
        findPostgres: (place) =>
          findPostgres({ dataDirectory: place, packageDirectory, onProgress }),
        onProgress,
      });
      for (const sentence of describeRestored(data, restored)) {
        process.stdout.write(`${sentence}\n`);
      }
    });
}

function refuseRoot(): void {
  if (process.getuid?.() !== 0) return;
  throw new CommandFailed(
    "PostgreSQL does not run as root. Run this as the user who runs hawser up.",
    2,
  );
}
