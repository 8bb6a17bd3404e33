// A repository on a server that the host's client knows, found by its address in git.
import type { Gh } from "./gh.ts";
import { helperSettings, type Access } from "./repositories.ts";

export interface HostedPlace {
  /** The server's name, as the client knows it. */
  host: string;
  owner: string;
  name: string;
}

const https = /^https:\/\/(?:[^/@]*@)?([^/:@]+)(?::443)?\/(.+)$/i;
const ssh = /^ssh:\/\/(?:[^/@]*@)?([^/:@]+)(?::\d+)?\/(.+)$/i;
const scpLike = /^(?:[^/@:]+@)?([^/@:]+):(?!\/\/)(.+)$/;
/** GitHub's name for ssh over port 443. */
const sshOverHttps = "ssh.github.com";

/** Does not check whether the server exists. undefined for an address of another form. */
export function readHostedAddress(address: string): HostedPlace | undefined {
  const [, found, path] = https.exec(address) ?? ssh.exec(address) ?? scpLike.exec(address) ?? [];
  if (found === undefined || path === undefined) return undefined;
  const named = /^([A-Za-z0-9][\w-]*)\/([\w.-]+?)(?:\.git)?\/?$/.exec(path.replace(/^\/+/, ""));
  const host = found.toLowerCase() === sshOverHttps ? "github.com" : found.toLowerCase();
  if (!named || !/^[a-z0-9][a-z0-9.-]*$/.test(host) || /^\.+$/.test(named[2]!)) return undefined;
  return { host, owner: named[1]!, name: named[2]! };
}

/** undefined if the client does not serve the server. Throws GhError. */
export async function findHostedPlace(
  gh: Gh,
  address: string,
  signal: AbortSignal,
): Promise<HostedPlace | undefined> {
  const place = readHostedAddress(address);
  if (!place || place.host === "github.com") return place;
  // The client would send a token from its environment to any server that is not github.com.
  if (!gh.program()) return undefined;
  return (await gh.knows(place.host, signal)) ? place : undefined;
}

/** Settings by which git gets the account's token from the client, if it has no other. */
export function clientAccess(gh: Gh, { host }: HostedPlace, address: string): Omit<Access, "url"> {
  if (!https.test(address) || !gh.program()) return { settings: [], environment: {} };
  return { settings: [helperSettings(gh, `https://${host}`)], environment: gh.environment };
}

/** Page on which a person can view the branch and open a pull request. */
export const compareUrl = ({ host, owner, name }: HostedPlace, branch: string) =>
  `https://${host}/${owner}/${name}/compare/${branch}?expand=1`;
