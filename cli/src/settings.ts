// What `hawser up` remembers in its data directory, readable by its user alone. Other commands read the
// address and the key from here, unless the environment names others.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { CommandFailed } from "./command-failed.ts";
import { ownUrl } from "./local-url.ts";

export interface Settings {
  /** The address that callers and hosts use. */
  url?: string;
  /** The key of the first owner. */
  key?: string;
  /** This machine as a host. */
  instanceId?: string;
  /** Ports that were chosen at the first start. */
  ports?: { http: number; nats: number; websocket: number; monitor: number };
  /** The network interface at which the node listens; 127.0.0.1 if undefined. */
  listenHost?: string;
  /** The public address of --url; the loopback address if undefined. */
  publicUrl?: string;
  /** A PostgreSQL of --postgres-url, used instead of an own cluster. */
  postgresUrl?: string;
  /** A NATS of --nats-url, used instead of an own nats-server. */
  nats?: { url: string; websocket: string };
  /** The version and cluster for which the set-up commands have succeeded. */
  setUpFor?: string;
}

/** The data directory: of the option --data, of HAWSER_SERVER_HOME, or ~/.hawser-server. */
export function dataDirectory(option?: string): string {
  const directory =
    option ?? process.env["HAWSER_SERVER_HOME"] ?? join(homedir(), ".hawser-server");
  // Its owner could let this user run programs, signal processes and send keys.
  const found = statSync(directory, { throwIfNoEntry: false });
  if (!found || !process.getuid || found.uid === process.getuid()) return directory;
  throw new CommandFailed(
    `The directory ${directory} belongs to another user. Run hawser as that user, or choose another directory with --data.`,
  );
}

export function readSettings(directory: string): Settings {
  const file = join(directory, "settings.json");
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Settings;
  } catch (error) {
    throw new CommandFailed(
      `${file} is damaged (${(error as Error).message}). Restore it from a backup.`,
    );
  }
}

/** Replaces the file in one step, so that a killed process leaves the old or the new one. */
export function writeSettings(directory: string, settings: Settings): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  chmodSync(directory, 0o700);
  const file = join(directory, "settings.json");
  writeFileSync(`${file}.next`, `${JSON.stringify(settings, undefined, 2)}\n`, {
    mode: 0o600,
    flush: true,
  });
  renameSync(`${file}.next`, file);
}

export interface Login {
  url: string;
  key: string;
  /** Whether it is this user's own service, so that no other user's program may get the key. */
  isOwn: boolean;
}

/**
 * The address and the key for calls: HAWSER_URL and HAWSER_KEY, or those of this machine's `hawser up`. Its
 * owner's key is not used if HAWSER_KEY names another one.
 */
export function readLogin(directory: string): Login {
  const { HAWSER_URL, HAWSER_KEY } = process.env;
  if (!HAWSER_URL && HAWSER_KEY === "") {
    throw new CommandFailed(
      "HAWSER_KEY is empty. Set it to a key, or unset it to use the owner's key of this machine's service.",
      2,
    );
  }
  const own = HAWSER_URL ? {} : readSettings(directory);
  const url = HAWSER_URL || ownUrl(own);
  const key = HAWSER_KEY ?? own.key;
  if (url && key) return { url, key, isOwn: !HAWSER_URL };
  throw new CommandFailed(
    HAWSER_URL
      ? "HAWSER_URL is set and HAWSER_KEY is not. Set HAWSER_KEY to a key of that service."
      : `No service is known here. Start one with "hawser up", or set HAWSER_URL and HAWSER_KEY.`,
    2,
  );
}
