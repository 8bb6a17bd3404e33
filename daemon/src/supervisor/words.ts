// The messages between a supervisor and its daemons, over Node's channel between a parent and its child.
// A supervisor is replaced only when its service restarts, so it may be older than the daemon it starts.
// Therefore a word keeps its meaning for ever, and unknown words are ignored.

/** From a daemon to its supervisor. */
export type Report =
  /** In standby: the program has loaded and understands the state directory. */
  | { say: "ready" }
  /** The control plane has accepted the hello, and the daemon accepts commands. */
  | { say: "online" }
  /** The daemon accepts no more commands and has closed its journal. */
  | { say: "quiet" }
  /** This version is ready on disk: start it instead of me. */
  | { say: "start"; version: string };

/** From a supervisor to a daemon. */
export type Order =
  /** To a daemon in standby: open the journal and link. */
  | { say: "take" }
  /** Accept no more commands and close the journal, so that another daemon can open it. */
  | { say: "hand over" }
  /** The other daemon failed: continue. */
  | { say: "resume"; version: string; reason: string }
  /** The other daemon serves now: stop. */
  | { say: "leave" };
