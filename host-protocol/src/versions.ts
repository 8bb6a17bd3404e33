// Which daemons are understood. The control plane speaks with daemons of three minor versions; an
// older one is told to update, and an unknown command is answered `daemon_outdated`, never silence.

/** Raised when a message changes in a way that an older side would misread. */
export const protocolVersion = 1;

export function understands(protocol: number): boolean {
  return protocol === protocolVersion;
}
