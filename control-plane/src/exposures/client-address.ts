// The address of the client behind the proxies in front of this node. Only proxies of the operator are believed.
import { BlockList, isIP } from "node:net";

/** Returns the address that the outermost trusted proxy has seen. */
export type ClientAddress = (
  peer: string | undefined,
  forwardedFor: string | string[] | undefined,
) => string;

/**
 * `proxies`: networks such as 10.1.0.0/16. `onOther` is called for a request that seems to come through another proxy: all
 * clients behind that one have the same address.
 */
export function createClientAddress(
  proxies: readonly string[],
  onOther: (peer: string) => void = () => {},
): ClientAddress {
  const trusted = new BlockList();
  for (const network of proxies) {
    const [address, bits] = network.split("/") as [string, string];
    trusted.addSubnet(address, Number(bits), familyOf(address));
  }
  const isTrusted = (address: string) =>
    isIP(address) > 0 && trusted.check(address, familyOf(address));
  return (peer, forwardedFor) => {
    let address = plain(peer ?? "unknown");
    if (forwardedFor !== undefined && !isTrusted(address)) onOther(address);
    // Each proxy appends the address that it sees, so the list is read from its end.
    const seen = [forwardedFor ?? []].flat().join(",").split(",").toReversed();
    for (const text of seen) {
      if (!isTrusted(address)) break;
      const next = plain(text.trim());
      if (isIP(next) === 0) break;
      address = next;
    }
    return address;
  };
}

const familyOf = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4");

/** IPv4 in an IPv6 socket is IPv4. */
const plain = (address: string) => address.replace(/^::ffff:(?=\d+\.)/i, "");
