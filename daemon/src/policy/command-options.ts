// Arguments with which a common program runs another program, writes a file that they name, or follows links
// out of the directory. An entry such
// as `sort *` is written for what the program usually does, so it does not cover these arguments; an entry
// covers them only if it names them. This is a second fence, not a sandbox: a program that is not listed here
// is covered with all of its arguments.

interface HeldArguments {
  /** Short options, as letters. They are also found in a cluster, such as `-uo`. */
  short?: string;
  /** Short options with a value: the letters after them in the same word are no options. */
  values?: string;
  /** Long options, separated by spaces. Every beginning of one counts as that option. */
  long?: string;
  /** Arguments of any other form. */
  words?: RegExp;
  /** The argument after the subcommand. */
  first?: RegExp;
  /** The subcommand itself. */
  subcommand?: true;
  /** Options before the subcommand that are not held. All others before it are held. */
  harmless?: RegExp;
  /** The first argument is a cluster of short options, with or without a dash. */
  startsWithCluster?: true;
  /** A program in the program's own language is held unless it is plain. */
  script?: { short: string; long: string; plain: RegExp };
}

/** A part of a sed command up to its delimiter. Every sed reads such a part in the same way. */
const sedPart = (end: string) =>
  String.raw`(?:[^${end}\\\n[]|\\[^\n]|\[\^?[^\]^${end}\\[\n]+\])*${end}`;
const sedAddress = String.raw`(?:\d+|\$|/${sedPart("/")}I?)`;
const sedSubstitutions = ["/", "|", "#", ",", "@"].map((end) => {
  const literal = end === "|" ? String.raw`\|` : end;
  return `s${literal}${sedPart(literal)}${sedPart(literal)}[gpiI0-9]*`;
});
// A space can stand in one place only, or a long script takes very long to be compared.
const sedCommand = `(?:${sedAddress}(?:,[+~]?${sedAddress})? ?)?(?:! ?)?(?:[pPdDqQ=lhHgGxnNFz]|${sedSubstitutions.join("|")})`;
const plainSed = new RegExp(`^ ?${sedCommand}(?: ?; ?${sedCommand})* ?;?$`);

