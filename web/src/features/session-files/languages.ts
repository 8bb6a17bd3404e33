// The languages that are highlighted, by the names of files. Each is a file of its own, which the worker loads when it
// first meets one. What is not named here is shown without colours.
import type { LanguageInput } from "@shikijs/primitive";

const loaders = {
  bash: () => import("@shikijs/langs/bash"),
  c: () => import("@shikijs/langs/c"),
  csharp: () => import("@shikijs/langs/csharp"),
  css: () => import("@shikijs/langs/css"),
  dart: () => import("@shikijs/langs/dart"),
  dockerfile: () => import("@shikijs/langs/dockerfile"),
  elixir: () => import("@shikijs/langs/elixir"),
  go: () => import("@shikijs/langs/go"),
  graphql: () => import("@shikijs/langs/graphql"),
  html: () => import("@shikijs/langs/html"),
  ini: () => import("@shikijs/langs/ini"),
  java: () => import("@shikijs/langs/java"),
  javascript: () => import("@shikijs/langs/javascript"),
  jsonc: () => import("@shikijs/langs/jsonc"),
  kotlin: () => import("@shikijs/langs/kotlin"),
  lua: () => import("@shikijs/langs/lua"),
  make: () => import("@shikijs/langs/make"),
  markdown: () => import("@shikijs/langs/markdown"),
  nix: () => import("@shikijs/langs/nix"),
  php: () => import("@shikijs/langs/php"),
  proto: () => import("@shikijs/langs/proto"),
  python: () => import("@shikijs/langs/python"),
  ruby: () => import("@shikijs/langs/ruby"),
  rust: () => import("@shikijs/langs/rust"),
  scala: () => import("@shikijs/langs/scala"),
  scss: () => import("@shikijs/langs/scss"),
  sql: () => import("@shikijs/langs/sql"),
  svelte: () => import("@shikijs/langs/svelte"),
  swift: () => import("@shikijs/langs/swift"),
  terraform: () => import("@shikijs/langs/terraform"),
  toml: () => import("@shikijs/langs/toml"),
  tsx: () => import("@shikijs/langs/tsx"),
  typescript: () => import("@shikijs/langs/typescript"),
  vue: () => import("@shikijs/langs/vue"),
  xml: () => import("@shikijs/langs/xml"),
  yaml: () => import("@shikijs/langs/yaml"),
  zig: () => import("@shikijs/langs/zig"),
} as const satisfies Record<string, LanguageInput>;

export type LanguageName = keyof typeof loaders;

export const loadLanguage = async (name: LanguageName) => (await loaders[name]()).default;

/** Endings of file names, or whole names. */
const names: Record<LanguageName, string> = {
  bash: "sh bash zsh .bashrc .profile",
  c: "c h cc cpp cxx hh hpp",
  csharp: "cs",
  css: "css",
  dart: "dart",
  dockerfile: "dockerfile containerfile",
  elixir: "ex exs",
  go: "go",
  graphql: "graphql gql",
  html: "html htm",
  ini: "ini conf cfg properties .editorconfig",
  java: "java",
  javascript: "js mjs cjs",
  jsonc: "json jsonc json5 webmanifest",
  kotlin: "kt kts",
  lua: "lua",
  make: "makefile mk",
  markdown: "md mdx markdown",
  nix: "nix",
  php: "php",
  proto: "proto",
  python: "py pyi",
  ruby: "rb rake gemfile rakefile",
  rust: "rs",
  scala: "scala sc",
  scss: "scss",
  sql: "sql",
  svelte: "svelte",
  swift: "swift",
  terraform: "tf tfvars hcl",
  toml: "toml",
  tsx: "tsx jsx",
  typescript: "ts mts cts",
  vue: "vue",
  xml: "xml svg xsd plist csproj",
  yaml: "yaml yml",
  zig: "zig",
};

const byName = new Map(
  Object.entries(names).flatMap(([language, all]) =>
    all.split(" ").map((name): [string, LanguageName] => [name, language as LanguageName]),
  ),
);

/** Undefined: shown without colours. */
export function languageOf(path: string): LanguageName | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return byName.get(name) ?? byName.get(name.slice(name.lastIndexOf(".") + 1));
}
