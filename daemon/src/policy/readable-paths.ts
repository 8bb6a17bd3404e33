// What a command in an agent's sandbox may read besides the session's directory: programs, their libraries
// and caches, and the settings of shell and git. The list has no path that contains a login; of a directory
// with a login only the other parts are listed.
import { existsSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { isBelow } from "./path-location.ts";

/** Readable in every sandbox, on Linux. */
const system = "/bin /sbin /usr /etc /lib /lib64 /nix/store".split(" ");

/** Contain programs as well. */
const moreSystem = ["/opt", "/snap", join("/home", "linuxbrew", ".linuxbrew")];

export const systemDirectories = [...system, ...moreSystem];

/** Below the user's home. */
const toolchains = `.profile .bash_profile .bash_login .bashrc
  .gitconfig .config/git .gitignore .gitignore_global
  bin .local/bin .local/lib .asdf .local/share/mise .proto .nix-profile .local/state/nix
  .nvm .fnm .local/share/fnm .volta .nodenv .n .npm-global .bun .deno .yarn .local/share/pnpm
  .cache/node .cache/ms-playwright
  .pyenv .virtualenvs .local/share/uv .local/share/pipx .local/pipx .local/share/pypoetry
  miniconda3 anaconda3 miniforge3
  .cargo/bin .cargo/env .cargo/config.toml .cargo/registry .cargo/git .rustup
  go/bin go/pkg
  .sdkman .jenv .jdks .m2/repository .m2/wrapper .gradle/caches .gradle/jdks .gradle/wrapper
  .ivy2/cache .cache/coursier
  .rbenv .rvm .gem/ruby .local/share/gem .composer/vendor .config/composer/vendor .mix
  .ghcup .cabal/bin .cabal/packages .cabal/store .stack/programs .stack/snapshots .opam
  .dotnet .nuget/packages .pub-cache/bin .pub-cache/hosted .swiftly`.split(/\s+/);

/**
 * The existing paths that a sandbox must be told about: neither those that it has anyway, nor paths in
 * another one of the list or in a closed one.
 */
export function readablePaths(
  home: string,
  searchPath: string | undefined,
  closed: readonly string[],
): string[] {
  // A directory that contains the home would open all of it.
  const programs = (searchPath ?? "")
    .split(delimiter)
    .filter((path) => isAbsolute(path) && !isBelow(path, home));
  const found = [...system];
  for (const path of [...moreSystem, ...toolchains.map((name) => join(home, name)), ...programs]) {
    const isIn = (directory: string) => isBelow(directory, path);
    if (existsSync(path) && !found.some(isIn) && !closed.some(isIn)) found.push(path);
  }
  return found.slice(system.length);
}
