// Commands that run another command, and commands that make the shell or an interpreter run a text.
import { gitOptions, heldWords } from "./command-options.ts";

export interface Unwrapped {
  /** Words of the command that the wrapper runs. */
  words?: (string | null)[];
  /** Text that a shell runs. */
  script?: string;
  /** Why nobody can see from the words what the command runs. */
  opaque?: string;
}

interface Wrapper {
  /** Options without a value: letters and long names, separated by spaces. */
  flags?: string;
  /** Options with a value. */
  valued?: string;
  /** How many words stand between the options and the command. */
  leading?: number;
  /** Words such as `A=1` before the command set variables. */
  setsVariables?: true;
  /** The words are joined, and a shell runs the text. */
  joinsWords?: true;
}

/**
 * Programs that run the rest of their words. A command with an option that is not listed here is opaque, so
 * the lists omit options that run a text, write a file, or change the directory or the environment.
 */
const wrappers: Record<string, Wrapper> = {
  env: { flags: "0 v null debug", setsVariables: true },
  sudo: { flags: "H k n", valued: "g u group user", setsVariables: true },
  doas: { flags: "n", valued: "u" },
  timeout: {
    flags: "v foreground preserve-status verbose",
    valued: "k s kill-after signal",
    leading: 1,
  },
  nice: { valued: "n adjustment" },
  ionice: { flags: "t ignore", valued: "c n class classdata" },
  nohup: {},
  setsid: { flags: "c f w ctty fork wait" },
  stdbuf: { valued: "e i o error input output" },
  time: { flags: "p q v portability quiet verbose", valued: "f format" },
  command: { flags: "p v V" },
  exec: { flags: "l" },
  builtin: {},
  watch: {
    flags: "b c e g p t beep chgexit color errexit no-title precise",
    valued: "n interval",
    joinsWords: true,
  },
  strace: { flags: "c f i q r t T v y", valued: "e s" },
  flock: {
    flags: "e F n o s u v x close exclusive nonblock no-fork shared unlock verbose",
    valued: "E w conflict-exit-code timeout",
    leading: 1,
  },
};

/** Programs that run what their words do not show: words are added, or commands are read from the input. */
const opaquePrograms = new Set(
  "busybox chroot ed emacs ex nvim parallel runuser su vi view vim xargs".split(" "),
);

const shells = /^(ba|da|k|z|a|fi|tc|c)?sh$/;
/** Shells whose quotes mean what they mean to bash. */
const readableShells = /^(ba|da|k|a)?sh$/;
/** What other shells than bash read differently. */
const onlyInBash = /&>|\|&|<<|>&[^\d-]|[<>]\(/;
const plainShellOption = /^-[ceilnuvx]+$/;
const interpreters = /^(python|perl|ruby|node|nodejs|deno|bun|php|lua|osascript|tclsh)[\d.]*$/;
const inlineCode =
  /^(-[A-Za-z]*[ceErRpn]|-[A-Za-z]*[ce].*|--(eval|print|execute|command|exec)(=.*)?)$/s;

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
  if (name === "printf" && words.some((word) => word?.startsWith("-v")))
    return { opaque: "printf sets a variable" };
  const setsGit = (option: string) => /^(-c|--config-env|--exec-path)/.test(option);
  if (name === "git" && gitOptions(words).some(setsGit))
    return { opaque: "git gets settings that can name programs" };
  if (name === "find") return find(words);
  if (shells.test(name)) return shell(name, words);
  if (interpreters.test(name)) return interpreter(words);
  if (opaquePrograms.has(name)) return { opaque: `${name} runs what nobody can see here` };
  return Object.hasOwn(wrappers, name) ? wrapped(name, wrappers[name]!, words) : {};
}

/** Programs that run code from their input or from elsewhere in the text. */
const runners = new Set(". alias bind enable eval fc hash source trap".split(" "));

/** Where code may stand that a command runs and that unwrap() does not return; undefined if there is none. */
export function codeIn(
  words: readonly (string | null)[],
  { opaque, script }: Unwrapped,
): "words" | "anywhere" | undefined {
  const [program] = words;
  if (program === null) return "anywhere";
  const name = program?.slice(program.lastIndexOf("/") + 1) ?? "";
  if (/^[gmn]?awk$/.test(name) && heldWords(words).length > 0) return "words";
  if (opaque === undefined || script !== undefined || name === "git") return undefined;
  const isRunner = runners.has(name) || opaquePrograms.has(name);
  return isRunner || shells.test(name) || interpreters.test(name) ? "anywhere" : "words";
}

function wrapped(name: string, wrapper: Wrapper, words: readonly (string | null)[]): Unwrapped {
  const { leading = 0, setsVariables, joinsWords } = wrapper;
  const start = endOfOptions(wrapper, words);
  if (start === undefined) return { opaque: `an option of ${name} is not known to be plain` };
  const rest = words.slice(start + leading);
  if (setsVariables && rest[0]?.includes("=")) return { opaque: `${name} sets a variable` };
  if (rest.length === 0) return {};
  if (!joinsWords) return { words: rest };
  if (rest.includes(null)) return {};
  const script = rest.join(" ");
  return onlyInBash.test(script) ? { opaque: `${name} runs it with another shell` } : { script };
}

/** Position after the options, as getopt reads them; undefined if one of them is not listed. */
function endOfOptions(
  { flags = "", valued = "" }: Wrapper,
  words: readonly (string | null)[],
): number | undefined {
  const isFlag = (option: string) => flags.split(" ").includes(option);
  const isValued = (option: string) => valued.split(" ").includes(option);
  for (let at = 1; at < words.length; at++) {
    const word = words[at];
    if (word === "--") return at + 1;
    if (!word?.startsWith("-")) return at;
    const [, long, value] = /^--([^=]+)(=.*)?$/s.exec(word) ?? [];
    const cluster = word.slice(1);
    const end = [...cluster].findIndex((letter) => !isFlag(letter));
    // `--n` is the beginning of a long option, not the short option `-n`.
    if (long?.length === 1) return undefined;
    if (long !== undefined && isValued(long)) at += value === undefined ? 1 : 0;
    else if (long !== undefined && isFlag(long) && value === undefined) continue;
    else if (long !== undefined || cluster.length === 0) return undefined;
    else if (end === -1) continue;
    else if (isValued(cluster[end]!)) at += end === cluster.length - 1 ? 1 : 0;
    else return undefined;
  }
  return words.length;
}

function shell(name: string, words: readonly (string | null)[]): Unwrapped {
  const at = words.findIndex((word) => word !== null && /^-[a-z]*c[a-z]*$/.test(word));
  const options = words.slice(1, at + 1);
  const script = words[at + 1];
  if (
    at === -1 ||
    !readableShells.test(name) ||
    !options.every((word) => word && plainShellOption.test(word))
  )
    return { opaque: "a shell runs what nobody can see here" };
  // A word with a dash is another option, and the script comes after it.
  if (script === null || script === undefined || /^[-+]/.test(script))
    return { opaque: "a shell runs an unknown text" };
  if (name !== "bash" && onlyInBash.test(script))
    return { opaque: `${name} reads the text in another way than bash` };
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
