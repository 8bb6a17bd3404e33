// Shell texts made from a grammar of bash, each with a command inside that would leave a mark. A reader of
// commands that misses any of these forms lets the command run unasked.
import { randomFrom, type Random } from "../fuzz/random.ts";

type Make = (random: Random, canary: string) => string;

/** Texts that run the canary while the shell expands or evaluates something else. */
const carriers: Make[] = [
  (_, canary) => canary,
  (random, canary) => `${word(random)} $(${canary})`,
  (random, canary) => `${word(random)} \`${canary}\``,
  (random, canary) => `${word(random)} "$(${canary})"`,
  (_, canary) => `: \${unset:-$(${canary})}`,
  (_, canary) => `: \${unset:=$(${canary})}`,
  (_, canary) => `a=(1); : \${a[$(${canary})0]}`,
  (_, canary) => `: $((1 + $(${canary}; echo 1)))`,
  (_, canary) => `: $[$(${canary}; echo 1)]`,
  (_, canary) => `x='a[$(${canary})]'; [[ x -eq 0 ]]`,
  (_, canary) => `x='a[$(${canary})]'; (( x ))`,
  (_, canary) => `x='a[$(${canary})]'; : $(( x ))`,
  (_, canary) => `x='a[$(${canary})]'; let x`,
  (_, canary) => `x='a[$(${canary})]'; for (( ; x; )); do break; done`,
  (_, canary) => `declare -i y='a[$(${canary})]'`,
  (_, canary) => `f() { local -i y='a[$(${canary})]'; }; f`,
  (_, canary) => `typeset -i y='a[$(${canary})]'`,
  (_, canary) => `export -n y; declare -ai z=('a[$(${canary})]')`,
  (_, canary) => `[ -v 'a[$(${canary})]' ]`,
  (_, canary) => `test -v 'a[$(${canary})]'`,
  (_, canary) => `printf -v 'a[$(${canary})]' x`,
  (_, canary) => `unset 'a[$(${canary})]'`,
  (_, canary) => `read 'a[$(${canary})]' <<< x`,
  (_, canary) => `mapfile -t -O 'a[$(${canary})]' z <<< x`,
  (_, canary) => `x=abc; : \${x:a[$(${canary})]}`,
  (_, canary) => `x='$(${canary})'; : "\${x@P}"`,
  (_, canary) => `PS4='$(${canary})'; set -x; :`,
  (_, canary) => `cat <<END\n$(${canary})\nEND`,
  (_, canary) => `cat <<-END\n\t\`${canary}\`\n\tEND`,
  (_, canary) => `cat <<< "$(${canary})"`,
  (_, canary) => `bash <<'END'\n${canary}\nEND`,
  (_, canary) => `bash <<< ${quoted(canary)}`,
  (_, canary) => `cat <(${canary})`,
  (_, canary) => `: > >(${canary})`,
  (_, canary) => `coproc ${canary}`,
  (_, canary) => `coproc N { ${canary}; }; wait`,
  (random, canary) => `: > "$(${canary}; echo /dev/null)"; ${word(random)}`,
  (_, canary) => `shopt -s expand_aliases\nalias q=${quoted(canary)}\nq`,
  (_, canary) => `f() { ${canary}; }; f`,
  (_, canary) => `function ls { ${canary}; }; ls`,
  (_, canary) => `command_not_found_handle() { ${canary}; }; nothing_such_here`,
  (_, canary) => `trap ${quoted(canary)} EXIT`,
  (_, canary) => `trap ${quoted(canary)} DEBUG; :`,
  (_, canary) => `trap ${quoted(canary)} ERR; false`,
  (_, canary) => `exec ${canary}`,
  (_, canary) => `eval ${quoted(canary)}`,
  (_, canary) => `. /dev/stdin <<< ${quoted(canary)}`,
  (_, canary) => `source <(echo ${quoted(canary)})`,
  (_, canary) => `sh -c ${quoted(canary)}`,
  (_, canary) => `bash -c ${quoted(canary)} x y`,
  (_, canary) => `env A=1 ${canary}`,
  (_, canary) => `env -S ${quoted(canary)}`,
  (_, canary) => `A=1 ${canary}`,
  (_, canary) => `timeout 5 ${canary}`,
  (_, canary) => `nice -n 1 nohup ${canary}`,
  (_, canary) => `command ${canary}`,
  (_, canary) => `builtin eval ${quoted(canary)}`,
  (_, canary) => `time ${canary}`,
  (_, canary) => `! ${canary}`,
  (_, canary) => `echo x | xargs -I{} ${canary}`,
  (_, canary) => `find . -maxdepth 0 -exec ${canary} \\;`,
  (_, canary) => `echo ${quoted(canary)} | sh`,
  (_, canary) => `python3 -c ${quoted(`import os; os.system('${canary}')`)}`,
  (_, canary) => `awk ${quoted(`BEGIN { system("${canary}") }`)}`,
  (_, canary) => `if true; then ${canary}; fi`,
  (_, canary) => `for x in 1; do ${canary}; done`,
  (_, canary) => `while ${canary}; do break; done`,
  (_, canary) => `until ! ${canary}; do break; done`,
  (_, canary) => `case x in x) ${canary};; esac`,
  (_, canary) => `select x in 1; do ${canary}; break; done <<< 1`,
  (_, canary) => `{ ${canary}; }`,
  (_, canary) => `( ${canary} )`,
  (_, canary) => `${canary} &`,
  (_, canary) => `x=${quoted(canary)}; $x`,
  (_, canary) => `x=(${canary}); "\${x[@]}"`,
  (_, canary) => spliced(canary),
  (_, canary) => escaped(canary),
  (_, canary) => ansi(canary),
  (_, canary) => `{${canary.replaceAll(" ", ",")}}`,
  (_, canary) => canary.replace(" ", "\t\u000b".slice(0, 1)),
  (_, canary) => canary.replace(" ", " \\\n"),
  (_, canary) => `# a comment\n${canary}`,
  (_, canary) => `: 'unclosed\n'; ${canary}`,
  (_, canary) => `: \u00a0; ${canary}`,
  (_, canary) => `ｌｓ; ${canary}`,
  (_, canary) => `: "\u202e"; ${canary}`,
  (_, canary) => `:\r\n${canary}`,
  (_, canary) => `jobs -x ${canary}`,
  (_, canary) => `compgen -C ${quoted(canary)} x`,
  (_, canary) => `wait -p 'a[$(${canary})]' -n`,
  (_, canary) => `hash -p /bin/sh q; q -c ${quoted(canary)}`,
];