const byPrograms: Record<string, HeldArguments> = {
  git: {
    harmless: /^(--no-pager|-P|--version|-v|--help|-h|--no-optional-locks|--literal-pathspecs)$/,
    long: `allow-unsafe-features exec exec-path export-marks extcmd in-place open-files-in-pager output
      output-directory receive-pack separate-git-dir stdin-paths unsafe-paths upload-pack`,
  },
  "git archive, git format-patch, git mailsplit": { short: "o" },
  "git bisect": { words: /^(run|view|visualize)$/ },
  "git bugreport, git diagnose, git merge-index, git remote-*": { subcommand: true },
  "git bundle": { words: /^create$/ },
  "git checkout-index": { long: "prefix" },
  "git clone": { short: "cu", long: "config template", values: "bjo" },
  "git config": {
    first: /^(?!(--get|--get-all|--get-regexp|--list|-l|get|list)$)/,
    // An option later in the line can take the first one back.
    words: /^--(no-|add|edit|rename|remove|replace|unset)/,
  },
  "git difftool, git mergetool": { short: "tx", long: "tool" },
  "git credential, git credential-cache, git credential-store": { subcommand: true },
  "git credential-manager, git credential-osxkeychain, git credential-libsecret": {
    subcommand: true,
  },
  // A patch can name files that are closed, such as .git/config.
  "git apply, git am, git fast-import, git quiltimport": { subcommand: true },
  "git update-index": { long: "index-info" },
  patch: { words: /./s },
  "git maintenance": { words: /^(register|start)$/ },
  "git daemon, git filter-branch, git hook, git instaweb, git send-email": { subcommand: true },
  "git grep": { short: "O", values: "efABCm" },
  "git init": { long: "template" },
  // A strategy with a slash is a program of this directory: `-s x/run` runs git-merge-x/run.
  "git merge, git pull": { short: "s", values: "FjmoSX", long: "strategy" },
  "git cherry-pick, git revert": { long: "strategy" },
  "git rebase": { short: "sx", values: "CSX", long: "strategy" },
  "git submodule": { words: /^foreach$/ },
  "git worktree": { words: /^(add|move)$/ },
  "sort, gsort": { short: "o", values: "kStT", long: "compress-program files0-from output" },
  shuf: { short: "o", long: "output" },
  "tar, gtar, bsdtar": {
    startsWithCluster: true,
    // A file on another host.
    words: /^[^-/][^/]*:/,
    short: "CFghIPT",
    values: "bfHKLNVX",
    long: `absolute-names checkpoint-action dereference directory files-from index-file info-script listed-incremental
      new-volume-script one-top-level rmt-command rsh-command to-command transform use-compress-program
      volno-file xform`,
  },
  // zip follows links, and stores the files that they lead to.
  zip: { short: "@rRT", long: "recurse-paths recurse-patterns unzip-command" },
  "sed, gsed": {
    short: "fil",
    long: "file in-place line-length",
    // After `--`, a word such as `-e` is no option, so nobody can tell which word is the script.
    words: /^--$/,
    script: { short: "e", long: "expression", plain: plainSed },
  },
  "awk, gawk, mawk, nawk": {
    short: "dDEfilopW",
    values: "Fv",
    long: "debug dump-variables exec file include load pretty-print profile",
    words: /[|>@]|system|getline|ARGV|ARGC|\\\n/,
  },
  "split, gsplit": { long: "filter" },
  jq: { short: "fL", long: "from-file", words: /\b(import|include)\b/ },
  // Followed links lead out of the directory.
  "cp, gcp": { short: "HL", values: "St", long: "dereference" },
  find: { words: /^-(L|follow)$/ },
  tree: { short: "lo", values: "HILPT", long: "output" },
  "grep, egrep, fgrep, zgrep, zegrep, zfgrep, bzgrep, xzgrep": {
    short: "R",
    values: "ABCDdefm",
    long: "dereference-recursive",
  },
  diff: { short: "r", values: "CFISUWXx", long: "recursive" },
  rg: { short: "L", values: "ABCEefgjMmrTt", long: "follow hostname-bin pre" },
  "fd, fdfind": { short: "LxX", values: "cdeEjoSt", long: "exec exec-batch follow" },
  less: {
    short: "koO",
    long: "cmd lesskey-content lesskey-file lesskey-src log-file LOG-FILE",
    words: /^\+/,
  },
  man: { short: "CHP", long: "config-file html pager" },
  ssh: { short: "EFIoS", values: "ilp" },
  "scp, sftp": { short: "bDFoS", values: "ilP" },
  rsync: {
    short: "efkKLM",
    long: `config copy-dirlinks copy-links copy-unsafe-links daemon filter keep-dirlinks log-file
      only-write-batch remote-option rsh rsync-path write-batch`,
  },
  curl: {
    short: "cDJKoOw",
    values: "AbCdeEFHmPQrtTuUxXyYz",
    // curl decodes and expands such an address before it opens the file. Its own braces and brackets stand
    // beside other text, as in `fil[e-e]:///x`; those of JSON do not.
    words: /file:|<|@"|^--(expand-|proto-d|ssl-s)|[^\s,:[{][[{]|[}\]][^\s,}\]]/i,
    long: `alt-svc config cookie-jar dump-header engine etag-save hsts libcurl output output-dir remote-name
      remote-name-all stderr trace trace-ascii variable write-out`,
  },
  wget: {
    // Some of these let the server choose the name of the file.
    short: "aeimoOpPrx",
    values: "ADnQRtTUw",
    long: `append-output config content-disposition directory-prefix execute force-directories hsts-file
      input-file mirror output-document output-file page-requisites recursive rejected-log save-cookies
      trust-server-names use-askpass warc-file`,
  },
  "make, gmake": {
    short: "CEfI",
    long: "directory eval file include-dir makefile",
    words: /^[^-][^=]*=/,
  },
  "npm, npx, pnpm, pnpx, yarn": {
    short: "cC",
    long: `browser call cwd dir editor git globalconfig init-module node-options prefix script-shell shell
      userconfig viewer`,
    // npm reads long options with any number of dashes, and takes away as many `no-`.
    words: /^-+(no-)*(config\.)?(bro|cal|edi|git|glo|ini|nod|pre|scr|she|use|vie)/,
  },
  go: {
    words:
      /^--?(C|o|exec|modfile|outputdir|overlay|toolexec|trace|vettool|(block|cover|cpu|mem|mutex)profile)(=|$)/,
  },
};

