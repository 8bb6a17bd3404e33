// A home directory on a host whose git trusts the stand-in for GitHub, and whose `gh` may be logged in to
// it.
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Github } from "./github.ts";

export interface GithubHome {
  /** The token of `gh`; logged out if undefined. */
  token?: string;
  host?: string;
  protocol?: "https" | "ssh";
  /** Directories that precede the usual ones in PATH. */
  path?: readonly string[];
  /** More lines for ~/.gitconfig. */
  gitSettings?: string;
}

/** Writes the home, and returns the environment of a daemon that uses it. */
export function makeGithubHome(
  github: Github,
  home: string,
  { token, host = "github.com", protocol = "https", path = [], gitSettings = "" }: GithubHome = {},
): Record<string, string> {
  const settings = join(home, ".config", "gh");
  mkdirSync(settings, { recursive: true });
  writeFileSync(
    join(home, ".gitconfig"),
    `[http]\n\tsslCAInfo = ${github.authorityFile}\n${gitSettings}`,
  );
  if (token !== undefined) {
    const login = `    oauth_token: ${token}\n    user: ada\n    git_protocol: ${protocol}\n`;
    writeFileSync(join(settings, "hosts.yml"), `${host}:\n${login}`, { mode: 0o600 });
  }
  return {
    HOME: home,
    // gh caches some answers of its server here.
    TMPDIR: home,
    PATH: [...path, process.env["PATH"]].join(delimiter),
    ...github.environment,
  };
}