/** Texts around a carrier, which keep what it does. */
const settings: Make[] = [
  (_, text) => text,
  (_, text) => text,
  (random, text) => `${word(random)}; ${text}`,
  (random, text) => `${word(random)} && ${text}`,
  (random, text) => `${word(random)} || true\n${text}`,
  (random, text) => `${word(random)} | cat\n${text}`,
  (_, text) => `{ ${text}\n}`,
  (_, text) => `( ${text}\n)`,
  (_, text) => `if true; then\n${text}\nfi`,
  (_, text) => `: <<'Q'\nharmless\nQ\n${text}`,
  (_, text) => `${text}\n:`,
];

const words = ["true", "echo hi", "ls", "pwd", "git status", ":", "echo 'a; b'", 'echo "x"'];
const word = (random: Random) => random.pick(words);

/** A text of the shell that stands for itself. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const spliced = (text: string) => text.replace(/^(.)(.*?) /, `$1''$2 `);
const escaped = (text: string) => text.replace(/^(.)/, "\\$1");
const ansi = (text: string) =>
  text.replace(/^\w+/, (name) => {
    const codes = [...name].map((letter) => `\\x${letter.charCodeAt(0).toString(16)}`);
    return `$'${codes.join("")}'`;
  });

/** The text with this number. `canary` is a simple command without quotes. */
export function makeShellText(seed: string, index: number, canary: string): string {
  const random = randomFrom(`${seed} ${index}`);
  // Each carrier has its turn; what surrounds it is chance.
  let text = carriers[index % carriers.length]!(random, canary);
  for (let layer = random.below(3); layer > 0; layer--) text = random.pick(settings)(random, text);
  return text;
}

export const carrierCount = carriers.length;
