// The agents that the service ships, as its published manifest lists them. The manifest is accepted if a
// trusted key has signed it, it is valid by the service's clock, and no later one was used before.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentKind } from "@hawser/contract";
import {
  AgentManifest,
  ManifestRefused,
  isNewer,
  readManifest,
  type PublishedAgent,
} from "@hawser/host-protocol";
import { describe } from "../log.ts";
import { replaceFile } from "../state/replace-file.ts";
import { InstallRefused } from "./refused.ts";

export interface ShippedOptions {
  serverUrl: string;
  /** The agents' directory, which contains the last serial. */
  directory: string;
  trustedKeys: readonly string[];
  platform: string;
  /** The time by the service's clock, in milliseconds. */
  now: () => number;
}

const patienceMs = 5_000;
const largestManifest = 1024 * 1024;

/** The newest version of a kind for this platform. Throws InstallRefused. */
export async function findShipped(
  options: ShippedOptions,
  kind: AgentKind,
  signal: AbortSignal,
): Promise<PublishedAgent> {
  const { serial, agents } = await fetchManifest(options, signal);
  const file = join(options.directory, "serial.json");
  const known = readSerial(file);
  if (serial < known) {
    const message = `The service published an older list of agents (${serial}) than this host has used before (${known}). Its operator must publish a newer one.`;
    throw new InstallRefused("manifest_refused", message);
  }
  if (serial > known) {
    mkdirSync(options.directory, { recursive: true });
    replaceFile(file, { serial });
  }
  const { platform } = options;
  const fitting = agents.filter((agent) => agent.kind === kind && agent.platform === platform);
  const [newest] = fitting.sort((a, b) => (isNewer(a.version, b.version) ? -1 : 1));
  if (newest) return newest;
  throw new InstallRefused("not_published", `The service ships no ${kind} for ${platform}.`);
}

function readSerial(file: string): number {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
  const { serial } = JSON.parse(text) as { serial?: unknown };
  if (typeof serial === "number") return serial;
  throw new Error(
    `The file ${file} is damaged. Remove it if you trust the service's present list.`,
  );
}

async function fetchManifest(options: ShippedOptions, signal: AbortSignal): Promise<AgentManifest> {
  const { serverUrl, trustedKeys, now } = options;
  if (trustedKeys.length === 0) {
    const message = "This daemon was not installed from a release, so it trusts no list of agents.";
    throw new InstallRefused("manifest_refused", message);
  }
  for (let tries = 1; ; tries++) {
    const manifest = await get(serverUrl, "agents.json", signal);
    const signature = await get(serverUrl, "agents.json.sig", signal);
    try {
      return readManifest(AgentManifest, manifest, signature, trustedKeys, now());
    } catch (error) {
      if (!(error instanceof ManifestRefused)) throw error;
      // Another manifest may have been published between the two requests.
      if (error.code === "not_signed" && tries === 1) continue;
      const message = `The service's list of agents is not used. ${error.message}`;
      throw new InstallRefused("manifest_refused", message, { cause: error });
    }
  }
}

async function get(serverUrl: string, file: string, signal: AbortSignal): Promise<Buffer> {
  let response: Response;
  let bytes: Buffer;
  try {
    response = await fetch(new URL(`/releases/${file}`, serverUrl), {
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]),
    });
    const parts: Uint8Array[] = [];
    let length = 0;
    for await (const part of response.body ?? []) {
      length += (part as Uint8Array).length;
      if (length > largestManifest) throw new Error("It is too long.");
      parts.push(part as Uint8Array);
    }
    bytes = Buffer.concat(parts);
  } catch (cause) {
    const message = `The service's list of agents could not be read: ${describe(cause)}`;
    throw new InstallRefused("download_failed", message, { cause });
  }
  if (response.status === 200) return bytes;
  if (response.status === 404) {
    const message =
      "The service publishes no agents. Its operator must put agents.json and its signature into HAWSER_RELEASES.";
    throw new InstallRefused("not_published", message);
  }
  const message = `The service's list of agents could not be read: it answered ${response.status}.`;
  throw new InstallRefused("download_failed", message);
}
