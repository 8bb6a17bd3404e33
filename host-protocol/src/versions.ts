// Supported daemon versions. The control plane supports daemons of three minor versions. An older one is
// refused with the advice to update. A daemon answers an unknown command with `daemon_outdated`.

/** Raised when a message changes in a way that an older side would misread. */
export const protocolVersion = 1;

export function understands(protocol: number): boolean {
  return protocol === protocolVersion;
}
