// The address of a control plane, as its nodes announce it and hosts dial it.

const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Whether callers and hosts may use this address: https, or http on this machine. The install script with
 * the publisher's keys, the key that signs commands and API keys all travel there, so nobody in between may
 * read or change them.
 */
export function isServerUrl(text: string): boolean {
  const url = URL.parse(text);
  if (!url) return false;
  return url.protocol === "https:" || (url.protocol === "http:" && loopback.test(url.hostname));
}
