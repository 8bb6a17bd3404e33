// Explains why a clone failed, in our words. Git's own output can contain a server's answers and addresses
// with credentials, which callers must not see.

const causes: readonly (readonly [RegExp, string])[] = [
  [
    /Host key verification failed/i,
    "This host does not know the server's ssh key. Connect to it once by hand there, and accept the key.",
  ],
  [
    /could not read (?:Username|Password)|Authentication failed|Permission denied|error: 40[13]|Too many authentication failures/i,
    "The server did not let this host in. Log in there: with an ssh key, a credential helper of git, or gh auth login.",
  ],
  [
    /certificate/i,
    "This host does not trust the server's certificate. Install its authority on the host.",
  ],
  [
    /Could not resolve host|Connection refused|Failed to connect|Connection timed out|No route to host|Network is unreachable/i,
    "The server cannot be reached from this host. Check the address and the host's network.",
  ],
  [
    /not found|does not exist|access denied or repository not exported|error: 404|does not appear to be a git repository|Could not read from remote/i,
    "There is no such repository, or this host's account cannot see it.",
  ],
  [
    /error: 30\d|redirects? to/i,
    "The server redirects to another address, which is not followed from here. Clone from that address.",
  ],
  [/No space left|Disk quota exceeded/i, "The host's disk is full. Make room, then try again."],
  [
    /early EOF|RPC failed|hung up|unexpected disconnect|Connection reset|Connection closed/i,
    "The connection to the server broke off. Try again.",
  ],
];

export function explainCloneFailure(said: string): string {
  const other = "Git could not clone it. Try the same by hand on the host to see why.";
  return explainRemoteFailure(said) ?? other;
}

/** The same for all that git does with a server; undefined if the cause is none of these. */
export function explainRemoteFailure(said: string): string | undefined {
  const own = said
    .split(/[\r\n]+/)
    .filter((line) => !line.startsWith("remote:"))
    .join("\n");
  return causes.find(([pattern]) => pattern.test(own))?.[1];
}
