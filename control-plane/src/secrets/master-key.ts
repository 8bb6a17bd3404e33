// The master keys, which encrypt every stored secret. They are read from a file or a command, never from
// the database, and never from the environment itself, where other processes could read them.
//
// There is one key, or two during a rotation. Both decrypt; the last one encrypts.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { ConfigError, type Config } from "../config.ts";

export interface MasterKey {
  /** Stored beside what the key has encrypted. It shows nothing of the key. */
  id: string;
  key: Buffer;
}

export interface MasterKeys {
  /** One or two, oldest first. The last one encrypts. */
  all(): readonly MasterKey[];
  /** Reads them again: a rotation adds a key while nodes run. Throws a ConfigError. */
  reload(): Promise<void>;
}

export async function readMasterKeys(config: MasterKeySettings): Promise<MasterKeys> {
  let keys = parseKeys(await masterKeyText(config));
  return {
    all: () => keys,
    async reload() {
      keys = parseKeys(await masterKeyText(config));
    },
  };
}

const keyCommandMs = 10_000;

type MasterKeySettings = Pick<Config, "masterKeyFile" | "masterKeyCommand">;

function parseKeys(text: string): MasterKey[] {
  const lines = text.trim().split(/\s+/);
  if (lines.length > 2 || lines.some((line) => !/^[0-9a-f]{64}$/i.test(line))) {
    throw new ConfigError(
      "The master key must be 64 hexadecimal digits, or two such lines during a rotation; check that each key has its own line. For a new service, make one with: openssl rand -hex 32",
    );
  }
  return lines.map((line) => masterKeyOf(Buffer.from(line, "hex")));
}

export function masterKeyOf(key: Buffer): MasterKey {
  const hash = createHash("sha256").update("hawser master key id 1\n").update(key);
  return { id: hash.digest("hex").slice(0, 16), key };
}

async function masterKeyText(settings: MasterKeySettings): Promise<string> {
  const { masterKeyFile, masterKeyCommand } = settings;
  if (masterKeyFile) {
    return readFile(masterKeyFile, "utf8").catch((cause: unknown) => {
      throw new ConfigError(
        `The master key file ${masterKeyFile} cannot be read: ${(cause as Error).message}. Correct HAWSER_MASTER_KEY_FILE, or let this user read the file.`,
        { cause },
      );
    });
  }
  if (masterKeyCommand) {
    return runKeyCommand(masterKeyCommand);
  }
  throw new ConfigError(
    "A node needs its master key: set HAWSER_MASTER_KEY_FILE or HAWSER_MASTER_KEY_COMMAND. Make one with: openssl rand -hex 32",
  );
}

async function runKeyCommand(command: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)("/bin/sh", ["-c", command], {
      timeout: keyCommandMs,
    });
    return stdout;
  } catch (cause) {
    // The message of execFile repeats the command, which may contain a secret.
    const { code, killed } = cause as { code?: number | string; killed?: boolean };
    const how = killed ? `did not end within ${keyCommandMs / 1000} s` : `ended with ${code}`;
    throw new ConfigError(
      `The command in HAWSER_MASTER_KEY_COMMAND ${how}. It must print the master key and end with 0.`,
      { cause },
    );
  }
}
