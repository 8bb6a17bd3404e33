// How nodes and daemons of different versions work together. Either may be the newer one: hosts are updated
// one by one, and nodes may be rolled back under daemons that stay.
//
// - A sender writes what its schemas declare. A receiver reads with `received`: fields that it does not know
//   are left out, and so are list elements of unknown kinds, except in commands.
// - A later version only adds to a message, and what it adds is optional. An older receiver works without it.
// - An addition that a daemon must not ignore is a new command, or a field of a `restriction`. An older
//   daemon refuses those with `daemon_outdated`.
// - A log entry of an unknown kind is stored as it is. A message under an unknown subject is not answered.

/** Sent with each hello, because nodes of version 0.1.0 require it. No version refuses a host by it. */
export const protocolVersion = 1;
