// The key that encrypts every stored secret. It is read from a file or a command, never from the
// database, and never from the environment itself, where other processes could read it.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { ConfigError, type Config } from "../config.ts";

export async function readMasterKey(config: Config): Promise<Buffer> {
  const text = await masterKeyText(config);
  const key = Buffer.from(text.trim(), "hex");
  if (key.length !== 32 || text.trim().length !== 64) {
    throw new ConfigError(
      "The master key must be 64 hexadecimal digits. Make one with: openssl rand -hex 32",
    );
  }
  return key;
}

async function masterKeyText({ masterKeyFile, masterKeyCommand }: Config): Promise<string> {
  if (masterKeyFile) {
    return readFile(masterKeyFile, "utf8").catch((cause: unknown) => {
      throw new ConfigError(`The master key file ${masterKeyFile} cannot be read.`, { cause });
    });
  }
  if (masterKeyCommand) {
    const { stdout } = await promisify(execFile)("/bin/sh", ["-c", masterKeyCommand], {
      timeout: 10_000,
    });
    return stdout;
  }
  throw new ConfigError(
    "A node needs its master key: set HAWSER_MASTER_KEY_FILE or HAWSER_MASTER_KEY_COMMAND. Make one with: openssl rand -hex 32",
  );
}
