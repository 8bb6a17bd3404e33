// Which addresses are on the internet. All others are this host or its network, whose servers may trust
// whoever can reach them; a caller's address must not lead the daemon there.
import { BlockList, isIPv4, isIPv6 } from "node:net";

const insideV4 = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const) {
  insideV4.addSubnet(network, prefix, "ipv4");
}

/** The only IPv6 range in use; parts of it stand for other addresses, or for none. */
const outsideV6 = new BlockList();
outsideV6.addSubnet("2000::", 3, "ipv6");
const exceptV6 = new BlockList();
for (const [network, prefix] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const) {
  exceptV6.addSubnet(network, prefix, "ipv6");
}

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !insideV4.check(address, "ipv4");
  if (!isIPv6(address)) return false;
  return outsideV6.check(address, "ipv6") && !exceptV6.check(address, "ipv6");
}
