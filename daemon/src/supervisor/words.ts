// What a supervisor and the daemons it starts say to each other, over Node's own channel between a
// parent and its child. A supervisor is replaced only when its service is started anew, so it may be
// older than the daemon it starts: a word keeps its meaning for ever, and unknown ones are passed over.

/** From a daemon to its supervisor. */
export type Report =
  /** Started in standby: the program has loaded and understands the state directory. */
  | { say: "ready" }
  /** The control plane has accepted its hello, and it takes commands. */
  | { say: "online" }
  /** It takes no more commands and has closed its journal. */
  | { say: "quiet" }
  /** This version lies ready on disk: start it in my place. */
  | { say: "start"; version: string };

/** From a supervisor to a daemon. */
export type Order =
  /** To one in standby: open the journal and link. */
  | { say: "take" }
  /** Stop taking commands and close the journal, so that another can have it. */
  | { say: "hand over" }
  /** The other one failed: go on. */
  | { say: "resume"; version: string; reason: string }
  /** The other one serves now. */
  | { say: "leave" };
