// The options of `hawser up`, and what they change in the remembered settings.
import { isServerUrl } from "@hawser/host-protocol";
import { CommandFailed } from "../command-failed.ts";
import type { Settings } from "../settings.ts";
import { parsePostgresUrl } from "./database.ts";
import { parseListen } from "./ports.ts";

export interface UpOptions {
  data?: string;
  listen?: string;
  url?: string;
  root: string[];
  /** False with --no-host. */
  host: boolean;
  yes?: boolean;
  json?: boolean;
  postgresUrl?: string;
  natsUrl?: string;
  natsWebsocket?: string;
  service?: boolean;
  upgradeDatabase?: boolean;
}

/** The settings with the options of this start. Throws CommandFailed if an option is wrong. */
export function applyOptions(settings: Settings, options: UpOptions): Settings {
  const next = { ...settings };
  // Arguments are visible to every user of the machine.
  const postgresUrl = options.postgresUrl ?? process.env["HAWSER_POSTGRES_URL"];
  if (options.listen !== undefined) next.listenHost = parseListen(options.listen).host;
  if (options.url !== undefined) next.publicUrl = checkUrl(options.url);
  if (postgresUrl !== undefined) {
    parsePostgresUrl(postgresUrl);
    next.postgresUrl = postgresUrl;
  }
  if (options.natsUrl !== undefined) next.nats = natsOf(options.natsUrl, options.natsWebsocket);
  if (next.listenHost !== undefined && !isLoopback(next.listenHost) && !next.publicUrl) {
    throw new CommandFailed(
      `With --listen ${options.listen} other machines reach this service, so it needs the https:// address of the proxy in front of it: --url https://NAME`,
      2,
    );
  }
  return next;
}

function checkUrl(text: string): string {
  if (isServerUrl(text)) return new URL(text).origin;
  throw new CommandFailed(
    `--url ${text} is not safe: callers and hosts send their keys to it. Use the https:// address of a proxy in front of this service; http:// is accepted for loopback addresses only.`,
    2,
  );
}

/** nats://host:4222 or host:4222, and the WebSocket address beside it. */
function natsOf(url: string, websocket: string | undefined): NonNullable<Settings["nats"]> {
  const [, host, port] = /^(?:nats:\/\/)?([^\s/@"]+?)(?::(\d{1,5}))?\/?$/.exec(url) ?? [];
  if (host === undefined) {
    throw new CommandFailed(`--nats-url needs an address such as nats://nats.internal:4222.`, 2);
  }
  const side = (websocket ?? `${host}:4280`).replace(/^wss?:\/\//, "");
  if (!/^[^\s/@"]+:\d{1,5}$/.test(side)) {
    throw new CommandFailed("--nats-websocket needs host:port, such as nats.internal:4280.", 2);
  }
  return { url: `${host}:${port ?? 4222}`, websocket: side };
}

const isLoopback = (host: string) => /^127\.|^::1$|^localhost$/.test(host);
