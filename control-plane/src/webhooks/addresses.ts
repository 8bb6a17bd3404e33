// Which network addresses webhooks may reach (T27). A webhook's address is chosen by a caller, and the node that
// calls it can reach services that callers cannot. So a name is resolved here, each address is checked, and only a
// checked address is connected to: a name that leads elsewhere a moment later changes nothing.
import { Resolver } from "node:dns/promises";
import { BlockList, isIP } from "node:net";

export interface Addresses {
  /** Why a webhook cannot have this address, as the rest of a sentence; null if it can. No name is resolved. */
  objectTo(url: string): string | null;
  /** The addresses that may be connected to. Throws AddressNotAllowed or NameNotFound. */
  find(url: URL, signal: AbortSignal): Promise<Address[]>;
}

export interface Address {
  address: string;
  family: 4 | 6;
}

/** Resolves a name to its addresses; empty if it has none. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>;

export class AddressNotAllowed extends Error {}
export class NameNotFound extends Error {}

/** Addresses of one name that an attempt tries. */
const mostAddresses = 4;

/** The ports of https outside of the operator's own networks. */
const openPorts = [443, 8443];

/** Networks that are not part of the public internet, and addresses that clouds serve metadata at. */
const closed4 = blockList([
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
]);
/** Everything else is local, unassigned, or contains an IPv4 address. */
const public6 = blockList(["2000::/3"]);
/** Parts of it that are for documentation, or contain an IPv4 address. */
const closed6 = blockList(["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]);

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address, bits] = network.split("/") as [string, string];
    list.addSubnet(address, Number(bits), familyName(address));
  }
  return list;
}

function familyName(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

/** Whether an address is part of the public internet. */
export function isPublic(address: string): boolean {
  // An address with a zone, such as fe80::1%eth0, is local.
  if (address.includes("%")) return false;
  return isIP(address) === 6
    ? public6.check(address, "ipv6") && !closed6.check(address, "ipv6")
    : isIP(address) === 4 && !closed4.check(address, "ipv4");
}

/** `networks`: the operator's own networks that webhooks may reach, such as 10.1.0.0/16. */
export function createAddresses(
  networks: readonly string[],
  resolve: Resolve = resolveName,
): Addresses {
  const own = blockList(networks);
  const isOwn = (address: string) =>
    !address.includes("%") && own.check(address, familyName(address));
  const mayReach = (url: URL, address: string) =>
    isOwn(address) || (isPublic(address) && objectToForm(url) === null);

  return {
    objectTo(text) {
      const url = new URL(text);
      const known = knownAddresses(url);
      if (known) {
        if (known.some((address) => mayReach(url, address))) return null;
        return objectToForm(url) ?? "must not lead to a private or reserved address";
      }
      // The name may lead into one of the operator's networks.
      return networks.length > 0 ? null : objectToForm(url);
    },
    async find(url, signal) {
      const found = knownAddresses(url) ?? (await resolve(url.hostname, signal));
      if (found.length === 0) throw new NameNotFound();
      const allowed = found.filter((address) => mayReach(url, address));
      if (allowed.length === 0) throw new AddressNotAllowed();
      return allowed
        .slice(0, mostAddresses)
        .map((address) => ({ address, family: isIP(address) as 4 | 6 }));
    },
  };
}

/** Why an address outside of the operator's networks cannot be used. */
function objectToForm(url: URL): string | null {
  if (url.protocol !== "https:") return "must be an https:// address";
  const port = url.port === "" ? 443 : Number(url.port);
  return openPorts.includes(port) ? null : `must use the port ${openPorts.join(" or ")}`;
}

/** The addresses for which no name server is asked: a number, and what RFC 6761 says about localhost. */
function knownAddresses({ hostname }: URL): string[] | undefined {
  if (/(^|\.)localhost\.?$/.test(hostname)) return ["127.0.0.1", "::1"];
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(host) === 0 ? undefined : [host];
}

/**
 * Asks the name servers of the machine. The system's own function would use a thread for each name, of which a
 * process has four: a few names with slow servers would delay all others.
 */
async function resolveName(name: string, signal: AbortSignal): Promise<string[]> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const cancel = () => resolver.cancel();
  signal.addEventListener("abort", cancel);
  try {
    const both = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return both.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}
