// The end of a pairing.

/** The control plane does not know this host, or no longer: the daemon forgets its credentials and stops. */
export class Forgotten extends Error {
  constructor() {
    super("The control plane does not know this host any more.");
  }
}
