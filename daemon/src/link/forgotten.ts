// The end of a pairing.

/** The control plane does not know this host: the daemon deletes its credentials and stops. */
export class Forgotten extends Error {
  constructor() {
    super("The control plane no longer knows this host.");
  }
}
