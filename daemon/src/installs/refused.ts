// Why an agent was not installed, in words for whoever asked, with a stable code.
export class InstallRefused extends Error {
  readonly code: InstallRefusalCode;

  constructor(code: InstallRefusalCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type InstallRefusalCode =
  /** The host's owner does not want it. */
  | "policy_forbids"
  /** The service ships no agents, or not this one for this platform. */
  | "not_published"
  /** The list of agents is not signed, not good any more, or older than one that was used. */
  | "manifest_refused"
  | "download_failed"
  /** What came is not what was published. */
  | "damaged"
  | "disk_full"
  /** The program does not start, or is another version than it should be. */
  | "program_failed"
  | "stopped";
