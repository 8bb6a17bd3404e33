// The shell that opencode gets in place of bash. opencode asks for permission only if its own parser finds a
// command in a text, but bash runs more than that parser finds. So the gate runs a text only if the daemon
// has made a pass for exactly this text in exactly this directory. It runs it once, and refuses everything
// else: also the shell texts of slash commands and opencode's terminals, which opencode never asks about.
//
// A pass is a file with the id of the session, which the command gets as HAWSER_SESSION. Its name is the hash of
// directory and text, and the id of the call. The gate uses a pass up by removing it, which succeeds for one
// process only. Passes outlive the daemon, as opencode does; without a pass the gate refuses, whether a daemon
// runs or not.
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { realOf } from "../../real-path.ts";
import { replaceText } from "../../state/replace-file.ts";

export interface ShellGate {
  /** Path of the program, for opencode's configuration. */
  program: string;
  /**
   * Writes the program, unless it is there already. opencode would use another shell if it were missing.
   * Removes all passes unless `keepPasses` is set.
   */
  install(options: { keepPasses: boolean }): void;
  /** Lets the call of a session run this text in this directory, once. */
  addPass(sessionId: string, callId: string, directory: string, text: string): void;
  /** Removes the pass of a call that has ended without using it. No-op if there is none. */
  removePass(callId: string): void;
}

export function createShellGate(folder: string): ShellGate {
  // opencode describes its shell to the model by the name of the file.
  const program = join(folder, "bash");
  const passes = join(folder, "passes");
  return {
    program,
    install({ keepPasses }) {
      if (!keepPasses) rmSync(passes, { recursive: true, force: true });
      mkdirSync(passes, { recursive: true, mode: 0o700 });
      const script = scriptFor(passes);
      if (existsSync(program) && readFileSync(program, "utf8") === script) return;
      replaceText(program, script);
      chmodSync(program, 0o700);
    },
    addPass(sessionId, callId, directory, text) {
      if (!/^\w+$/.test(callId))
        throw new Error("The id of the call cannot be part of a file name.");
      const hash = createHash("sha256")
        .update(`${realOf(directory)}\n\0${text}`)
        .digest("hex");
      writeFileSync(join(passes, `${hash}.${callId}`), `${sessionId}\n`, { mode: 0o600 });
    },
    removePass(callId) {
      if (!existsSync(passes)) return;
      for (const name of readdirSync(passes)) {
        if (name.endsWith(`.${callId}`)) rmSync(join(passes, name), { force: true });
      }
    },
  };
}

const quoted = (path: string) => `'${path.replaceAll("'", `'\\''`)}'`;

// The refusal is written to the output: opencode shows the model nothing else of a slash command's text.
const scriptFor = (passes: string) => `#!/bin/sh
# Runs a command of opencode if the Hawser daemon has made a pass for it, and refuses it otherwise.
refuse() {
  printf '%s\\n' "$1"
  exit 126
}
[ $# -eq 2 ] && [ "$1" = -c ] || refuse 'Not run: this shell runs single commands only.'
hash=$({ pwd -P && printf '\\000%s' "$2"; } | sha256sum) && [ \${#hash} -gt 64 ] ||
  refuse 'Not run: the permission for this command cannot be read.'
for pass in ${quoted(passes)}/"\${hash%% *}".*; do
  session=
  { IFS= read -r session < "$pass"; } 2>/dev/null
  if rm -- "$pass" 2>/dev/null; then
    export HAWSER_SESSION="$session"
    unset OPENCODE_SERVER_PASSWORD OPENCODE_CONFIG_CONTENT BASH_ENV ENV
    exec /bin/bash -c -- "$2"
  fi
done
refuse 'Not run: nobody was asked about this command, because opencode found no program in it. Use the write tool to make files, and name the programs to run.'
`;
