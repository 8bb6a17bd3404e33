// Commands that run another command, and commands that make the shell or an interpreter run a text.

export interface Unwrapped {
  /** Words of the command that the wrapper runs. */
  words?: (string | null)[];
  /** Text that a shell runs. */
  script?: string;
  /** Why nobody can see from the words what the command runs. */
  opaque?: string;
}

/** Programs that run the rest of their words, with the options that take a value. */
const wrappers: Record<string, { valued: RegExp; leading?: number }> = {
  env: { valued: /^(-u|--unset|-C|--chdir)$/ },
  sudo: { valued: /^(-[ughpCcrtTUD]|--(user|group|host|prompt|chdir|role|type))$/ },
  doas: { valued: /^-[uC]$/ },
  timeout: { valued: /^(-k|-s|--kill-after|--signal)$/, leading: 1 },
  nice: { valued: /^(-n|--adjustment)$/ },
  ionice: { valued: /^(-[cnpPu]|--(class|classdata))$/ },
  nohup: { valued: /^$/ },
  setsid: { valued: /^$/ },
  stdbuf: { valued: /^(-[ioe]|--(input|output|error))$/ },
  time: { valued: /^(-[fo]|--(format|output))$/ },
  command: { valued: /^$/ },
  exec: { valued: /^-a$/ },
  builtin: { valued: /^$/ },
  chroot: { valued: /^$/, leading: 1 },
  xargs: { valued: /^(-[aEeIiLlnPsd]|--(arg-file|delimiter|max-args|max-procs|replace))$/ },
  watch: { valued: /^(-n|--interval)$/ },
  strace: { valued: /^-[eopsu]$/ },
};

const shells = /^(ba|da|k|z|a|fi|tc|c)?sh$/;
const interpreters = /^(python|perl|ruby|node|nodejs|deno|bun|php|lua|osascript|tclsh)[\d.]*$/;
const inlineCode = /^(-[A-Za-z]*[ceErRpn]|--(eval|print|execute|command|exec)(=.*)?)$/;

/** Builtins with which later commands mean something else, or with which a text runs later. */
const stateful = new Set(
  `. alias bind cd chdir compgen complete compopt declare dirs disown enable eval export fc getopts hash
  history jobs let local mapfile popd pushd read readarray readonly set shopt source test trap typeset ulimit
  umask unalias unset wait [`.split(/\s+/),
);

export function unwrap(words: readonly (string | null)[]): Unwrapped {
  const [program] = words;
  if (program === undefined) return { opaque: "it sets a variable, or only redirects" };
  if (program === null) return {};
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (stateful.has(name)) return { opaque: `${name} changes what follows` };
  if (name === "printf" && words.includes("-v")) return { opaque: "printf sets a variable" };
  if (name === "git" && words.some((word) => word && /^(-c|--config-env|--exec-path)/.test(word)))
    return { opaque: "git gets settings that can name programs" };
  if (name === "find") return find(words);
  if (shells.test(name)) return shell(words);
  if (interpreters.test(name)) return interpreter(words);
  const wrapper = Object.hasOwn(wrappers, name) ? wrappers[name] : undefined;
  if (!wrapper) return {};
  const sets = words.some((word) => word !== null && /^\w+=|^-S|^--split-string/.test(word));
  if (name === "env" && sets) return { ...wrapped(words, wrapper), opaque: "env sets a variable" };
  if (name === "xargs") return { ...wrapped(words, wrapper), opaque: "xargs adds words" };
  return wrapped(words, wrapper);
}

function wrapped(
  words: readonly (string | null)[],
  { valued, leading = 0 }: { valued: RegExp; leading?: number },
): Unwrapped {
  let at = 1;
  for (; at < words.length; at++) {
    const word = words[at];
    if (word === "--") {
      at += 1;
      break;
    }
    if (word !== null && word !== undefined && /^\w+=/.test(word)) continue;
    if (!word?.startsWith("-")) break;
    if (valued.test(word)) at += 1;
  }
  const rest = words.slice(at + leading);
  return rest.length > 0 ? { words: rest } : {};
}

function shell(words: readonly (string | null)[]): Unwrapped {
  const at = words.findIndex((word) => word !== null && /^-[a-z]*c[a-z]*$/.test(word));
  const options = words.slice(1, at === -1 ? undefined : at);
  const script = words[at + 1];
  if (at === -1 || options.some((word) => !word?.startsWith("-")))
    return { opaque: "a shell runs what nobody can see here" };
  if (script === null || script === undefined) return { opaque: "a shell runs an unknown text" };
  return { script };
}

function interpreter(words: readonly (string | null)[]): Unwrapped {
  const operand = words.slice(1).find((word) => word === null || !word.startsWith("-"));
  const isInline = words.slice(1).some((word) => word !== null && inlineCode.test(word));
  if (isInline) return { opaque: "an interpreter runs code from the command line" };
  // Without a script it reads code from its input, which may be a terminal.
  const isQuestion = words.some((word) => word !== null && /^(--version|-V|--help|-h)$/.test(word));
  return operand === undefined && !isQuestion
    ? { opaque: "an interpreter runs what nobody can see here" }
    : {};
}

function find(words: readonly (string | null)[]): Unwrapped {
  const at = words.findIndex((word) => word !== null && /^-(exec|execdir|ok|okdir)$/.test(word));
  const acts = words.some((word) => word !== null && /^-(delete|fls|fprint)/.test(word));
  if (at === -1) return acts ? { opaque: "find changes files" } : {};
  return { words: words.slice(at + 1), opaque: "find runs a command on what it finds" };
}
