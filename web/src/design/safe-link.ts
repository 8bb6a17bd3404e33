// Addresses in texts of agents. Only addresses of the web are links, and a link shows where it leads.

export interface SafeLink {
  href: string;
  /** The host, to be shown beside the link's words. */
  host: string;
}

/** Undefined for every other scheme, for an address with a login in it, and for one that is relative to this page. */
export function safeLink(address: string): SafeLink | undefined {
  // Browsers ignore control characters inside an address, so "java\tscript:" would be a script.
  // oxlint-disable-next-line no-control-regex -- these are the characters that must not be there
  if (/[\u0000-\u0020\u007f]/.test(address)) return undefined;
  if (!URL.canParse(address)) return undefined;
  const { protocol, username, password, host, href } = new URL(address);
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  if (username !== "" || password !== "") return undefined;
  return { href, host };
}
