// Every git command that the daemon may run, with the options that it always has, and the settings and
// environment of all of them. A command that is not listed here cannot be run.
import { childEnvironment, type Environment } from "../environment.ts";

/** Added after the caller's options, so that these win. */
export const gitCommands = {
  clone: ["--upload-pack=git-upload-pack", "--no-recurse-submodules"],
  fetch: ["--upload-pack=git-upload-pack", "--no-recurse-submodules", "--no-write-fetch-head"],
  push: ["--receive-pack=git-receive-pack", "--no-recurse-submodules", "--no-verify"],
  // Reading a submodule would start a git there, without any of our settings.
  status: ["--ignore-submodules=dirty"],
  diff: [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--submodule=short",
    "--ignore-submodules=dirty",
  ],
  "rev-parse": [],
  "rev-list": [],
  "worktree add": ["--no-guess-remote"],
  "worktree remove": [],
  // Patterns instead of directories: single files are left out.
  "sparse-checkout set": ["--no-cone"],
  checkout: ["--no-recurse-submodules"],
  "ls-files": [],
  // Files of a commit: names, and contents of the objects that standard input lists.
  "ls-tree": ["-r", "-z"],
  "cat-file --batch": [],
  branch: [],
  config: ["--null", "--no-includes", "--get-all"],
  // Reads one file, outside of every repository.
  "config --list": ["--null", "--no-includes"],
  // Objects and names for what must outlive a worktree.
  mktree: [],
  "hash-object": ["-w", "--stdin"],
  "cat-file": ["--batch-check"],
  "update-ref": ["--no-deref"],
  "symbolic-ref": [],
  "for-each-ref": [],
  // The present state of a working tree, read into our own index. Paths are given on standard input.
  "update-index": ["--add", "--remove", "--replace", "-z", "--stdin"],
  "write-tree": [],
  "read-tree": ["--no-recurse-submodules"],
  "checkout-index": ["--force", "-z", "--stdin"],
  "sparse-checkout reapply": [],
  // Settings of one worktree, never of the user's repository, except for the one that allows them.
  "config --worktree": [],
  "config --local": [],
} as const satisfies Record<string, readonly string[]>;

export type GitCommand = keyof typeof gitCommands;

/** Commands with revisions; `--end-of-options` keeps those from being parsed as options. */
export const takesRevisions: ReadonlySet<GitCommand> = new Set(["diff", "rev-list", "rev-parse"]);

/** Commands that accept only options on their command line, and not even `--`. */
export const takesNoOperands: ReadonlySet<GitCommand> = new Set(["rev-parse", "update-index"]);

/** Settings that no repository may change. */
export const fixedSettings: readonly (readonly [string, string])[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.pager", "cat"],
  ["protocol.ext.allow", "never"],
  // A directory with the files of a bare repository in it is only a directory.
  ["safe.bareRepository", "explicit"],
  ["submodule.recurse", "false"],
  ["status.submoduleSummary", "false"],
  ["transfer.bundleURI", "false"],
  ["credential.protectProtocol", "true"],
  // Signing runs a program, and asks for a passphrase that nobody can enter.
  ["commit.gpgSign", "false"],
  ["push.gpgSign", "false"],
  ["log.showSignature", "false"],
  // These leave a process that outlives the command.
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
];

/** Variables of the daemon's environment that git, ssh and credential helpers need besides the usual ones. */
const needed = [
  "SSH_AUTH_SOCK",
  // For a git that is built on a library which knows neither of the usual two.
  "GIT_SSL_CAINFO",
  "all_proxy",
  "ALL_PROXY",
];

/**
 * The user's ~/.ssh/config and known_hosts apply. Nothing may ask a question, and no shared connection may
 * outlive the command.
 */
const sshCommand =
  "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ControlMaster=no -o ForwardAgent=no " +
  "-o ClearAllForwardings=yes -o PermitLocalCommand=no";

export function gitEnvironment(own: NodeJS.ProcessEnv): Environment {
  const fixed = {
    // English messages, because programs read them too.
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
  return childEnvironment(fixed, own, needed);
}