const table = new Map(
  Object.entries(byPrograms).flatMap(([names, held]) =>
    names.split(", ").map((name) => [name, held] as const),
  ),
);

/** With more words that may be the subcommand, all words are held. */
const mostCandidates = 8;

/** Positions of the words of a command that only an entry which names them covers. */
export function heldWords(command: readonly (string | null)[]): number[] {
  const words = command.map((word) => word ?? "");
  const program = (words[0] ?? "").replace(/^.*\//, "");
  const row = table.get(program);
  if (!row) return [];
  const before = optionsBefore(words, row);
  // What may be the value of an option before the subcommand may be the subcommand as well.
  const candidates = [...before.values, before.end];
  if (candidates.length > mostCandidates) return [...words.keys()];
  const below = candidates.flatMap((at) => {
    // Git runs its helpers for remotes as subcommands, and some of them run any program.
    const name = words[at]?.replace(/^remote-.*/s, "remote-*");
    // `git x/run` runs the program git-x/run of this directory. A name with two dashes is one of git's own
    // helpers, such as bisect--helper, which can run any program.
    if (row.harmless && name && /\/|--/.test(name)) return [at];
    const subcommand = table.get(`${program} ${name}`);
    if (!subcommand) return [];
    const isFirst = at + 1 < words.length && subcommand.first?.test(words[at + 1]!);
    return [
      ...(subcommand.subcommand ? [at] : []),
      ...(isFirst ? [at + 1] : []),
      ...heldArguments(subcommand, words, at + 1),
    ];
  });
  return [...before.held, ...heldArguments(row, words, 1), ...below];
}

/** The held options of git that stand before its subcommand. */
export function gitOptions(command: readonly (string | null)[]): string[] {
  const words = command.map((word) => word ?? "");
  return optionsBefore(words, byPrograms["git"]!).held.map((at) => words[at]!);
}

/** The held options before a subcommand, the words that may be their values, and the position after them. */
function optionsBefore(
  words: readonly string[],
  { harmless }: HeldArguments,
): { held: number[]; values: number[]; end: number } {
  const held: number[] = [];
  const values: number[] = [];
  let at = 1;
  if (!harmless) return { held, values, end: at };
  for (; words[at]?.startsWith("-"); at++) {
    const word = words[at]!;
    if (harmless.test(word)) continue;
    held.push(at);
    const mayHaveValue = !word.includes("=") && !words[at + 1]?.startsWith("-");
    if (mayHaveValue) values.push(++at);
  }
  return { held, values, end: at };
}

/** Compares every word, also behind `--`, because that may be the value of the option before it. */
function heldArguments(row: HeldArguments, words: readonly string[], start: number): number[] {
  const { short = "", values = "", script } = row;
  const long = row.long?.split(/\s+/) ?? [];
  const held: number[] = [];
  let hasScript = false;
  const readScript = (text: string, at: number) => {
    hasScript = true;
    if (!script!.plain.test(text)) held.push(at);
  };
  for (let at = start; at < words.length; at++) {
    const word = words[at]!;
    if (row.words?.test(word)) held.push(at);
    const isBareCluster = row.startsWithCluster && at === 1 && !word.startsWith("-");
    const [, name, value] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (name !== undefined) {
      if (long.some((option) => option.startsWith(name))) held.push(at);
      else if (script?.long.startsWith(name)) readScript(value ?? words[++at] ?? "", at);
    } else if (isBareCluster) {
      if ([...word].some((letter) => short.includes(letter))) held.push(at);
    } else if (word.startsWith("-")) {
      const known = `${short}${values}${script?.short ?? ""}`;
      const end = [...word].findIndex((letter, place) => place > 0 && known.includes(letter));
      const letter = end === -1 ? "" : [...word][end]!;
      const rest = [...word].slice(end + 1).join("");
      if (letter && short.includes(letter)) held.push(at);
      else if (letter && script?.short === letter) readScript(rest || (words[++at] ?? ""), at);
    } else if (script && !hasScript) readScript(word, at);
  }
  return held;
}
