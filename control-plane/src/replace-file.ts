// Files that are written as a whole and to disk: after a kill or a power cut, the old text or the new one is
// there. Only their owner can read them.
//
// A file that belongs to a row of the database is prepared before the commit and published after it. So if
// the file is there, the row is too; if a kill came between, the prepared file is published by the next run.
import { lstat, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { ConfigError } from "./config.ts";

export async function replaceFile(file: string, text: string): Promise<void> {
  await prepareFile(file, text);
  await publishFile(file);
}

/** Throws a ConfigError if the file exists. */
export async function writeNew(file: string, text: string): Promise<void> {
  await refuseExisting(file);
  await replaceFile(file, text);
}

/** Where a file is until it is published. */
export const preparedFile = (file: string) => `${file}.next`;

/** Writes the text beside the file. Replaces what an interrupted run has prepared. */
export async function prepareFile(file: string, text: string): Promise<void> {
  const prepared = preparedFile(file);
  try {
    await rm(prepared, { force: true });
    // The file is new, so no other process has it open.
    const handle = await open(prepared, "wx", 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await syncDirectory(file);
  } catch (cause) {
    throw new ConfigError(`${file} cannot be written: ${(cause as Error).message}.`, { cause });
  }
}

/** Renames the prepared file. No-op if another process has published it. */
export async function publishFile(file: string): Promise<void> {
  await rename(preparedFile(file), file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  await syncDirectory(file);
}

/** undefined if the file is missing. */
export async function readIfThere(file: string): Promise<string | undefined> {
  return readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return undefined;
    throw new ConfigError(`${file} cannot be read: ${cause.message}.`, { cause });
  });
}

/** Throws a ConfigError if the file exists. */
export async function refuseExisting(file: string): Promise<void> {
  const found = await lstat(file).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return undefined;
    throw new ConfigError(`${file} cannot be written: ${cause.message}.`, { cause });
  });
  if (!found) return;
  throw new ConfigError(
    `${file} cannot be written: it is there already. Move it to another place, then run this again.`,
  );
}

async function syncDirectory(file: string): Promise<void> {
  const directory = await open(dirname(file), "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
