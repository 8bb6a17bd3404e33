// The paths that a word of a command names. A path is also found after an option's name, in a list, in a
// `file:` URL and behind `@`, as curl reads it. What the shell computes when it runs is not seen.
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join, normalize, sep } from "node:path";
import { realOf } from "../real-path.ts";
import { contains, placesOf } from "./path-location.ts";
import { systemDirectories } from "./readable-paths.ts";

/** A command that names more paths than these is not checked. */
export const mostPaths = 1_000;

/** The kernel opens no longer path. */
const longestPath = 4_095;

/** A path in a longer word counts as the root, because it takes too long to be looked at. */
const longestWord = 16_384;

/** More parts of a word are not also read as the beginning of a path that contains separators. */
const mostParts = 16;

const separator = /file:\/\/(?:localhost(?=\/))?|[=@,:;{}]/gi;

/** The word that the shell makes of a piece of its text, without quotes and escapes. Variables remain. */
export function unquote(text: string): string {
  const quoted = /\\\n|\\(.)|\$'((?:[^'\\]|\\.)*)'|'([^']*)'|\$?"((?:[^"\\]|\\.)*)"/gs;
  return text.replace(
    quoted,
    (_, plain?: string, ansi?: string, single?: string, double?: string) =>
      plain ??
      single ??
      (ansi === undefined ? undefined : unescapeAnsi(ansi)) ??
      double?.replace(/\\\n|\\([$`"\\])/g, "$1") ??
      "",
  );
}

/** The text of `$'…'`. */
function unescapeAnsi(text: string): string {
  const escape = /\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|U([\da-f]{1,8})|([0-7]{1,3})|(.))/gis;
  return text.replace(
    escape,
    (_, hex?: string, short?: string, long?: string, octal?: string, plain?: string) => {
      const digits = hex ?? short ?? long;
      if (plain !== undefined) return plain;
      const code = digits === undefined ? Number.parseInt(octal!, 8) : Number.parseInt(digits, 16);
      return code <= 0x10_ff_ff ? String.fromCodePoint(code) : "";
    },
  );
}

/** What looks like a path in a text that a shell or an interpreter may run. */
export function pathsInCode(text: string): string[] {
  const words = text.split(/[\s;|&()<>`"'\\[\]]+/);
  return words.filter((word) => /\/[\w.*~-]|^\.[\w.]|~|\$\{?HOME\b/.test(word) && word !== text);
}

/** Every path that an unquoted word can name. */
export function pathsIn(text: string, home: string): string[] {
  const word = text.replace(/\$(?:HOME\b|\{HOME\b[^{}]*\})/g, () => home);
  const ends = [...word.matchAll(separator)].map((found) => ({
    end: found.index,
    next: found.index + found[0].length,
  }));
  const starts = [0, ...ends.map(({ next }) => next)];
  const paths = [word, ...starts.map((start, at) => word.slice(start, ends[at]?.end))];
  if (starts.length <= mostParts) paths.push(...starts.map((start) => word.slice(start)));
  paths.push(...attachedValues(word));
  return paths.map((path) => expandTilde(path, home)).flatMap(openable);
}

/** What may be the value of a short option in the same word, such as `-f/path`, also after others: `-vf/path`. */
function attachedValues(word: string): string[] {
  // `-d/` is more often a delimiter than the root directory.
  if (!/^-\w../s.test(word)) return [];
  const first = /[/.~]/.exec(word)?.index ?? 0;
  const starts = Array.from({ length: mostParts }, (_, at) => at + 2);
  return [...starts, first]
    .map((at) => word.slice(at))
    .filter((value) => value !== "" && value !== word);
}

/**
 * The path as the kernel can open it. Of a longer path its beginning, because a program such as `mkdir -p`
 * goes there step by step, and also the root if `..` can lead out after that.
 */
function openable(path: string): string[] {
  if (path.length <= longestPath) return path === "" ? [] : [path];
  if (path.length > longestWord) return [sep];
  const short = normalize(path);
  const beginning =
    short.length > longestPath
      ? short.slice(0, short.lastIndexOf(sep, longestPath - 1) + 1)
      : short;
  return [...(beginning === "" ? [] : [beginning]), ...(hasParentStep(path) ? [sep] : [])];
}

const hasParentStep = (path: string): boolean => path.split(sep).includes("..");

const networkUrl =
  /(?<![a-z\d+.-])(?:https?|wss?|ftps?|ssh|git|s3|rediss?|postgres(?:ql)?|mysql|mongodb(?:\+srv)?|amqps?):\/\/[^,\s]*/gi;

/** As pathsIn, but the address of a URL of the network names no file. */
export function pathsBesideUrls(word: string, home: string): string[] {
  const urls = word.match(networkUrl) ?? [];
  if (urls.length === 0) return pathsIn(word, home);
  // A program that does not know URLs reads one as a path, which `..` may lead outside.
  return [...[word, ...urls].flatMap(openable), ...pathsIn(word.replace(networkUrl, ""), home)];
}

/** Devices that every command may use. */
export const isPlainDevice = (path: string): boolean =>
  /^\/dev\/(null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd\/\d+)$/.test(path);

/**
 * Whether a command's path can exist. A word such as `/users` is more often a route or a pattern than a new
 * file in the root directory.
 */
export function canExist(path: string): boolean {
  const [, first = ""] = /^\/+([^/]+)/.exec(path) ?? [];
  // Some programs remove `..` first, so the step before it need not exist.
  return first === "" || hasParentStep(path) || existsSync(`/${first}`);
}

/** Whether a path leads to the system's programs, their libraries and their data. */
export function isSystemPath(path: string): boolean {
  const roots = systemDirectories.filter((each) => each !== "/etc").map(realOf);
  return placesOf(path).every((place) => roots.some((root) => contains(root, place)));
}

/** Expands `~` at the beginning. A quoted `~` too: the shell keeps it, but some programs expand it. */
function expandTilde(path: string, home: string): string {
  const [tilde, user] = /^~([a-z_][\w.-]*)?(?=\/|$)/i.exec(path) ?? [];
  if (tilde === undefined) return path;
  const isOwn = user === undefined || user === userName();
  // Another user's home is usually beside this one. In any case it is outside.
  return (isOwn ? home : join(dirname(home), user)) + path.slice(tilde.length);
}

/** undefined if the host does not know its own user. */
function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
