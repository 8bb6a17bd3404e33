// Compares the written documents with the code: every source folder is in its workspace's README,
// every action that a document names exists, no document says that something is missing, no
// guide uses a word that the glossary bans, and every link leads somewhere. A complaint is one line,
// file:line.
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { actionNames } from "@hawser/contract";

/** Complaints about source folders (`daemon/src/link/`) that their workspace's README does not name. */
export function findUnlistedFolders(folders: string[], readme: (path: string) => string): string[] {
  return folders.flatMap((folder) => {
    const path = join(dirname(dirname(folder)), "README.md");
    const name = `src/${basename(folder)}/`;
    return readme(path).includes(name)
      ? []
      : [`${path}:1 does not name ${name}. Fix: add a line to its map that says what is in it.`];
  });
}

/** Words that look like names of actions and are none: refusals, reasons and warnings. */
const notActions = new Set([
  "answer_unreadable",
  "answer_unverified",
  "grant_refused",
  "start_unknown",
  "start_failed",
  "update_failed",
  "install_agent",
  "update_daemon",
  "link_lost",
]);

/** Complaints about names in code that look like an action's and name none. */
export function findUnknownActions(path: string, text: string, all: readonly string[]): string[] {
  const verbs = [...new Set(all.map((name) => name.split("_", 1)[0]!))].join("|");
  const named = new RegExp(
    `\`((?:${verbs})_[a-z_]+)\`|\\bhawser call ([a-z_]+)|/actions/([a-z_]+)\\b`,
    "g",
  );
  return linesOf(text).flatMap(({ line, number, inBlock }) =>
    [...line.matchAll(named)].flatMap((match) => {
      const name = match[1] ?? (inBlock ? match[2] : undefined) ?? match[3];
      if (name === undefined || all.includes(name) || notActions.has(name)) return [];
      return [`${path}:${number} names the action ${name}, which does not exist.`];
    }),
  );
}

const saysMissing = /\bnot built\b|\bunbuilt\b|\b501\b|not_implemented|\(later\)|\bnot begun\b/i;
const saysNotYet = /\b(?:no|not|nothing|never|none|nobody|cannot)\b.*\byet\b|\byet\b.*\bnot\b/i;

/** Complaints about sentences that say something is missing, which go stale when it is built. */
export function findStaleClaims(path: string, text: string): string[] {
  return linesOf(text).flatMap(({ line, number }) =>
    line
      .split(/(?<=[.;:])\s|\|/)
      .filter((sentence) => saysMissing.test(sentence) || saysNotYet.test(sentence))
      .map(
        (sentence) =>
          `${path}:${number} says that something is missing: "${sentence.trim()}". ` +
          "Fix: state the limit without “yet”.",
      ),
  );
}

/** Words of the first column of the glossary's table "Words that documents never use". */
export function bannedWords(glossary: string): Map<string, string> {
  const section = glossary.split("## Words that documents never use")[1] ?? "";
  const rows = section.split("\n## ")[0]!.matchAll(/^\| ([^|]+) \| ([^|]+) \|/gm);
  const words = [...rows].slice(2).flatMap(([, banned, instead]) =>
    banned!
      .split(",")
      .map((word) => [word.trim(), instead!.trim()] as const)
      .filter(([word]) => word !== ""),
  );
  return new Map(words);
}

/** Complaints about banned words. Code, in spans and blocks, is exempt. */
export function findBannedWords(path: string, text: string, banned: Map<string, string>): string[] {
  if (banned.size === 0) return ["docs/glossary.md:1 has no table of words never to use."];
  const pattern = new RegExp(`\\b(?:${[...banned.keys()].join("|")})\\b`, "gi");
  return linesOf(text).flatMap(({ line, number, inBlock }) => {
    if (inBlock) return [];
    const prose = line.replace(/`[^`]*`/g, "").replace(/\]\([^)]*\)/g, "]");
    return (prose.match(pattern) ?? []).map(
      (word) =>
        `${path}:${number} uses "${word}", which the glossary bans. Fix: write ${banned.get(word.toLowerCase())}.`,
    );
  });
}

/** Complaints about links to files or headings that do not exist. `read` is undefined for a missing file. */
export function findBrokenLinks(
  path: string,
  text: string,
  read: (path: string) => string | undefined,
): string[] {
  return linesOf(text).flatMap(({ line, number, inBlock }) => {
    if (inBlock) return [];
    return [...line.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].flatMap((match) => {
      const [link, file = "", heading] = match;
      const target = file === "" ? text : read(join(dirname(path), file));
      const found = target !== undefined && (heading === undefined || slugsOf(target).has(heading));
      return found ? [] : [`${path}:${number} has a link that leads nowhere: ${link.slice(1)}.`];
    });
  });
}

/** Anchors of a document's headings, as GitHub makes them. */
function slugsOf(text: string): Set<string> {
  const headings = linesOf(text).filter(({ line, inBlock }) => !inBlock && line.startsWith("#"));
  return new Set(
    headings.map(({ line }) =>
      line
        .replace(/^#+ /, "")
        .toLowerCase()
        .replace(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
}

function linesOf(text: string): { line: string; number: number; inBlock: boolean }[] {
  let inBlock = false;
  return text.split("\n").map((line, index) => {
    const fence = line.startsWith("```");
    if (fence) inBlock = !inBlock;
    return { line, number: index + 1, inBlock: inBlock || fence };
  });
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  // A folder has no text, and no headings.
  const readIfPresent = (path: string) =>
    existsSync(join(root, path)) ? (path.endsWith(".md") ? read(path) : "") : undefined;
  const banned = bannedWords(read("docs/glossary.md"));
  const guides = ["README.md", ...globSync("docs/guide/*.md", { cwd: root }).sort()];
  const folders = globSync("*/src/*/", { cwd: root })
    .map((folder) => folder.replace(/\/$/, ""))
    .sort();
  const complaints = [
    ...findUnlistedFolders(folders, read),
    ...[...guides, "docs/glossary.md", "CONTRIBUTING.md"].flatMap((path) =>
      findUnknownActions(path, read(path), actionNames),
    ),
    ...[...guides, "docs/glossary.md"].flatMap((path) => findStaleClaims(path, read(path))),
    ...guides.flatMap((path) => findBannedWords(path, read(path), banned)),
    ...globSync(["*.md", "*/README.md", "docs/*.md", "docs/guide/*.md", "docs/decisions/*.md"], {
      cwd: root,
      exclude: ["node_modules/**"],
    })
      .sort()
      .flatMap((path) => findBrokenLinks(path, read(path), readIfPresent)),
  ];
  for (const complaint of complaints) console.error(complaint);
  if (complaints.length > 0) process.exitCode = 1;
}
