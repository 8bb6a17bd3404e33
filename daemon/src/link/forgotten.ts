// The two answers that concern the pairing itself: the host was removed, or the control plane does not find it.

/** The control plane has proven that it removed this host: the daemon deletes its credentials and stops. */
export class Forgotten extends Error {
  constructor() {
    super("The control plane has removed this host.");
  }
}

/** Shown while the control plane does not find this host. The host keeps everything and asks again. */
export const unknownHostWarning =
  "The control plane does not find this host. The host keeps its credentials and its agents, and asks " +
  "again by itself. If this lasts, ask the operator of the service whether records were lost. If the host " +
  "was removed on purpose, run: hawserd uninstall";
