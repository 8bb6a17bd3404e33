// What `hawser up` remembers in its data directory, readable by its user alone. Other commands read the
// address and the key from here, unless the environment names others.
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { CommandFailed } from "./command-failed.ts";
import { ownUrl } from "./local-url.ts";
import { readPrivate, writePrivate } from "./private-file.ts";
import { readStoredLogin } from "./stored-login.ts";

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
  return readPrivate(join(directory, "settings.json"), "Restore it from a backup.") ?? {};
}

export function writeSettings(directory: string, settings: Settings): void {
  writePrivate(directory, "settings.json", settings);
}

export interface Login {
  url: string;
  key: string;
  /** Whether it is this user's own service, so that no other user's program may get the key. */
  isOwn: boolean;
}

/**
 * The address and the key for calls: HAWSER_URL and HAWSER_KEY, or those of `hawser login`, or those of this machine's
 * `hawser up`. The stored key is not used if HAWSER_KEY names another one.
 */
export function readLogin(directory: string): Login {
  const { HAWSER_URL, HAWSER_KEY } = process.env;
  if (!HAWSER_URL && HAWSER_KEY === "") {
    throw new CommandFailed(
      "HAWSER_KEY is empty. Set it to a key, or unset it to use the key of hawser login, or the owner's key of this machine's service.",
      2,
    );
  }
  const stored = HAWSER_URL ? undefined : readStoredLogin(directory);
  if (stored) return { url: stored.url, key: HAWSER_KEY ?? stored.key, isOwn: stored.isOwn };
  const own = HAWSER_URL ? {} : readSettings(directory);
  const url = HAWSER_URL || ownUrl(own);
  const key = HAWSER_KEY ?? own.key;
  if (url && key) return { url, key, isOwn: !HAWSER_URL };
  throw new CommandFailed(
    HAWSER_URL
      ? "HAWSER_URL is set and HAWSER_KEY is not. Set HAWSER_KEY to a key of that service."
      : `No service is known here. Start one with "hawser up", log in to one with "hawser login", or set HAWSER_URL and HAWSER_KEY.`,
    2,
  );
}
