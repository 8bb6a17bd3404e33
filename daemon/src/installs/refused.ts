// Why an agent was not installed: a stable code, and a message for the caller.
export class InstallRefused extends Error {
  readonly code: InstallRefusalCode;

  constructor(code: InstallRefusalCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type InstallRefusalCode =
  /** The host's owner does not allow it. */
  | "policy_forbids"
  /** The service ships no agents, or not this one for this platform. */
  | "not_published"
  /** The list of agents is not signed, has expired, or is older than one that was used. */
  | "manifest_refused"
  | "download_failed"
  /** The download is not what was published. */
  | "damaged"
  | "disk_full"
  /** The program does not start, or has another version than it should. */
  | "program_failed"
  | "stopped";
