// Searches every tracked file, and every new one that is not ignored, for what must not be committed:
// paths of one machine, addresses of package registries, and notes about unfinished work.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Ban {
  pattern: RegExp;
  /** Applies only to files whose path matches. */
  in?: RegExp;
  reason: string;
}

// The patterns are written so that none of them matches its own source.
const bans: Ban[] = [
  {
    pattern: /(?<![\w.~-])\/(?:root|work|home\/[\w.-]+|Users\/[\w.-]+)\//,
    reason: "a path of one machine; use a path from the repository's root, or /srv/… for a host's",
  },
  {
    pattern: /"resolved": "http/,
    in: /(?:^|\/)package-lock\.json$/,
    reason: "the lock file names a registry; run npm install with the repository's .npmrc",
  },
  {
    pattern: /https?:\/\/(?:[\w-]+\.)*(?:registry|mirrors?|artifactory|nexus)\.[\w.-]+/,
    reason: "the address of a package registry; that is each machine's own setting",
  },
  {
    pattern: /^\s*(?:@[\w-]+:)?registry\s*=/,
    in: /(?:^|\/)\.npmrc$/,
    reason: "the address of a package registry; that is each machine's own setting",
  },
  {
    pattern: /\b(?:TO[D]O|FIX[M]E)\b/,
    reason: "work left undone; do it, or open an issue and say nothing here",
  },
];

/** Banned texts in a file, one line each, as file:line. */
export function findBanned(path: string, text: string): string[] {
  const applying = bans.filter((ban) => ban.in?.test(path) ?? true);
  return text.split("\n").flatMap((line, index) =>
    applying.flatMap(({ pattern, reason }) => {
      const found = pattern.exec(line)?.[0];
      return found === undefined ? [] : [`${path}:${index + 1} holds ${found.trim()}: ${reason}`];
    }),
  );
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  const listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const paths = execFileSync("git", listing, { cwd: root, encoding: "utf8" }).split("\0");
  const found = paths
    .filter((path) => path !== "" && existsSync(join(root, path)))
    .flatMap((path) => {
      const text = readFileSync(join(root, path), "utf8");
      // A zero byte means it is not text.
      return text.includes("\0") ? [] : findBanned(path, text);
    });
  for (const line of found) console.error(line);
  if (found.length > 0) process.exitCode = 1;
}
