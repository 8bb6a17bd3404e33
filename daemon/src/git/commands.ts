// Every git command that the daemon may run, with the options it never runs without, and the settings
// and environment that hold for all of them. A command that is not listed here cannot be run.

/** Added behind the caller's options, so that these have the last word. */
export const gitCommands = {
  clone: ["--upload-pack=git-upload-pack", "--no-recurse-submodules"],
  fetch: ["--upload-pack=git-upload-pack", "--no-recurse-submodules", "--no-write-fetch-head"],
  push: ["--receive-pack=git-receive-pack", "--no-recurse-submodules", "--no-verify"],
  // A look into a submodule would be a git of its own there, without any of our settings.
  status: ["--ignore-submodules=dirty"],
  diff: [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--submodule=short",
    "--ignore-submodules=dirty",
  ],
  "rev-parse": [],
  "worktree add": ["--no-guess-remote"],
  "worktree remove": [],
  "worktree prune": [],
} as const satisfies Record<string, readonly string[]>;

export type GitCommand = keyof typeof gitCommands;

/** Commands that take revisions, which `--end-of-options` keeps from being read as options. */
export const takesRevisions: ReadonlySet<GitCommand> = new Set(["diff", "rev-parse"]);

/** Settings that no repository may change. */
export const fixedSettings: readonly (readonly [string, string])[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.pager", "cat"],
  ["protocol.ext.allow", "never"],
  // A directory with the files of a bare repository in it is a directory.
  ["safe.bareRepository", "explicit"],
  ["submodule.recurse", "false"],
  ["status.submoduleSummary", "false"],
  ["transfer.bundleURI", "false"],
  ["credential.protectProtocol", "true"],
  // Signing runs a program, and asks for a passphrase that nobody is there to give.
  ["commit.gpgSign", "false"],
  ["push.gpgSign", "false"],
  ["log.showSignature", "false"],
  // These leave a process behind that outlives the command.
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
];

/** What git, ssh and credential helpers need of the daemon's own environment. */
const inherited = [
  "HOME",
  "PATH",
  "USER",
  "LOGNAME",
  "LANG",
  "TMPDIR",
  "XDG_CONFIG_HOME",
  "XDG_RUNTIME_DIR",
  "SSH_AUTH_SOCK",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  // Where git is built on a library that knows neither of those.
  "GIT_SSL_CAINFO",
  "http_proxy",
  "https_proxy",
  "HTTPS_PROXY",
  "all_proxy",
  "ALL_PROXY",
  "no_proxy",
  "NO_PROXY",
];

/**
 * The user's ~/.ssh/config and known_hosts hold. Nothing may ask a question, and no shared connection
 * may be left running behind the command.
 */
const sshCommand =
  "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ControlMaster=no -o ForwardAgent=no " +
  "-o ClearAllForwardings=yes -o PermitLocalCommand=no";

export function gitEnvironment(own: NodeJS.ProcessEnv): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of inherited) {
    const value = own[name];
    if (value !== undefined) environment[name] = value;
  }
  return {
    ...environment,
    // Messages in English: they are read by programs too.
    LC_ALL: "C.UTF-8",
    GIT_ALLOW_PROTOCOL: "https:ssh",
    GIT_TERMINAL_PROMPT: "0",
    // Set and empty: then neither core.askPass nor SSH_ASKPASS is run.
    GIT_ASKPASS: "",
    GIT_SSH_COMMAND: sshCommand,
    GIT_SSH_VARIANT: "ssh",
    GIT_EDITOR: ":",
    GIT_SEQUENCE_EDITOR: ":",
    GIT_OPTIONAL_LOCKS: "0",
  };
}
